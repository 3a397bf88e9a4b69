//! Declares metrics: each once, with its type, labels, bounds of buckets, name and help.

/// Makes a struct of metrics, and `register`, which registers them. A field without a name is another such struct.
macro_rules! metrics {
    (
        $(#[$about:meta])*
        pub struct $all:ident {
            $(
                $(#[$note:meta])*
                $visible:vis $field:ident: $kind:ident $([$($label:literal),+])? $(($bounds:ident))?
                    $(= $name:literal, $help:literal)?;
            )*
        }
    ) => {
        $(#[$about])*
        pub struct $all {
            $($(#[$note])* $visible $field: $kind,)*
        }

        impl $all {
            pub(super) fn register() -> prometheus::Result<Self> {
                Ok(Self {
                    $($field: register!($kind $([$($label),+])? $(($bounds))? $($name, $help)?)?,)*
                })
            }
        }
    };
}

macro_rules! register {
    (IntCounter $name:literal, $help:literal) => {
        prometheus::register_int_counter!($name, $help)
    };
    (IntCounterVec $labels:tt $name:literal, $help:literal) => {
        prometheus::register_int_counter_vec!($name, $help, &$labels)
    };
    (Counter $name:literal, $help:literal) => {
        prometheus::register_counter!($name, $help)
    };
    (IntGauge $name:literal, $help:literal) => {
        prometheus::register_int_gauge!($name, $help)
    };
    (IntGaugeVec $labels:tt $name:literal, $help:literal) => {
        prometheus::register_int_gauge_vec!($name, $help, &$labels)
    };
    (Histogram ($bounds:ident) $name:literal, $help:literal) => {
        prometheus::register_histogram!($name, $help, $bounds.to_vec())
    };
    (HistogramVec $labels:tt ($bounds:ident) $name:literal, $help:literal) => {
        prometheus::register_histogram_vec!($name, $help, &$labels, $bounds.to_vec())
    };
    ($all:ident) => {
        $all::register()
    };
}
