//! Fresh identifiers for agents that mint UUIDs.

use ulid::Ulid;

/// A fresh UUID, version 7: a ULID has the same layout (48 bits of time, then random bits) but for the six fixed bits.
#[must_use]
pub(crate) fn uuid() -> String {
    const FIXED: u128 = (0xf << 76) | (0b11 << 62);
    let bits = (u128::from(Ulid::generate()) & !FIXED) | (7 << 76) | (0b10 << 62);
    let hex = format!("{bits:032x}");
    let (parts, _) = [8, 4, 4, 4, 12].iter().fold((Vec::new(), hex.as_str()), |(mut parts, rest), width| {
        let (part, rest) = rest.split_at(*width);
        parts.push(part);
        (parts, rest)
    });
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_of_version_7_and_differ() {
        let (one, two) = (uuid(), uuid());
        assert_ne!(one, two);
        let groups: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "7");
        assert!("89ab".contains(&one[19..20]), "{one}");
    }
}
