//! `chancery card verify URL`: the partner's check. Fetches a published card and says what each signature is worth.
//!
//! Keys come from where the user says (`--jwks`, or pinned `--key`), else from the key set at the card's own server;
//! a `jku` in the card is never followed.

use crate::cli::{Failure, output};
use a2a::sign::jwks::PublicKey;
use a2a_client::{Credential, Proof, connections, fetch_keys, resolve};
use anyhow::{Context as _, anyhow};
use clap::Args;
use egress::ConnectorSettings;
use json::{Json, Object};
use std::path::PathBuf;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// The agent's address, its card's, or the gateway's registry entry of it.
    url: String,
    /// The key set to trust; by default the gateway's for the tenant in the URL.
    #[arg(long)]
    jwks: Option<String>,
    /// File with the one key to trust (a JWK): the card was pinned to it earlier.
    #[arg(long, conflicts_with = "jwks")]
    key: Option<PathBuf>,
}

/// Runs the command. Fails when no signature holds.
///
/// # Errors
/// The card or the keys can't be read, or no signature holds.
pub(super) async fn run(args: VerifyArgs) -> Result<(), Failure> {
    let connections = connections(ConnectorSettings::default()).map_err(anyhow::Error::from)?;
    let found = resolve(&connections, &args.url, &Credential::None).await.map_err(anyhow::Error::from)?;
    let card = inner(found.card);
    let keys = match &args.key {
        Some(path) => vec![pinned(path)?],
        None => {
            let url = match &args.jwks {
                Some(url) => url.clone(),
                None => key_set_of(&found.url)?,
            };
            output::line(&format!("keys from {url}"))?;
            fetch_keys(&connections, &url).await.with_context(|| format!("reading the keys at {url}"))?
        }
    };
    let proof = Proof::of(&card, &keys);
    output::line(&format!("card {} from {}", card.str("name").unwrap_or("without a name"), found.url))?;
    for verdict in &proof.verdicts {
        let kid = verdict.kid.as_deref().unwrap_or("unknown key");
        match &verdict.outcome {
            Ok(view) => output::line(&format!("  {kid}: holds for the {} view", view.name()))?,
            Err(refusal) => output::line(&format!("  {kid}: refused, {refusal}"))?,
        }
    }
    match proof.view() {
        Some(view) => output::line(&format!("verified; trust what the {} view covers (docs/trust.md)", view.name()))
            .map_err(Failure::from),
        None if proof.verdicts.is_empty() => Err(anyhow!("the card carries no signature").into()),
        None => Err(anyhow!("no signature holds: the card was changed, or signed by another key").into()),
    }
}

/// The card itself, where a registry entry wraps it.
fn inner(mut document: Object) -> Object {
    match document.remove("card") {
        Some(Json::Object(card)) if document.contains("trust_tier") => card,
        Some(other) => {
            document.insert("card", other);
            document
        }
        None => document,
    }
}

fn pinned(path: &std::path::Path) -> anyhow::Result<PublicKey> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let tree = json::read(&bytes, &json::Limits::default()).context("the key is no JSON")?;
    let jwk = tree.as_object().context("the key is no JWK")?;
    PublicKey::from_jwk(jwk).with_context(|| format!("{} is no Ed25519 JWK", path.display()))
}

/// The gateway's key set for the tenant that an address at a gateway names.
pub(super) fn key_set_of(card_url: &url::Url) -> anyhow::Result<String> {
    let mut segments = card_url.path_segments().into_iter().flatten();
    let tenant = match (segments.next(), segments.next(), segments.next()) {
        (Some("a2a"), Some(tenant), _) | (Some(".well-known"), Some("agent-card"), Some(tenant)) => Some(tenant),
        (_, _, _) => None,
    };
    let tenant = tenant.context("this address is none of a Chancery gateway: name the key set with --jwks")?;
    Ok(format!("{}/.well-known/a2a-jwks/{tenant}", card_url.origin().ascii_serialization()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_set_lies_at_the_server_that_serves_the_card() {
        let at = |url: &str| key_set_of(&url.parse().unwrap());
        let expected = "https://gw.test/.well-known/a2a-jwks/acme";
        assert_eq!(at("https://gw.test/a2a/acme/echo/.well-known/agent-card.json").unwrap(), expected);
        assert_eq!(at("https://gw.test/.well-known/agent-card/acme/echo").unwrap(), expected);
        assert!(at("https://other.test/.well-known/agent-card.json").is_err());
    }
}
