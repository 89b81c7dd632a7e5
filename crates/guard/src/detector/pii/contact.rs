//! Addresses on networks: mail, IP, MAC, coins.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use super::checksum::{base58check, bech32};
use crate::detector::class::Class;
use crate::detector::{Found, floor};

/// A mail address around the `@` at `at`.
pub(in crate::detector) fn email_at(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let local = |byte: &u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(byte);
    let mut start = at - bytes.get(..at)?.iter().rev().take(65).take_while(|byte| local(byte)).count();
    while start < at && bytes.get(start).is_some_and(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_') {
        start += 1;
    }
    let name = text.get(start..at)?;
    if name.is_empty() || name.len() > 64 || name.ends_with('.') || name.contains("..") {
        return None;
    }
    let host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let mut end = at + 1 + bytes.get(at + 1..)?.iter().take(254).take_while(|byte| host(byte)).count();
    // A line of dashes is no part of a name.
    end = text.get(at + 1..end)?.find("---").map_or(end, |dashes| at + 1 + dashes);
    while end > at + 1 && bytes.get(end - 1).is_some_and(|byte| matches!(byte, b'.' | b'-')) {
        end -= 1;
    }
    // `a@b.com.Next sentence` and `a@b.com.` end with the last label that is a top-level domain.
    loop {
        let domain = text.get(at + 1..end)?;
        let (head, last) = domain.rsplit_once('.')?;
        if is_domain(head) && is_top_level(last) {
            return Some(Found::new("pii.email", start..end));
        }
        end = at + 1 + head.len();
    }
}

fn is_domain(head: &str) -> bool {
    head.split('.')
        .all(|label| !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-'))
}

/// Country codes are all taken for real; of the longer ones, those in common use and the reserved ones (RFC 2606, 6762).
fn is_top_level(label: &str) -> bool {
    let lower = label.to_ascii_lowercase();
    let letters = lower.bytes().all(|byte| byte.is_ascii_lowercase());
    let country = lower.len() == 2 && letters && !["py", "js", "ts", "rb"].contains(&lower.as_str());
    country || LONGER.contains(&lower.as_str()) || (lower.starts_with("xn--") && lower.len() > 6)
}

#[rustfmt::skip]
const LONGER: &[&str] = &[
    "academy", "adult", "aero", "africa", "agency", "ai", "app", "art", "asia", "associates", "auction", "bank", "bar", "berlin",
    "bet", "bike", "bio", "biz", "blog", "boutique", "business", "cafe", "capital", "care", "cat", "chat", "city", "claims",
    "cloud", "club", "codes", "coffee", "com", "community", "company", "consulting", "coop", "corp", "design", "dev", "digital",
    "direct", "edu", "education", "email", "energy", "engineering", "eus", "events", "example", "exchange", "expert", "finance",
    "financial", "fund", "gal", "games", "global", "gmbh", "gov", "group", "guru", "health", "host", "house", "inc", "info",
    "institute", "insure", "int", "internal", "international", "invalid", "jobs", "lan", "land", "law", "legal", "life", "link",
    "live", "llc", "local", "localhost", "london", "ltd", "market", "media", "mil", "mobi", "museum", "name", "net", "network",
    "news", "nyc", "one", "online", "org", "page", "paris", "partners", "plus", "post", "pro", "restaurant", "shop", "site",
    "solutions", "space", "store", "swiss", "systems", "team", "tech", "technology", "tel", "test", "tips", "today", "tools", "top",
    "training", "travel", "tv", "university", "ventures", "video", "vip", "website", "wiki", "work", "works", "world", "xyz", "zone",
];

/// `a.b.c.d` whose first number is at `at`, not part of a longer dotted number; addresses of no host are left out.
pub(super) fn ip_v4(text: &str, start: usize, end: usize, out: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < end {
        let length = bytes
            .get(at..end)
            .unwrap_or_default()
            .iter()
            .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
            .count();
        let number = text.get(at..at + length).unwrap_or_default().trim_end_matches('.');
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let address: Option<std::net::Ipv4Addr> = number.parse().ok();
        let behind = bytes
            .get(at + number.len())
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if let Some(address) = address.filter(|_| !word && !behind && !is_numbered(text, at))
            && !address.is_unspecified()
            && !address.is_broadcast()
            && !address.is_loopback()
        {
            out.push(Found::new("pii.ip", at..at + number.len()));
        }
        at += length.max(1);
        while at < end && bytes.get(at).is_some_and(|byte| !byte.is_ascii_digit()) {
            at += 1;
        }
    }
}

/// Whether what stands before makes four numbers those of a section or a version.
fn is_numbered(text: &str, at: usize) -> bool {
    let before = text.get(floor(text, at.saturating_sub(16))..at).unwrap_or_default();
    let word = before.trim_end().to_ascii_lowercase();
    let told = ["section", "sections", "version", "release", "chapter", "clause", "\u{a7}"];
    told.iter().any(|told| word.ends_with(told))
        || [">=", "<=", "==", "~=", "!="].iter().any(|sign| word.ends_with(sign))
}

/// A v6 address around the `::` or `:` at `at`: at least two groups and one of them long.
pub(in crate::detector) fn ip_v6_at(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let part = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':';
    let start = at - bytes.get(..at)?.iter().rev().take(40).take_while(|byte| part(byte)).count();
    let end = at + bytes.get(at..)?.iter().take(40).take_while(|byte| part(byte)).count();
    let address: std::net::Ipv6Addr = text.get(start..end)?.parse().ok()?;
    let word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let close = word(start.checked_sub(1).and_then(|at| bytes.get(at))) || word(bytes.get(end));
    let groups = address.segments().iter().filter(|group| **group > 0).count();
    (!close && groups > 1 && end - start >= 8).then(|| Found::new("pii.ip", start..end))
}

/// `00:1a:2b:3c:4d:5e` or with dashes, whose first sign is at `at`.
pub(in crate::detector) fn mac_at(text: &str, at: usize) -> Option<Found> {
    let start = at.checked_sub(2)?;
    let written = text.get(start..start + 17)?;
    let sign = written.as_bytes().get(2).copied()?;
    let form =
        written.bytes().enumerate().all(|(at, byte)| if at % 3 == 2 { byte == sign } else { byte.is_ascii_hexdigit() });
    let bytes = text.as_bytes();
    let close =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_'));
    let apart = !close(start.checked_sub(1).and_then(|at| bytes.get(at))) && !close(bytes.get(start + 17));
    let telling = written != "00:00:00:00:00:00" && !written.eq_ignore_ascii_case("ff:ff:ff:ff:ff:ff");
    (form && apart && telling && matches!(sign, b':' | b'-')).then(|| Found::new("pii.mac", start..start + 17))
}

/// An address of Bitcoin or Ethereum where a word begins at `at`.
pub(in crate::detector) fn crypto_at(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    let length = Class::Alnum.run(bytes.get(at..)?, 91);
    let word = text.get(at..at + length)?;
    let good = match bytes.get(at)? {
        b'1' | b'3' => (26..=35).contains(&length) && base58check(word),
        b'b' => (14..=90).contains(&length) && bech32(word),
        b'0' => {
            length == 42
                && word.starts_with("0x")
                && word.bytes().skip(2).all(|byte| byte.is_ascii_hexdigit())
                && word.bytes().skip(2).any(|byte| byte.is_ascii_alphabetic())
        }
        _ => false,
    };
    good.then(|| Found::new("pii.crypto", at..at + length))
}
