//! Check digits of cards, accounts and national numbers.
#![expect(clippy::arithmetic_side_effects, reason = "sums of a few dozen digits")]

/// The digits of a text, everything else left out.
pub(super) fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|one| one.to_digit(10)).collect()
}

/// ISO/IEC 7812.
pub(super) fn luhn(digits: &[u32]) -> bool {
    let doubled = |(at, digit): (usize, &u32)| match (at % 2, digit * 2) {
        (0, _) => *digit,
        (_, twice) if twice > 9 => twice - 9,
        (_, twice) => twice,
    };
    digits.iter().rev().enumerate().map(doubled).sum::<u32>() % 10 == 0
}

/// ISO 13616: the number mod 97 is 1.
pub(super) fn iban(account: &str) -> bool {
    let letters = account.bytes().filter(u8::is_ascii_alphanumeric);
    let letters: Vec<u8> = letters.map(|byte| byte.to_ascii_uppercase()).collect();
    let (Some(head), Some(rest)) = (letters.get(..4), letters.get(4..)) else { return false };
    // Of check digits that are equal mod 97 only those from 02 to 98 are given out.
    if head.get(2..).is_none_or(|check| !(b"02"..=b"98").contains(&check.first_chunk().unwrap_or(b"00"))) {
        return false;
    }
    let value = |byte: &u8| if byte.is_ascii_digit() { u32::from(byte - b'0') } else { u32::from(byte - b'A') + 10 };
    let fold = |sum: u32, value: u32| (if value > 9 { sum * 100 } else { sum * 10 } + value) % 97;
    rest.iter().chain(head).map(value).fold(0, fold) == 1
}

/// Σ digit × weight.
pub(super) fn weighted(digits: &[u32], weights: &[u32]) -> u32 {
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum()
}

/// ISO 7064 MOD 11,10.
pub(super) fn mod_11_10(digits: &[u32]) -> bool {
    let Some((check, body)) = digits.split_last() else { return false };
    let product = body.iter().fold(10, |product, digit| {
        let sum = (digit + product) % 10;
        (if sum == 0 { 10 } else { sum }) * 2 % 11
    });
    (11 - product) % 10 == *check
}

/// Verhoeff's scheme (Aadhaar).
pub(super) fn verhoeff(digits: &[u32]) -> bool {
    const MULTIPLY: [[usize; 10]; 10] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 2, 3, 4, 0, 6, 7, 8, 9, 5],
        [2, 3, 4, 0, 1, 7, 8, 9, 5, 6],
        [3, 4, 0, 1, 2, 8, 9, 5, 6, 7],
        [4, 0, 1, 2, 3, 9, 5, 6, 7, 8],
        [5, 9, 8, 7, 6, 0, 4, 3, 2, 1],
        [6, 5, 9, 8, 7, 1, 0, 4, 3, 2],
        [7, 6, 5, 9, 8, 2, 1, 0, 4, 3],
        [8, 7, 6, 5, 9, 3, 2, 1, 0, 4],
        [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    ];
    const PERMUTE: [usize; 10] = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
    let product = digits.iter().rev().enumerate().fold(0_usize, |product, (at, digit)| {
        let start = usize::try_from(*digit).unwrap_or_default();
        let moved = (0..at % 8).fold(start, |value, _| PERMUTE.get(value).copied().unwrap_or_default());
        MULTIPLY.get(product).and_then(|row| row.get(moved)).copied().unwrap_or_default()
    });
    product == 0
}

/// Base58Check of a Bitcoin address: version, hash, four bytes of a double SHA-256.
pub(super) fn base58check(address: &str) -> bool {
    use sha2::{Digest as _, Sha256};
    const DIGITS: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut bytes = [0_u8; 25];
    for digit in address.bytes() {
        let Some(value) = DIGITS.iter().position(|one| *one == digit) else { return false };
        let mut carry = value;
        for byte in bytes.iter_mut().rev() {
            carry += usize::from(*byte) * 58;
            *byte = u8::try_from(carry & 0xFF).unwrap_or_default();
            carry >>= 8;
        }
        if carry > 0 {
            return false;
        }
    }
    let (Some(body), Some(check)) = (bytes.get(..21), bytes.get(21..)) else { return false };
    Sha256::digest(Sha256::digest(body)).get(..4) == Some(check)
}

/// Bech32 and Bech32m (BIP 173, 350) with the prefix `bc`.
pub(super) fn bech32(address: &str) -> bool {
    const DIGITS: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let step = |sum: u32, value: u32| {
        let top = sum >> 25;
        let sum = (sum & 0x01ff_ffff) << 5 ^ value;
        (0..5_u32).zip(GENERATOR).filter(|(bit, _)| top >> bit & 1 == 1).fold(sum, |sum, (_, one)| sum ^ one)
    };
    let Some(body) = address.strip_prefix("bc1") else { return false };
    let mut sum = [3, 3, 0, 2, 3].into_iter().fold(1, step);
    for digit in body.bytes() {
        let Some(value) = DIGITS.iter().position(|one| *one == digit) else { return false };
        sum = step(sum, u32::try_from(value).unwrap_or_default());
    }
    sum == 1 || sum == 0x2bc8_30a3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers_hold_and_their_neighbours_do_not() {
        assert!(luhn(&digits("4111111111111111")) && !luhn(&digits("4111111111111112")));
        assert!(iban("DE89370400440532013000") && !iban("DE89370400440532013001"));
        assert!(iban("GB82 WEST 1234 5698 7654 32"));
        assert!(verhoeff(&digits("2363")) && !verhoeff(&digits("2364")));
        assert!(
            base58check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa") && !base58check("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb")
        );
        assert!(
            bech32("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
                && !bech32("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5")
        );
        assert!(mod_11_10(&digits("86095742719")) && !mod_11_10(&digits("86095742718")));
    }
}
