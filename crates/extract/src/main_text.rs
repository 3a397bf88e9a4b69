//! The main text of a page, without the site around it.

use std::fmt;
use std::str::FromStr;

use dom_query::{Document, Matcher};
use dom_smoothie::Readability;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::ExtractError;

/// The longest selector, in bytes.
const LONGEST: usize = 500;
/// How the other way is written.
const READABILITY: &str = "readability";

/// Where on a page its main text is. Written as a CSS selector, or `readability`.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub enum MainText {
    /// Where the reading mode of a browser would find it.
    Readability,
    /// In the elements that this selector matches.
    Selector(String),
}

/// What is no way to find the main text.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is not a CSS selector of at most {LONGEST} bytes, such as main or .chapter; readability finds the text without one"
)]
pub struct BadSelector(String);

impl FromStr for MainText {
    type Err = BadSelector;

    fn from_str(written: &str) -> Result<Self, BadSelector> {
        match written.trim() {
            READABILITY => Ok(Self::Readability),
            selector if selector.len() <= LONGEST && Matcher::new(selector).is_ok() => {
                Ok(Self::Selector(selector.to_owned()))
            }
            _ => Err(BadSelector(written.chars().take(LONGEST).collect())),
        }
    }
}

impl fmt::Display for MainText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Readability => READABILITY,
            Self::Selector(selector) => selector,
        })
    }
}

impl MainText {
    /// The part of a page that has its main text, as HTML.
    pub(super) fn of(&self, page: &str) -> Result<String, ExtractError> {
        match self {
            Self::Readability => {
                let found = Readability::new(page, None, None).and_then(|mut page| page.parse());
                found
                    .map(|found| found.content.to_string())
                    .map_err(|_| self.missing())
            }
            Self::Selector(selector) => {
                let matcher = Matcher::new(selector).map_err(|_| self.missing())?;
                let (page, mut found) = (Document::from(page), String::new());
                let mut last = None;
                for element in page.select_matcher(&matcher).nodes() {
                    // They are in the order of the page: one within another follows it.
                    if last.is_none_or(|last| {
                        element.ancestors_it(None).all(|around| around.id != last)
                    }) {
                        last = Some(element.id);
                        found.push_str(&element.html());
                        found.push('\n');
                    }
                }
                if last.is_some() {
                    Ok(found)
                } else {
                    Err(self.missing())
                }
            }
        }
    }

    pub(super) fn missing(&self) -> ExtractError {
        ExtractError::NoMainText { text: self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::formats::{BookFile, html};
    use super::super::limits::{Budget, Limits};
    use super::super::{ExtractError, Extracted};
    use super::MainText;

    const PAGE: &str = "<html lang='en'><head><title>The title</title></head><body><nav>All books</nav><div class='menu'>Buy, sell</div>\
        <div class='text'><h1>One</h1><p>Once <b>upon</b> a time.<div class='text'>There was a page.</div></p></div>\
        <div class='advert'>Cheap!</div><div class='text'>The end.</div></body></html>";

    fn read(page: &str, main: &str) -> Result<String, ExtractError> {
        read_page(page, main).map(|read| {
            assert_eq!(
                read.metadata.title.as_deref(),
                Some("The title"),
                "the page says it, wherever its text is"
            );
            read.text
        })
    }

    fn read_page(page: &str, main: &str) -> Result<Extracted, ExtractError> {
        let main: MainText = main.parse().expect("a main text");
        let file = BookFile {
            bytes: page.as_bytes().to_vec().into(),
            encoding: None,
            main: Some(&main),
        };
        html::read(
            file,
            &mut Budget::new(Limits::default(), page.len() as u64)?,
        )
    }

    #[test]
    fn what_a_selector_matches() {
        let text = "One\n\nOnce upon a time.\n\nThere was a page.\n\nThe end.";
        assert_eq!(read(PAGE, ".text").expect("a text"), text, "nothing twice");
        assert_eq!(
            read(PAGE, "div:not(.menu, .advert, .text .text)").expect("a text"),
            text
        );
        assert_eq!(
            read(PAGE, "h1, div.advert").expect("a text"),
            "One\n\nCheap!"
        );
        for nothing in ["article", "nav", "title", "p:has(h2)"] {
            let refused = read(PAGE, nothing).expect_err("no text").to_string();
            assert!(refused.contains(&format!("{nothing:?}")), "{refused}");
        }
    }

    #[test]
    fn what_a_reading_mode_shows() {
        let paragraph =
            "It was a dark and stormy night, the rain fell in torrents, except at occasional intervals. ".repeat(8);
        let links = "<li><a href='/'>Another book that you may like, and buy</a></li>".repeat(30);
        let page = format!(
            "<html><head><title>The title</title></head><body><ul class='sidebar'>{links}</ul><article>{}</article><footer>All rights \
             reserved</footer></body></html>",
            format!("<p>{paragraph}</p>").repeat(5)
        );
        let text = read(&page, "readability").expect("a text");
        assert_eq!(text.matches("stormy").count(), 40);
        assert!(
            !text.contains("Another book") && !text.contains("reserved"),
            "{text}"
        );
        assert!(
            read(
                "<html><head><title>The title</title></head><body></body></html>",
                "readability"
            )
            .is_err()
        );
    }

    #[test]
    fn what_is_no_selector() {
        for wrong in [
            "",
            " ",
            "..",
            "div[",
            "a:hover(",
            "::before::",
            &"a ".repeat(251),
        ] {
            assert!(wrong.parse::<MainText>().is_err(), "{wrong:?}");
        }
        assert_eq!(
            " main > .chapter "
                .parse::<MainText>()
                .expect("a selector")
                .to_string(),
            "main > .chapter"
        );
        assert!("a:not(".repeat(80).parse::<MainText>().is_err());
    }

    #[test]
    fn what_a_page_hides_is_no_main_text() {
        let style = "<style>.menu, .j { display: none } .text { color: #222 }</style>";
        let page = PAGE
            .replacen("<title>", &format!("{style}<title>"), 1)
            .replace("upon", "upon <i class='j'>junk</i>");
        let sentence = "Once upon a time. He went on to say that it was so, and that nobody had ever seen the like of it. ";
        let long = page.replacen("There was a page.", &sentence.repeat(20), 1);
        for main in [".text", "readability"] {
            let read = read_page(&long, main).unwrap_or_else(|why| panic!("{main}: {why}"));
            assert!(
                !read.text.contains("junk") && read.text.contains("Once upon a time."),
                "{main}: {}",
                read.text
            );
            assert_eq!(read.hidden.words(), 3, "{main}");
        }
    }
}
