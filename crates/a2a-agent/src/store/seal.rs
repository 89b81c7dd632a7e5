//! What a database keeps of push configurations: all of it sealed with a key (AES-256-GCM), or, without one, only those that carry
//! no secret.
//!
//! Sealed for one task of one agent: moved to another row, it does not open. Never says why something does not open.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json::{Json, Limits};

use super::StoreError;

/// The key that seals webhook credentials. Whoever has it and the database can use them; without it they are lost.
#[derive(Clone)]
pub struct PushKey(Arc<LessSafeKey>);

impl PushKey {
    /// The key with these bytes, which must be random and secret.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the cipher cannot be used.
    pub fn new(bytes: &[u8; 32]) -> Result<Self, StoreError> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).map_err(|_| StoreError::Unavailable)?;
        Ok(Self(Arc::new(LessSafeKey::new(key))))
    }

    fn seal(&self, text: Vec<u8>, bound_to: &str) -> Option<String> {
        let (mut nonce, mut sealed) = ([0_u8; NONCE_LEN], text);
        aws_lc_rs::rand::fill(&mut nonce).ok()?;
        let aad = Aad::from(bound_to.as_bytes());
        self.0.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed).ok()?;
        Some(format!("{SEALED}{}", STANDARD.encode([nonce.as_slice(), &sealed].concat())))
    }

    fn open(&self, kept: &str, bound_to: &str) -> Option<Vec<u8>> {
        let kept = STANDARD.decode(kept).ok()?;
        let (nonce, sealed) = kept.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        Some(self.0.open_in_place(nonce, Aad::from(bound_to.as_bytes()), &mut sealed).ok()?.to_vec())
    }
}

impl fmt::Debug for PushKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PushKey(…)")
    }
}

/// What sealed texts begin with; an array in clear does not.
const SEALED: &str = "sealed1:";

/// The members of a configuration that are secrets.
const SECRETS: [&str; 2] = ["token", "credentials"];

/// Configurations as a database may have them. `bound_to` names agent and task.
pub(super) fn for_database(configs: Json, key: Option<&PushKey>, bound_to: &str) -> String {
    if configs.as_array().is_none_or(<[Json]>::is_empty) {
        return "[]".to_owned();
    }
    if let Some(sealed) = key.and_then(|key| key.seal(json::write(&configs), bound_to)) {
        return sealed;
    }
    let has_secret = |config: &Json| SECRETS.iter().any(|secret| config.get(secret).is_some());
    let open = configs.as_array().unwrap_or_default().iter().filter(|config| !has_secret(config));
    let open: Json = open.cloned().collect::<Vec<_>>().into();
    String::from_utf8_lossy(&json::write(&open)).into_owned()
}

/// The same, read again. What does not open is lost: the task is worth more than where its news went.
pub(super) fn of_database(kept: &str, key: Option<&PushKey>, bound_to: &str) -> Json {
    let opened = match kept.strip_prefix(SEALED) {
        Some(sealed) => key.and_then(|key| key.open(sealed, bound_to)),
        None => Some(kept.as_bytes().to_vec()),
    };
    let limits = Limits { nodes: usize::MAX, ..Limits::default() };
    opened.and_then(|text| json::read(&text, &limits).ok()).unwrap_or_else(|| {
        tracing::warn!("the push configurations of a task do not open with this key; they are dropped");
        Vec::new().into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configs() -> Json {
        let open = Json::from([("id", "a"), ("url", "https://a.example/")]);
        let secret = Json::from([("id", "b"), ("url", "https://b.example/"), ("credentials", "s3cret")]);
        vec![open, secret].into()
    }

    #[test]
    fn with_a_key_everything_is_sealed_for_its_row() {
        let (key, other) = (PushKey::new(&[7; 32]).unwrap(), PushKey::new(&[8; 32]).unwrap());
        let kept = for_database(configs(), Some(&key), "agent task");
        assert!(!kept.contains("example") && !kept.contains("s3cret"), "{kept}");
        assert_ne!(kept, for_database(configs(), Some(&key), "agent task"));
        assert_eq!(of_database(&kept, Some(&key), "agent task"), configs());
        let none: Json = Vec::new().into();
        for (key, bound_to) in [(Some(&key), "agent other"), (Some(&other), "agent task"), (None, "agent task")] {
            assert_eq!(of_database(&kept, key, bound_to), none);
        }
        assert_eq!(of_database(&kept.replace(&kept[20..22], "__"), Some(&key), "agent task"), none);
    }

    #[test]
    fn without_a_key_configurations_with_secrets_are_left_out() {
        let kept = for_database(configs(), None, "agent task");
        assert_eq!(kept, r#"[{"id":"a","url":"https://a.example/"}]"#);
        assert_eq!(
            of_database(&kept, Some(&PushKey::new(&[7; 32]).unwrap()), "agent task").as_array().unwrap().len(),
            1
        );
    }
}
