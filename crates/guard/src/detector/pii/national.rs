//! Numbers that states give to people: form, check digits, and which need a telling word before them.
#![expect(clippy::arithmetic_side_effects, reason = "sums of a few dozen digits")]

use super::checksum::{digits, luhn, mod_11_10, verhoeff, weighted};

/// A number of one state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) kind: &'static str,
    /// How many letters and digits it has.
    pub(super) length: usize,
    /// A telling word must stand before it.
    pub(super) words: &'static [&'static str],
    pub(super) holds: fn(&str) -> bool,
}

/// All but the American social security number are off unless a policy names them.
#[rustfmt::skip]
pub(super) const NUMBERS: [Number; 17] = [
    Number { kind: "pii.us_ssn", length: 9, words: &["ssn", "social security", "social sec"], holds: us_ssn },
    Number { kind: "pii.us_itin", length: 9, words: &["itin", "taxpayer", "tax id"], holds: us_itin },
    Number { kind: "pii.us_npi", length: 10, words: &["npi", "provider"], holds: |text| luhn(&digits(&format!("80840{text}"))) },
    Number { kind: "pii.aba", length: 9, words: &["routing", "aba", "rtn"], holds: aba },
    Number { kind: "pii.ca_sin", length: 9, words: &["sin", "social insurance"], holds: |text| luhn(&digits(text)) },
    Number { kind: "pii.uk_nhs", length: 10, words: &["nhs"], holds: uk_nhs },
    Number { kind: "pii.uk_nino", length: 9, words: &[], holds: uk_nino },
    Number { kind: "pii.de_tax_id", length: 11, words: &["steuer", "tax", "idnr", "tin"], holds: |text| !text.starts_with('0') && mod_11_10(&digits(text)) },
    Number { kind: "pii.es_nif", length: 9, words: &[], holds: es_nif },
    Number { kind: "pii.fr_nir", length: 15, words: &[], holds: fr_nir },
    Number { kind: "pii.it_cf", length: 16, words: &[], holds: it_cf },
    Number { kind: "pii.nl_bsn", length: 9, words: &["bsn", "burgerservice", "sofi"], holds: nl_bsn },
    Number { kind: "pii.pl_pesel", length: 11, words: &["pesel"], holds: pl_pesel },
    Number { kind: "pii.in_aadhaar", length: 12, words: &["aadhaar", "aadhar", "uid"], holds: |text| !text.starts_with(['0', '1']) && verhoeff(&digits(text)) },
    Number { kind: "pii.br_cpf", length: 11, words: &["cpf"], holds: br_cpf },
    Number { kind: "pii.au_tfn", length: 9, words: &["tfn", "tax file"], holds: |text| weighted(&digits(text), &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) },
    Number { kind: "pii.se_pnr", length: 10, words: &["personnummer", "pnr", "personal"], holds: se_pnr },
];

fn number(text: &str, range: std::ops::Range<usize>) -> u32 {
    text.get(range).and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Areas, groups and serials that were never given out (SSA).
fn us_ssn(text: &str) -> bool {
    let (area, group, serial) = (number(text, 0..3), number(text, 3..5), number(text, 5..9));
    let advertised = matches!((area, group, serial), (78, 5, 1120) | (219, 9, 9999));
    all_digits(text) && area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 && !advertised
}

fn us_itin(text: &str) -> bool {
    let group = number(text, 3..5);
    all_digits(text) && text.starts_with('9') && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

fn aba(text: &str) -> bool {
    let digits = digits(text);
    let head = number(text, 0..2);
    matches!(head, 1..=12 | 21..=32 | 61..=72) && weighted(&digits, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
}

fn uk_nhs(text: &str) -> bool {
    let sum = weighted(&digits(text), &[10, 9, 8, 7, 6, 5, 4, 3, 2]);
    let check = (11 - sum % 11) % 11;
    check != 10 && check == number(text, 9..10)
}

fn uk_nino(text: &str) -> bool {
    let letters = text.as_bytes();
    let (Some(first), Some(second), Some(last)) = (letters.first(), letters.get(1), letters.get(8)) else {
        return false;
    };
    let prefix = text.get(..2).unwrap_or_default();
    first.is_ascii_uppercase()
        && second.is_ascii_uppercase()
        && !b"DFIQUV".contains(first)
        && !b"DFIQUVO".contains(second)
        && !["BG", "GB", "NK", "KN", "TN", "NT", "ZZ"].contains(&prefix)
        && text.get(2..8).is_some_and(all_digits)
        && matches!(last, b'A'..=b'D')
}

fn es_nif(text: &str) -> bool {
    let letters = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let Some(head) = text.get(..8) else { return false };
    let head = match head.chars().next() {
        Some('X') => head.replacen('X', "0", 1),
        Some('Y') => head.replacen('Y', "1", 1),
        Some('Z') => head.replacen('Z', "2", 1),
        Some(_) | None => head.to_owned(),
    };
    let at = head.parse::<usize>().ok().filter(|_| all_digits(&head)).map(|number| number % 23);
    at.is_some_and(|at| letters.get(at) == text.as_bytes().get(8))
}

fn fr_nir(text: &str) -> bool {
    let plain = text.replacen("2A", "19", 1).replacen("2B", "18", 1);
    let (Some(body), Some(key)) = (plain.get(..13), plain.get(13..15)) else { return false };
    let month = number(text, 3..5);
    let (Ok(body), Ok(key)) = (body.parse::<u64>(), key.parse::<u64>()) else { return false };
    text.starts_with(['1', '2']) && matches!(month, 1..=12 | 20..=42 | 50..) && 97 - body % 97 == key
}

fn it_cf(text: &str) -> bool {
    const ODD: [u32; 36] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
        10, 22, 25, 24, 23,
    ];
    let form = |(at, byte): (usize, u8)| match at {
        0..=5 | 8 | 11 | 15 => byte.is_ascii_uppercase(),
        _ => byte.is_ascii_digit() || b"LMNPQRSTUV".contains(&byte),
    };
    if text.len() != 16 || !text.bytes().enumerate().all(form) {
        return false;
    }
    let value = |byte: u8| if byte.is_ascii_digit() { u32::from(byte - b'0') } else { u32::from(byte - b'A') };
    let place = |byte: u8| if byte.is_ascii_digit() { value(byte) } else { value(byte) + 10 };
    let odd = |byte: u8| ODD.get(usize::try_from(place(byte)).unwrap_or(36)).copied().unwrap_or_default();
    let sum: u32 =
        text.bytes().take(15).enumerate().map(|(at, byte)| if at % 2 == 0 { odd(byte) } else { value(byte) }).sum();
    text.as_bytes().get(15).is_some_and(|last| value(*last) == sum % 26)
}

fn nl_bsn(text: &str) -> bool {
    let digits = digits(text);
    let last = digits.get(8).copied().unwrap_or_default();
    let sum = weighted(&digits, &[9, 8, 7, 6, 5, 4, 3, 2]);
    sum > 0 && (sum + 11 - last % 11).is_multiple_of(11)
}

fn pl_pesel(text: &str) -> bool {
    let month = number(text, 2..4) % 20;
    (1..=12).contains(&month) && weighted(&digits(text), &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]).is_multiple_of(10)
}

fn br_cpf(text: &str) -> bool {
    let digits = digits(text);
    let check = |weights: &[u32]| {
        let rest = weighted(&digits, weights) * 10 % 11;
        if rest == 10 { 0 } else { rest }
    };
    let same = digits.windows(2).all(|pair| pair.first() == pair.last());
    !same
        && digits.get(9) == Some(&check(&[10, 9, 8, 7, 6, 5, 4, 3, 2]))
        && digits.get(10) == Some(&check(&[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]))
}

fn se_pnr(text: &str) -> bool {
    let (month, day) = (number(text, 2..4), number(text, 4..6));
    (1..=12).contains(&month) && (1..=31).contains(&(day % 60)) && luhn(&digits(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_specimens_hold_and_their_neighbours_do_not() {
        for (kind, good, bad) in [
            ("pii.us_ssn", "536904399", "666904399"),
            ("pii.us_itin", "912701234", "812701234"),
            ("pii.us_npi", "1234567893", "1234567894"),
            ("pii.aba", "021000021", "021000022"),
            ("pii.ca_sin", "046454286", "046454287"),
            ("pii.uk_nhs", "9434765919", "9434765918"),
            ("pii.uk_nino", "AB123456C", "QQ123456C"),
            ("pii.de_tax_id", "86095742719", "86095742718"),
            ("pii.es_nif", "12345678Z", "12345678A"),
            ("pii.es_nif", "X1234567L", "X1234567M"),
            ("pii.fr_nir", "255081416802538", "255081416802539"),
            ("pii.it_cf", "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
            ("pii.nl_bsn", "111222333", "111222334"),
            ("pii.pl_pesel", "44051401359", "44051401358"),
            ("pii.in_aadhaar", "234123412346", "234123412347"),
            ("pii.br_cpf", "11144477735", "11144477736"),
            ("pii.au_tfn", "123456782", "123456783"),
            ("pii.se_pnr", "8112189876", "8112189875"),
        ] {
            let number = NUMBERS.iter().find(|number| number.kind == kind).unwrap();
            assert!((number.holds)(good), "{kind} {good}");
            assert!(!(number.holds)(bad), "{kind} {bad}");
            assert_eq!(good.len(), number.length);
        }
    }
}
