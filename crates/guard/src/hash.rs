//! HMAC-SHA256 (RFC 2104) of matched text, so that records can count equal matches without holding them.

use sha2::{Digest as _, Sha256};

const BLOCK: usize = 64;

/// A tenant's key, ready to use. Not printable.
#[derive(Clone)]
pub(crate) struct MatchKey {
    inner: Sha256,
    outer: Sha256,
}

/// The first eight bytes of the HMAC.
pub(crate) type MatchHash = [u8; 8];

impl MatchKey {
    pub(crate) fn new(key: &[u8]) -> Self {
        let mut block = [0_u8; BLOCK];
        if key.len() > BLOCK {
            let digest = Sha256::digest(key);
            block.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        } else {
            block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
        }
        Self {
            inner: Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)),
            outer: Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)),
        }
    }

    pub(crate) fn hash(&self, text: &str) -> MatchHash {
        let inner = self.inner.clone().chain_update(text).finalize();
        let outer = self.outer.clone().chain_update(inner).finalize();
        let mut first = MatchHash::default();
        first.iter_mut().zip(outer).for_each(|(to, from)| *to = from);
        first
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(hash: MatchHash) -> String {
    hash.iter()
        .flat_map(|byte| [byte >> 4, byte & 0x0F])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4231_hold() {
        let long = [0xaa_u8; 131];
        let cases: [(&[u8], &str, &str); 3] = [
            (&[0x0b; 20], "Hi There", "b0344c61d8db3853"),
            (b"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e"),
            (&long, "Test Using Larger Than Block-Size Key - Hash Key First", "60e431591ee0b67f"),
        ];
        for (key, text, expected) in cases {
            assert_eq!(hex(MatchKey::new(key).hash(text)), expected);
        }
    }
}
