//! Accounts in the international form (ISO 13616): two letters of a country, two check digits, and what that country's
//! banks number accounts by. A check that one in a hundred passes is not enough: names that programs give to things hold
//! letters and digits too, and every call is full of them.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use super::Found;
use super::checksum::iban;
use std::iter::repeat_n;

/// The account whose two letters of a country are at `at`.
pub(super) fn at(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    if at > 0 && bytes.get(at - 1).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let country = text.get(at..at + 2)?.to_ascii_uppercase();
    let (_, form) = FORMS.iter().find(|(code, _)| *code == country)?;
    if !bytes.get(at + 2..at + 4)?.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut end = at + 4;
    for (count, class) in classes(form).enumerate() {
        // Groups of four, if any.
        if count % 4 == 0 && matches!(bytes.get(end), Some(b' ' | b'-')) {
            end += 1;
        }
        let byte = bytes.get(end)?;
        let fits = match class {
            b'n' => byte.is_ascii_digit(),
            b'a' => byte.is_ascii_alphabetic(),
            _ => byte.is_ascii_alphanumeric(),
        };
        if !fits {
            return None;
        }
        end += 1;
    }
    let longer = bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    let account = text.get(at..end)?;
    (!longer && iban(account)).then(|| Found::new("pii.iban", at..end).keeping(4))
}

/// What each character may be: `n` a digit, `a` a letter, `c` either.
fn classes(form: &str) -> impl Iterator<Item = u8> {
    form.split_inclusive(|one: char| one.is_ascii_alphabetic()).flat_map(|piece| {
        let (count, class) = piece.split_at(piece.len() - 1);
        repeat_n(class.bytes().next().unwrap_or(b'c'), count.parse().unwrap_or(0))
    })
}

/// What follows the check digits, by country (SWIFT IBAN registry; neighbours of one class are one number here).
#[rustfmt::skip]
const FORMS: &[(&str, &str)] = &[
    ("AD", "8n12c"), ("AE", "19n"), ("AL", "8n16c"), ("AT", "16n"), ("AZ", "4a20c"), ("BA", "16n"), ("BE", "12n"),
    ("BG", "4a6n8c"), ("BH", "4a14c"), ("BR", "23n1a1c"), ("BY", "4c4n16c"), ("CH", "5n12c"), ("CR", "18n"),
    ("CY", "8n16c"), ("CZ", "20n"), ("DE", "18n"), ("DK", "14n"), ("DO", "4c20n"), ("EE", "16n"), ("EG", "25n"),
    ("ES", "20n"), ("FI", "14n"), ("FO", "14n"), ("FR", "10n11c2n"), ("GB", "4a14n"), ("GE", "2a16n"),
    ("GI", "4a15c"), ("GL", "14n"), ("GR", "7n16c"), ("GT", "24c"), ("HR", "17n"), ("HU", "24n"), ("IE", "4a14n"),
    ("IL", "19n"), ("IQ", "4a15n"), ("IS", "22n"), ("IT", "1a10n12c"), ("JO", "4a4n18c"), ("KW", "4a22c"),
    ("KZ", "3n13c"), ("LB", "4n20c"), ("LC", "4a24c"), ("LI", "5n12c"), ("LT", "16n"), ("LU", "3n13c"),
    ("LV", "4a13c"), ("LY", "21n"), ("MC", "10n11c2n"), ("MD", "20c"), ("ME", "18n"), ("MK", "3n10c2n"),
    ("MR", "23n"), ("MT", "4a5n18c"), ("MU", "4a19n3a"), ("NL", "4a10n"), ("NO", "11n"), ("PK", "4a16c"),
    ("PL", "24n"), ("PS", "4a21c"), ("PT", "21n"), ("QA", "4a21c"), ("RO", "4a16c"), ("RS", "18n"), ("SA", "2n18c"),
    ("SC", "4a20n3a"), ("SE", "20n"), ("SI", "15n"), ("SK", "20n"), ("SM", "1a10n12c"), ("ST", "21n"),
    ("SV", "4a20n"), ("TL", "19n"), ("TN", "20n"), ("TR", "6n16c"), ("UA", "6n19c"), ("VA", "18n"), ("VG", "4a16n"),
    ("XK", "16n"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_the_registry_are_found_as_people_write_them() {
        for account in [
            "DE89370400440532013000",
            "GB82 WEST 1234 5698 7654 32",
            "FR14 2004 1010 0505 0001 3M02 606",
            "be68 5390 0754 7034",
            "CH93-0076-2011-6238-5295-7",
            "NO9386011117947",
            "MT84MALT011000012345MTLCAST001S",
            "NL91 ABNA0417164300",
            "AD1200012030200359100100",
            "BR1800360305000010009795493C1",
        ] {
            let text = format!("to {account}, please");
            assert_eq!(at(&text, 3).map(|found| found.span), Some(3..3 + account.len()), "{account}");
        }
    }

    #[test]
    fn what_no_bank_of_the_country_writes_is_no_account() {
        // All fulfil mod 97.
        for id in
            ["be8414027eed7cac", "be0eaa2a547e3299", "cH95SF2GPkEr0VufkjqFk", "BE5QzHMoRAAkPxOw", "be64-5f94b7ffc53d"]
        {
            assert!(iban(id) && at(id, 0).is_none(), "{id}");
        }
        assert!(at("DE8937040044053201300", 0).is_none() && at("DE893704004405320130001", 0).is_none());
    }

    #[test]
    fn every_form_is_read_whole() {
        for (country, form) in FORMS {
            let written: usize =
                form.split(|one: char| !one.is_ascii_digit()).filter_map(|count| count.parse::<usize>().ok()).sum();
            assert_eq!(classes(form).count(), written, "{country}");
            assert!((11..=30).contains(&written) && classes(form).all(|class| b"nac".contains(&class)), "{country}");
        }
    }
}
