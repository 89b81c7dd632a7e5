//! Rows of signing keys → keys that sign cards, and the halves of those that sign anything.

use std::sync::Arc;

use a2a::sign::{PublicKey, SigningKey};
use store::{KeyPurpose, SigningKeyRow, SigningKeyState};
use zeroize::Zeroizing;

use super::{Problem, Tenant};
use crate::discovery::publish;
use crate::registry::CardSigner;
use crate::seal::Place;

impl Tenant<'_> {
    /// Living keys of one purpose, active ones first, the newest of them before the others.
    pub(super) fn keys_for(&self, purpose: KeyPurpose) -> Vec<&SigningKeyRow> {
        let living = |row: &&SigningKeyRow| row.purpose == purpose && row.state != SigningKeyState::Gone;
        let mut rows: Vec<&SigningKeyRow> = self.rows.signing_keys.iter().filter(living).collect();
        rows.sort_by_key(|row| (row.state != SigningKeyState::Active, std::cmp::Reverse(row.activated)));
        rows
    }

    pub(super) fn signers(&mut self) -> Vec<Arc<CardSigner>> {
        let rows: Vec<SigningKeyRow> = self.keys_for(KeyPurpose::Card).into_iter().cloned().collect();
        let mut signers = Vec::with_capacity(rows.len());
        for row in rows {
            match self.signer(&row) {
                Ok(signer) => signers.push(Arc::new(signer)),
                Err(problem) => self.note("signing_key", &row.kid, vec![problem]),
            }
        }
        signers
    }

    fn signer(&self, row: &SigningKeyRow) -> Result<CardSigner, Problem> {
        let (public, seed) = self.halves(row)?;
        let half = |url: &String, seed: &[u8; 32]| {
            let key_set = publish::key_set_url(url, self.name());
            SigningKey::from_seed(seed, Some(row.kid.clone()), Some(key_set))
        };
        let urls = &self.compiler.public_urls;
        let signing = seed.map(|seed| urls.iter().map(|url| half(url, &seed)).collect()).unwrap_or_default();
        Ok(CardSigner { signing, public })
    }

    /// The public half, and the private one of a key that signs.
    pub(super) fn halves(&self, row: &SigningKeyRow) -> Result<(PublicKey, Option<Seed>), Problem> {
        let bytes = row.public.as_slice().try_into().map_err(|_| Problem::new("/public", "is no Ed25519 key"))?;
        let public = PublicKey::from_bytes(bytes, Some(row.kid.clone()))
            .map_err(|error| Problem::new("/public", error.to_string()))?;
        let seed = match (row.state, &row.sealed_private) {
            (SigningKeyState::Active, Some(blob)) => self.seed(row, blob)?,
            (SigningKeyState::Active, None) => return Err(Problem::new("/sealed_private", "is missing")),
            (SigningKeyState::Next | SigningKeyState::Retiring | SigningKeyState::Gone, _) => {
                return Ok((public, None));
            }
        };
        if SigningKey::from_seed(&seed, Some(row.kid.clone()), None).public() != public {
            return Err(Problem::new("/public", "does not belong to the private half"));
        }
        Ok((public, Some(seed)))
    }

    fn seed(&self, row: &SigningKeyRow, blob: &[u8]) -> Result<Seed, Problem> {
        let wrong = |text: String| Problem::new("/sealed_private", text);
        let place = Place::signing_key(self.name(), &row.id);
        let seed = self.compiler.seal.open(place, blob).map_err(|error| wrong(error.to_string()))?;
        let seed: &[u8; 32] = seed.as_slice().try_into().map_err(|_| wrong("is no Ed25519 seed".to_owned()))?;
        Ok(Zeroizing::new(*seed))
    }
}

/// What an Ed25519 key is made of.
pub(super) type Seed = Zeroizing<[u8; 32]>;
