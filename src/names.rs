//! Owns enums whose values have names: each name is written once.

/// Declares an enum with the name of each value, all values in order (`ALL`), the name of a value (`as_str`) and the value of a name
/// (`named`).
macro_rules! named {
    ($(#[$about:meta])* $vis:vis enum $name:ident { $($(#[$what:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$what])* $value,)+
        }

        #[allow(dead_code, reason = "not every such enum is listed and read")]
        impl $name {
            /// Every value, in order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// Its name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }

            /// The value of a name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$value),)+
                    _ => None,
                }
            }
        }
    };
}
