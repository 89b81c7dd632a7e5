//! Page tokens of task lists: sealed, so that a caller can neither read nor make one, nor use another's (T-TASK-4).

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The key that seals page tokens; the same on all replicas.
pub struct PageKey(LessSafeKey);

impl std::fmt::Debug for PageKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PageKey(…)")
    }
}

impl PageKey {
    /// The key with these bytes; `None` if the cipher refuses them.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Option<Self> {
        UnboundKey::new(&AES_256_GCM, bytes).ok().map(|key| Self(LessSafeKey::new(key)))
    }

    /// A token that says "after this task", good only where `bound_to` is the same.
    pub(super) fn seal(&self, last_task: &str, bound_to: &str) -> Option<String> {
        let mut nonce = [0_u8; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = last_task.as_bytes().to_vec();
        let aad = Aad::from(bound_to.as_bytes());
        self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed).ok()?;
        Some(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// The task that the token says; `None` for anything that was not sealed for `bound_to`.
    pub(super) fn open(&self, token: &str, bound_to: &str) -> Option<String> {
        const LONGEST: usize = 2_048;
        let token = (token.len() <= LONGEST).then(|| URL_SAFE_NO_PAD.decode(token).ok())??;
        let (nonce, sealed) = token.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let opened = self.0.open_in_place(nonce, Aad::from(bound_to.as_bytes()), &mut sealed).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_only_where_it_was_made_for() {
        let key = PageKey::new(&[7; 32]).unwrap();
        let token = key.seal("t1", "acme/echo/p1").unwrap();
        assert_eq!(key.open(&token, "acme/echo/p1").as_deref(), Some("t1"));
        assert_eq!(key.open(&token, "acme/echo/p2"), None);
        assert_eq!(PageKey::new(&[8; 32]).unwrap().open(&token, "acme/echo/p1"), None);
    }

    #[test]
    fn any_changed_character_spoils_a_token() {
        let key = PageKey::new(&[7; 32]).unwrap();
        let token = key.seal("t1", "b").unwrap();
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.open(&String::from_utf8(changed).unwrap(), "b"), None, "{at}");
        }
        assert_eq!(key.open("", "b"), None);
        assert_eq!(key.open("t1", "b"), None);
    }
}
