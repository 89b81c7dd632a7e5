//! An issuer over HTTP in the test: a discovery document, a key set, and whatever else a test has it say.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use a2a::sign::SigningKey;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::harness::DEADLINE;

/// The server; it ends with the test's runtime.
pub(crate) struct Idp {
    address: SocketAddr,
    said: Arc<Said>,
}

#[derive(Default)]
struct Said {
    documents: Mutex<HashMap<String, (u16, String)>>,
    hits: Mutex<HashMap<String, usize>>,
    down: AtomicBool,
}

impl Idp {
    /// With this key set.
    pub(crate) async fn start(keys: &Value) -> Self {
        let said = Arc::new(Said::default());
        let shared = Arc::clone(&said);
        let answer = async move |uri: Uri| {
            *shared.hits.lock().unwrap().entry(uri.path().to_owned()).or_default() += 1;
            if shared.down.load(Ordering::Relaxed) {
                return (StatusCode::SERVICE_UNAVAILABLE, String::new()).into_response();
            }
            let (status, body) =
                shared.documents.lock().unwrap().get(uri.path()).cloned().unwrap_or((404, String::new()));
            let headers = [("content-type", "application/json"), ("location", "http://attacker.test/")];
            (StatusCode::from_u16(status).unwrap(), headers, body).into_response()
        };
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let router = axum::Router::new().fallback(answer);
        #[expect(clippy::disallowed_methods, reason = "a server of the test, which ends with it")]
        tokio::spawn(async move { axum::serve(socket, router).await });
        let idp = Self { address, said };
        let discovery = json!({"issuer": idp.iss(), "jwks_uri": idp.url("/jwks")});
        idp.say("/.well-known/openid-configuration", 200, &discovery.to_string());
        idp.publish(keys);
        idp
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `iss` of its tokens.
    pub(crate) fn iss(&self) -> String {
        self.url("")
    }

    /// Another key set from now on.
    pub(crate) fn publish(&self, keys: &Value) {
        self.say("/jwks", 200, &keys.to_string());
    }

    pub(crate) fn say(&self, path: &str, status: u16, body: &str) {
        self.said.documents.lock().unwrap().insert(path.to_owned(), (status, body.to_owned()));
    }

    pub(crate) fn set_up(&self, up: bool) {
        self.said.down.store(!up, Ordering::Relaxed);
    }

    /// How often it was asked for paths that begin so.
    pub(crate) fn hits(&self, path: &str) -> usize {
        self.said.hits.lock().unwrap().iter().filter(|(asked, _)| asked.starts_with(path)).map(|(_, hits)| hits).sum()
    }
}

/// An Ed25519 key of an issuer.
pub(crate) struct Key {
    signing: SigningKey,
}

impl Key {
    /// A new key with this `kid`.
    pub(crate) fn new(kid: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        Self { signing: SigningKey::from_seed(&seed, Some(kid.to_owned()), None) }
    }

    pub(crate) fn x(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.signing.public().as_bytes())
    }

    /// The key set of these keys.
    pub(crate) fn set(keys: &[&Self]) -> Value {
        let keys: Vec<Value> = keys
            .iter()
            .map(|key| json!({"kty": "OKP", "crv": "Ed25519", "kid": key.signing.kid(), "x": key.x(), "use": "sig"}))
            .collect();
        json!({"keys": keys})
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.signed(&json!({"alg": "EdDSA", "kid": self.signing.kid(), "typ": "JWT"}), claims)
    }

    /// Whatever the header says.
    pub(crate) fn signed(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.signing.signature(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Waits until `what` has become true.
pub(crate) async fn until(what: &str, becomes: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while !becomes() {
        assert!(tokio::time::Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
