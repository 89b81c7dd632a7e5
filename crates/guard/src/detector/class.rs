//! Classes of ASCII characters that keys and numbers are made of.

/// A class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// `0-9`
    Digit,
    /// `0-9 a-f`
    HexLower,
    /// `0-9 a-f A-F`
    Hex,
    /// `A-Z 2-7`
    Base32,
    /// `0-9 A-Z`
    UpperDigit,
    /// `0-9 a-z`
    LowerDigit,
    /// `0-9 A-Z a-z`
    Alnum,
    /// Alphanumeric and `-`
    AlnumDash,
    /// Alphanumeric and `_`
    Word,
    /// Alphanumeric, `_` and `-`
    WordDash,
    /// Alphanumeric, `_`, `-` and `.`
    Dotted,
    /// Alphanumeric, `+`, `/` and `=`
    Base64,
    /// What a bearer token may hold (RFC 6750): alphanumeric and `- . _ ~ + / =`
    Token,
    /// What a password in an assignment may hold: everything printable but space, quotes, comma, semicolon, brackets.
    Password,
    /// What an address may go on with: everything printable but space, quotes, angle brackets and backslash.
    Url,
}

impl Class {
    /// Whether the byte is of the class.
    pub(crate) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Digit => byte.is_ascii_digit(),
            Self::HexLower => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Self::UpperDigit => matches!(byte, b'0'..=b'9' | b'A'..=b'Z'),
            Self::LowerDigit => matches!(byte, b'0'..=b'9' | b'a'..=b'z'),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::AlnumDash => byte.is_ascii_alphanumeric() || byte == b'-',
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::WordDash => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Token => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
            }
            Self::Url => byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\'),
            Self::Password => {
                byte.is_ascii_graphic()
                    && !matches!(
                        byte,
                        b'"' | b'\'' | b'`' | b',' | b';' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>'
                    )
            }
        }
    }

    /// How many bytes at the start of `bytes` are of the class, at most `most`.
    pub(crate) fn run(self, bytes: &[u8], most: usize) -> usize {
        bytes.iter().take(most).take_while(|byte| self.has(**byte)).count()
    }

    /// The same at the end.
    pub(crate) fn run_back(self, bytes: &[u8], most: usize) -> usize {
        bytes.iter().rev().take(most).take_while(|byte| self.has(**byte)).count()
    }
}
