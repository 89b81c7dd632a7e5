//! Master keys: read from files that only their owner may read, refused when they are short or a known placeholder.
//!
//! Gives 32 bytes derived from what was written; never shows them.

use std::path::Path;

use aws_lc_rs::hkdf;
use base64::Engine as _;
use zeroize::Zeroizing;

/// The key that seals, and those that still open.
#[derive(Clone, Debug)]
pub struct MasterKeys {
    /// Seals and opens.
    pub current: MasterKey,
    /// Open only.
    pub previous: Vec<MasterKey>,
}

/// One master key.
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; 32]>);

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

/// Why a master key is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MasterKeyError {
    /// Neither 64 hexadecimal digits nor Base64.
    #[error("is neither hexadecimal nor Base64; make one with `openssl rand -base64 32`")]
    Malformed,
    /// Others may read or write the file.
    #[error("may be read or written by everybody (mode {mode:03o}); run `chmod 600` on it")]
    Open {
        /// Its permissions.
        mode: u32,
    },
    /// A value from an example.
    #[error("is a placeholder; make one with `openssl rand -base64 32`")]
    Placeholder,
    /// Too few bytes.
    #[error("holds {bytes} bytes; at least 32 random bytes are needed (`openssl rand -base64 32`)")]
    Short {
        /// How many there are.
        bytes: usize,
    },
    /// The file can't be read.
    #[error("can't be read ({0})")]
    Unreadable(std::io::ErrorKind),
}

impl MasterKey {
    /// Reads a key file.
    ///
    /// # Errors
    /// [`MasterKeyError`].
    pub fn read(path: &Path) -> Result<Self, MasterKeyError> {
        use std::os::unix::fs::PermissionsExt as _;
        let unreadable = |error: std::io::Error| MasterKeyError::Unreadable(error.kind());
        let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o006 != 0 {
            return Err(MasterKeyError::Open { mode });
        }
        Self::parse(&Zeroizing::new(std::fs::read_to_string(path).map_err(unreadable)?))
    }

    /// Reads a key's text.
    ///
    /// # Errors
    /// [`MasterKeyError`].
    pub fn parse(text: &str) -> Result<Self, MasterKeyError> {
        let text = text.trim();
        if is_placeholder(text) {
            return Err(MasterKeyError::Placeholder);
        }
        let bytes = Zeroizing::new(decode(text).ok_or(MasterKeyError::Malformed)?);
        if bytes.len() < 32 {
            return Err(MasterKeyError::Short { bytes: bytes.len() });
        }
        // Random bytes practically never have fewer than 16 different values among 32.
        let mut seen = [false; 256];
        for byte in bytes.iter() {
            if let Some(slot) = seen.get_mut(usize::from(*byte)) {
                *slot = true;
            }
        }
        if seen.iter().filter(|seen| **seen).count() < 16 {
            return Err(MasterKeyError::Placeholder);
        }
        Ok(Self::derive(&bytes))
    }

    /// A fresh key and its text for a file.
    ///
    /// # Errors
    /// The machine's source of randomness failed.
    pub fn generate() -> Result<(Self, Zeroizing<String>), getrandom::Error> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        getrandom::fill(bytes.as_mut_slice())?;
        let text = Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(bytes.as_slice()));
        Ok((Self::derive(bytes.as_slice()), text))
    }

    /// The 32 bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    fn derive(material: &[u8]) -> Self {
        let mut key = Zeroizing::new([0_u8; 32]);
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"chancery");
        let pseudorandom = salt.extract(material);
        let filled =
            pseudorandom.expand(&[b"master key v1"], hkdf::HKDF_SHA256).and_then(|okm| okm.fill(key.as_mut_slice()));
        debug_assert!(filled.is_ok(), "32 bytes are one block of HKDF-SHA256");
        Self(key)
    }
}

fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 8] =
        ["changeme", "change-me", "change_me", "placeholder", "example", "password", "yoursecret", "your-secret"];
    let lower = text.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

fn decode(text: &str) -> Option<Vec<u8>> {
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    if text.len().is_multiple_of(2) && !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    }
    [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].iter().find_map(|engine| engine.decode(text).ok())
}
