//! As much of DER as it takes to read a certificate's subject and end (RFC 5280 §4.1).
//!
//! Takes a certificate that a TLS library has accepted. Gives its subject as RFC 4514 text and `notAfter`. A subject
//! with an attribute that is unknown, or a text that could be read in two ways, is no name at all. Never panics.

/// What is read of a certificate.
pub(super) struct Facts {
    /// The subject, most specific attribute first; `None` if it has no unambiguous text.
    pub(super) subject: Option<String>,
    /// `notAfter` in seconds.
    pub(super) ends: i64,
}

/// Certificate → TBSCertificate → validity, subject.
pub(super) fn facts(certificate: &[u8]) -> Option<Facts> {
    let (certificate, _) = expect(certificate, SEQUENCE)?;
    let (body, _) = expect(certificate, SEQUENCE)?;
    let body = match expect(body, VERSION) {
        Some((_, rest)) => rest,
        None => body,
    };
    let (_serial, body) = expect(body, INTEGER)?;
    let (_algorithm, body) = expect(body, SEQUENCE)?;
    let (_issuer, body) = expect(body, SEQUENCE)?;
    let (validity, body) = expect(body, SEQUENCE)?;
    let (subject, _) = expect(body, SEQUENCE)?;
    let (_, _, not_after) = any(validity)?;
    let (tag, text, _) = any(not_after)?;
    Some(Facts { subject: name(subject).filter(|name| !name.is_empty()), ends: time(tag, text)? })
}

/// One element: its tag, its content, what follows.
fn any(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, first, rest @ ..] = bytes else { return None };
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (
                digits.iter().try_fold(0_usize, |sum, digit| sum.checked_mul(256)?.checked_add(usize::from(*digit)))?,
                rest,
            )
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(length)?;
    Some((*tag, content, after))
}

fn expect(bytes: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    let (tag, content, after) = any(bytes)?;
    (tag == wanted).then_some((content, after))
}

/// `Name` → RFC 4514, which begins with the last.
fn name(mut sets: &[u8]) -> Option<String> {
    let mut parts = Vec::new();
    while !sets.is_empty() {
        let (set, rest) = expect(sets, SET)?;
        sets = rest;
        let (attribute, more) = expect(set, SEQUENCE)?;
        // Several attributes in one set have no order of their own.
        if !more.is_empty() {
            return None;
        }
        let (oid, value) = expect(attribute, OBJECT_ID)?;
        let (_, key) = ATTRIBUTES.iter().find(|(known, _)| *known == oid)?;
        parts.push(format!("{key}={}", escaped(text(value)?)?));
    }
    parts.reverse();
    Some(parts.join(","))
}

fn text(value: &[u8]) -> Option<&str> {
    let (tag, content, rest) = any(value)?;
    let is_text = [UTF8, PRINTABLE, IA5].contains(&tag) && rest.is_empty();
    str::from_utf8(content).ok().filter(|_| is_text)
}

/// RFC 4514 §2.4; control characters make no name.
fn escaped(text: &str) -> Option<String> {
    let mut escaped = String::with_capacity(text.len());
    let last = text.len().checked_sub(1)?;
    for (at, character) in text.char_indices() {
        if character.is_control() {
            return None;
        }
        let at_an_edge = character == ' ' && (at == 0 || at == last);
        if matches!(character, ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=')
            || at_an_edge
            || (at == 0 && character == '#')
        {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    Some(escaped)
}

/// `UTCTime` (`YYMMDDHHMMSSZ`) or `GeneralizedTime` (`YYYYMMDDHHMMSSZ`), in seconds.
fn time(tag: u8, text: &[u8]) -> Option<i64> {
    let digits = str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = digits.split_at_checked(2)?;
            let year: i32 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = digits.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<u8>().ok();
    if rest.len() != 10 {
        return None;
    }
    let month = time::Month::try_from(part(0)?).ok()?;
    let date = time::Date::from_calendar_date(year, month, part(2)?).ok()?;
    let at = date.with_hms(part(4)?, part(6)?, part(8)?).ok()?;
    Some(at.assume_utc().unix_timestamp())
}

const INTEGER: u8 = 0x02;
const OBJECT_ID: u8 = 0x06;
const UTF8: u8 = 0x0c;
const PRINTABLE: u8 = 0x13;
const IA5: u8 = 0x16;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;

/// Attribute types that have a name in RFC 4514 or in everybody's tools.
const ATTRIBUTES: [(&[u8], &str); 11] = [
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "STREET"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], "emailAddress"),
    (&[9, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], "UID"),
    (&[9, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn attribute(oid: &[u8], tag: u8, text: &str) -> Vec<u8> {
        let pair = [element(OBJECT_ID, oid), element(tag, text.as_bytes())].concat();
        element(SET, &element(SEQUENCE, &pair))
    }

    #[test]
    fn a_subject_is_written_as_tools_write_it_or_not_at_all() {
        let (cn, o): (&[u8], &[u8]) = (&[0x55, 4, 3], &[0x55, 4, 10]);
        let both = [attribute(o, PRINTABLE, "Acme, Inc."), attribute(cn, UTF8, " bot")].concat();
        assert_eq!(name(&both).as_deref(), Some(r"CN=\ bot,O=Acme\, Inc."));
        // What would read like two attributes is escaped.
        assert_eq!(name(&attribute(cn, UTF8, "a,O=b")).as_deref(), Some(r"CN=a\,O\=b"));
        for bad in [
            attribute(cn, UTF8, "a\u{0}b"),
            attribute(cn, UTF8, ""),
            attribute(cn, 0x1e, "ab"),
            attribute(&[0x55, 4, 99], UTF8, "x"),
            attribute(cn, UTF8, "x")[..5].to_vec(),
            element(SET, &[element(SEQUENCE, &[]), element(SEQUENCE, &[])].concat()),
        ] {
            assert_eq!(name(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn both_spellings_of_a_time_are_read() {
        assert_eq!(time(UTC_TIME, b"270115080000Z"), Some(1_800_000_000));
        assert_eq!(time(GENERALIZED_TIME, b"20270115080000Z"), Some(1_800_000_000));
        assert_eq!(time(UTC_TIME, b"991231235959Z"), Some(946_684_799));
        for bad in [b"270115080000".as_slice(), b"2701150800Z", b"279915080000Z", b"\xff7\xff", b""] {
            assert_eq!(time(UTC_TIME, bad), None);
        }
    }

    #[test]
    fn no_cut_of_anything_is_read_beyond_its_end() {
        let bytes = [0x30, 0x82, 0xff, 0xff, 0x30, 0x03, 1, 2, 3];
        for cut in 0..bytes.len() {
            assert!(facts(&bytes[..cut]).is_none());
        }
        assert_eq!(any(&[0x30, 0x80, 0, 0]), None, "no indefinite lengths");
    }
}
