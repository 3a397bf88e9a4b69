//! Enums that are written as words.

/// Declares an enum whose values are written as words, in JSON and on the command line.
///
/// ```
/// lapidary_common::words! {
///     /// A way to go.
///     pub enum Way {
///         /// There.
///         Up = "up",
///         /// And back.
///         Down = "down",
///     }
/// }
///
/// assert_eq!(Way::named("down"), Some(Way::Down));
/// assert_eq!(Way::ALL.map(Way::as_str), ["up", "down"]);
/// assert_eq!(Way::Up.to_string(), "up");
/// ```
#[macro_export]
macro_rules! words {
    (
        $(#[$attribute:meta])*
        pub enum $Name:ident { $($(#[$about:meta])* $Value:ident = $word:tt,)+ }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[derive(serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
        $(#[$attribute])*
        pub enum $Name {
            $($(#[$about])* #[serde(rename = $word)] $Value,)+
        }

        impl $Name {
            /// All, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$Value),+];

            /// The word.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$Value => $word,)+ }
            }

            /// The one that is written with this word.
            #[must_use]
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.as_str() == word)
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
