//! A provider of the test, and a desk whose page signs people in there, step by step as a browser does.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap as Headers;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chancery::clock::Clock;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::admin::Desk;
use crate::admin::access::Browser;
use crate::harness::{Answer, CANARY, DEADLINE, Db};
use crate::issuers::idp::Key;

pub(super) const CLIENT: &str = "chancery";
pub(super) const SECRET: &str = "canary-9d1f7c-client";
pub(super) const START: i64 = 1_790_000_000_000_000;
pub(super) const SECOND: i64 = 1_000_000;

/// A provider in the test: it gives codes to whoever asks, and ID tokens for them.
pub(super) struct Provider {
    pub(super) address: SocketAddr,
    pub(super) said: Arc<Said>,
}

pub(super) struct Said {
    pub(super) clock: Clock,
    pub(super) key: Mutex<Arc<Key>>,
    pub(super) published: Mutex<Value>,
    /// What tokens say besides what they must.
    pub(super) person: Mutex<Value>,
    /// Changes the claims last.
    pub(super) twist: Mutex<Value>,
    /// Given instead of a token.
    pub(super) forged: Mutex<Option<String>>,
    /// By code: the nonce, the challenge, the redirect address.
    pub(super) codes: Mutex<HashMap<String, (String, String, String)>>,
    /// Whether a code is good twice.
    pub(super) lax: AtomicBool,
    pub(super) down: AtomicBool,
    pub(super) names_itself: AtomicBool,
    pub(super) exchanged: AtomicUsize,
    pub(super) issuer: Mutex<String>,
}

impl Provider {
    pub(super) async fn start(clock: &Clock) -> Self {
        let key = Arc::new(Key::new("k1"));
        let said = Arc::new(Said {
            clock: clock.clone(),
            published: Mutex::new(Key::set(&[&key])),
            key: Mutex::new(key),
            person: Mutex::new(json!({})),
            twist: Mutex::new(json!({})),
            forged: Mutex::default(),
            codes: Mutex::default(),
            lax: AtomicBool::new(false),
            down: AtomicBool::new(false),
            names_itself: AtomicBool::new(false),
            exchanged: AtomicUsize::new(0),
            issuer: Mutex::default(),
        });
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        *said.issuer.lock().unwrap() = format!("http://{address}");
        let router = Router::new()
            .route("/.well-known/openid-configuration", axum::routing::get(discovery))
            .route("/jwks", axum::routing::get(keys))
            .route("/token", axum::routing::post(exchange))
            .with_state(Arc::clone(&said));
        #[expect(clippy::disallowed_methods, reason = "a server of the test, which ends with it")]
        tokio::spawn(async move { axum::serve(socket, router).await });
        let provider = Self { address, said };
        provider.is("u-1", "ann@example.com", &["ops"]);
        provider
    }

    pub(super) fn iss(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Who signs in from now on.
    pub(super) fn is(&self, subject: &str, email: &str, groups: &[&str]) {
        *self.said.person.lock().unwrap() =
            json!({"sub": subject, "email": email, "email_verified": true, "groups": groups, "name": "Ann Example"});
    }

    /// Claims to say otherwise; `null` leaves one out.
    pub(super) fn twist(&self, claims: Value) {
        *self.said.twist.lock().unwrap() = claims;
    }

    /// The person at `address` says yes: a code for it, and where the browser is sent.
    pub(super) fn agree(&self, address: &Url) -> (String, Url) {
        let pairs: HashMap<_, _> = address.query_pairs().into_owned().collect();
        assert_eq!(address.origin().ascii_serialization(), self.iss());
        assert_eq!((pairs["response_type"].as_str(), pairs["client_id"].as_str()), ("code", CLIENT));
        assert_eq!(
            (pairs["code_challenge_method"].as_str(), pairs["scope"].as_str()),
            ("S256", "openid profile email")
        );
        assert!(pairs["state"].len() >= 43 && pairs["nonce"].len() >= 43 && pairs["code_challenge"].len() == 43);
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let code = format!("{CANARY}-code-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let kept = (pairs["nonce"].clone(), pairs["code_challenge"].clone(), pairs["redirect_uri"].clone());
        self.said.codes.lock().unwrap().insert(code.clone(), kept);
        let mut back = Url::parse(&pairs["redirect_uri"]).unwrap();
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &pairs["state"]);
        (code, back)
    }
}

async fn discovery(State(said): State<Arc<Said>>) -> Response {
    if said.down.load(Ordering::Relaxed) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let issuer = said.issuer.lock().unwrap().clone();
    axum::Json(json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize?tenant=x"),
        "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/jwks"),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": said.names_itself.load(Ordering::Relaxed),
    }))
    .into_response()
}

async fn keys(State(said): State<Arc<Said>>) -> Response {
    axum::Json(said.published.lock().unwrap().clone()).into_response()
}

async fn exchange(State(said): State<Arc<Said>>, headers: Headers, body: String) -> Response {
    let form: HashMap<String, String> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    if said.down.load(Ordering::Relaxed) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    said.exchanged.fetch_add(1, Ordering::Relaxed);
    let refused = (StatusCode::BAD_REQUEST, axum::Json(json!({"error": "invalid_grant"})));
    let basic = format!("Basic {}", STANDARD.encode(format!("{CLIENT}:{SECRET}")));
    assert_eq!(headers["authorization"].to_str().unwrap(), basic);
    assert_eq!(form["grant_type"], "authorization_code");
    let kept = if said.lax.load(Ordering::Relaxed) {
        said.codes.lock().unwrap().get(&form["code"]).cloned()
    } else {
        said.codes.lock().unwrap().remove(&form["code"])
    };
    let Some((nonce, challenge, redirect)) = kept else { return refused.into_response() };
    let proven = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    if proven != challenge || form["redirect_uri"] != redirect {
        return refused.into_response();
    }
    let now = said.clock.now() / SECOND;
    let mut claims =
        json!({"iss": *said.issuer.lock().unwrap(), "aud": CLIENT, "nonce": nonce, "iat": now, "exp": now + 300});
    for more in [&said.person, &said.twist] {
        for (name, value) in more.lock().unwrap().as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            } else {
                claims[name] = value.clone();
            }
        }
    }
    let key = Arc::clone(&said.key.lock().unwrap());
    let token = said.forged.lock().unwrap().clone().unwrap_or_else(|| key.token(&claims));
    axum::Json(json!({"access_token": "opaque", "token_type": "Bearer", "id_token": token})).into_response()
}

/// A desk whose page offers single sign-on at a provider of the test.
pub(super) struct Place {
    pub(super) desk: Desk,
    pub(super) provider: Provider,
    pub(super) clock: Clock,
    pub(super) http: reqwest::Client,
}

/// What a step of a browser gave: status, where it is sent, cookies to set.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) status: StatusCode,
    pub(super) to: String,
    pub(super) cookies: Vec<String>,
}

impl Step {
    /// The cookie that is kept under this name, as it is sent back.
    pub(super) fn cookie(&self, name: &str) -> String {
        let found = self.cookies.iter().find(|cookie| cookie.starts_with(&format!("{name}=")));
        let found = found.unwrap_or_else(|| panic!("no {name}: {self:?}"));
        found.split(';').next().unwrap().to_owned()
    }

    pub(super) fn has_session(&self) -> bool {
        self.cookies
            .iter()
            .any(|cookie| cookie.starts_with("chancery-loopback=") || cookie.starts_with("__Host-chancery="))
    }
}

impl Place {
    pub(super) async fn open(db: Db, settings: &[(&str, &str)]) -> Option<Self> {
        let clock = Clock::manual(START);
        let provider = Provider::start(&clock).await;
        let issuer = provider.iss();
        let mut all = vec![
            ("CHANCERY__ADMIN__OIDC__ISSUER", issuer.as_str()),
            ("CHANCERY__ADMIN__OIDC__CLIENT_ID", CLIENT),
            ("CHANCERY__ADMIN__OIDC__CLIENT_SECRET", SECRET),
            ("CHANCERY__ADMIN__OIDC__ROLES", ROLES),
        ];
        all.extend_from_slice(settings);
        let desk = Desk::open_at(db, clock.clone(), &all).await?;
        desk.make("/tenants", "acme", &json!({})).await;
        let http = reqwest::Client::builder().no_proxy().timeout(DEADLINE).redirect(reqwest::redirect::Policy::none());
        Some(Self { desk, provider, clock, http: http.build().unwrap() })
    }

    pub(super) async fn step(&self, path: &str, cookie: &str, host: Option<&str>) -> Step {
        let mut request = self.http.get(format!("{}{path}", self.desk.url()));
        if !cookie.is_empty() {
            request = request.header("cookie", cookie);
        }
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let answer = request.send().await.unwrap();
        let texts = |name: &str| {
            answer.headers().get_all(name).iter().map(|one| one.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        Step { status: answer.status(), to: texts("location").pop().unwrap_or_default(), cookies: texts("set-cookie") }
    }

    /// Off to the provider: its address, and the cookie that is kept meanwhile.
    pub(super) async fn start(&self) -> (Url, String) {
        let step = self.step("/api/v1/session/sso?to=/t/acme/agents", "", None).await;
        assert_eq!(step.status, StatusCode::SEE_OTHER, "{step:?}");
        (Url::parse(&step.to).unwrap(), step.cookie("chancery-loopback-sso"))
    }

    pub(super) async fn back(&self, address: &Url, cookie: &str) -> Step {
        let path = format!("{}?{}", address.path(), address.query().unwrap_or_default());
        let step = self.step(&path, cookie, None).await;
        assert_eq!(step.status, StatusCode::SEE_OTHER, "{step:?}");
        assert!(step.cookie("chancery-loopback-sso").ends_with('='), "what was kept is forgotten: {step:?}");
        step
    }

    /// A whole sign-in.
    pub(super) async fn go(&self) -> Step {
        let (address, cookie) = self.start().await;
        self.back(&self.provider.agree(&address).1, &cookie).await
    }

    /// A whole sign-in that must come to this.
    pub(super) async fn stops(&self, word: &str, what: &str) {
        let step = self.go().await;
        assert_eq!((step.to.as_str(), step.has_session()), (format!("/?sso={word}").as_str(), false), "{what}");
    }

    /// A whole sign-in that must succeed.
    pub(super) async fn enters(&self) -> Browser {
        let step = self.go().await;
        assert_eq!(step.to, "/t/acme/agents", "{step:?}");
        self.browser(&step.cookie("chancery-loopback")).await
    }

    pub(super) async fn browser(&self, cookie: &str) -> Browser {
        let me = self.desk.ask(Method::GET, "/api/v1/me", &[("cookie", cookie)], vec![]).await;
        assert_eq!(me.status, StatusCode::OK, "{}", me.text());
        Browser { cookie: cookie.to_owned(), csrf: me.json()["csrf"].as_str().unwrap().to_owned() }
    }

    pub(super) async fn me(&self, browser: &Browser) -> Answer {
        browser.send(&self.desk, Method::GET, "/me", &json!({})).await
    }

    /// The gateway stops; secret and codes, which are canaries, were logged nowhere.
    pub(super) async fn close(self) {
        self.desk.h.finish().await;
    }
}

pub(super) const ROLES: &str =
    r#"{"admins" = ["platform_admin"], "ops" = ["operator@acme"], "leads" = ["tenant_admin@acme"]}"#;
