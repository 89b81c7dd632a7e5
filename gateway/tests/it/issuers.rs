//! Tokens of a tenant's own issuers: what proves a principal, what proves nobody, and what an issuer that is away does.
//!
//! The issuer is a real HTTP server in the test; its clock is the test's. `issuers/vectors.json` holds the tokens.

pub(crate) mod idp;

use chancery::clock::Clock;
use chancery::pipeline::authenticate::{Identity, Scheme, identify};
use chancery::pipeline::head::Head;
use http::StatusCode;
use serde_json::{Value, json};
use store::{IfMatch, NewIssuer, TenantId};

use crate::harness::{Answer, CANARY, DEADLINE, Db, Harness};
use idp::{Idp, Key, until};

const SECOND: i64 = 1_000_000;
const START: i64 = 1_800_000_000 * SECOND;
const AUDIENCE: &str = "https://gw.test/a2a/acme";

fn vectors() -> Value {
    serde_json::from_str(include_str!("issuers/vectors.json")).unwrap()
}

async fn gateway(db: Db) -> Option<Harness> {
    let settings = [("CHANCERY__LIMITS__BAD_KEYS_PER_MINUTE", "100000")];
    let h = Harness::start_with(db, Clock::manual(START), &settings).await?;
    for tenant in ["acme", "globex", "initech"] {
        h.tenant(tenant).await;
        h.card(tenant, "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
        h.caller(tenant, "bot", &["*"], &["*"]).await;
        h.principal(tenant, "other").await;
    }
    Some(h)
}

async fn issuer(h: &Harness, tenant: &str, name: &str, document: &Value) {
    let document = serde_json::to_vec(document).unwrap();
    let id = chancery::registry::mint::id("iss-", h.now()).unwrap();
    let new = NewIssuer { id, name: name.to_owned(), document };
    h.store().create_issuer(&TenantId::new(tenant).unwrap(), &new, h.now()).await.unwrap();
    h.refresh().await;
}

/// Waits until the tenant's issuer has keys.
async fn keys_are_there(h: &Harness, tenant: &str) {
    until("the issuer's keys are there", || {
        let world = h.app.registry.snapshot();
        world.tenants[tenant].issuers.iter().all(|issuer| issuer.keys.usable(h.now()).is_some())
    })
    .await;
}

async fn call(h: &Harness, tenant: &str, token: &str) -> Answer {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    h.post(&format!("/a2a/{tenant}/echo"), &body).header("a2a-version", "1.0").bad_key(token).send().await
}

/// Whether a call with this token is answered; then it leaves a record.
async fn works(h: &Harness, tenant: &str, token: &str) -> bool {
    let answer = call(h, tenant, token).await;
    match answer.status {
        StatusCode::OK => {
            h.expect_records(1);
            assert!(answer.json()["result"].is_object(), "{}", answer.text());
            true
        }
        StatusCode::UNAUTHORIZED => false,
        other => panic!("{other}: {}", answer.text()),
    }
}

fn proven(h: &Harness, tenant: &str, token: &str) -> Option<Identity> {
    let request =
        http::Request::builder().uri("/").header("authorization", format!("Bearer {token}")).body(()).unwrap();
    let head = Head::read(&request.into_parts().0, h.now());
    identify(&head, tenant, &h.app.registry.snapshot(), h.now()).ok()
}

fn listed(iss: &str, audience: &str) -> Value {
    json!({"issuer": iss, "audiences": [audience], "principals": {"u1": "bot", "u2": "other"}})
}

/// The issuers of the vectors, their keys fetched.
async fn with_vectors(db: Db) -> Option<(Harness, Idp, Idp)> {
    let h = gateway(db).await?;
    let vectors = vectors();
    let ours = Idp::start(&vectors["jwks"]).await;
    let theirs = Idp::start(&vectors["foreign_jwks"]).await;
    for (tenant, iss, idp) in [("acme", "https://idp.test", &ours), ("globex", "https://idp.globex.test", &theirs)] {
        let mut document = listed(iss, AUDIENCE);
        document["jwks_uri"] = json!(idp.url("/jwks"));
        issuer(&h, tenant, "corp", &document).await;
        keys_are_there(&h, tenant).await;
    }
    Some((h, ours, theirs))
}

#[tokio::test]
async fn every_bad_token_is_refused_with_one_answer_and_counted() {
    let (h, ours, theirs) = with_vectors(Db::Sqlite).await.unwrap();
    let vectors = vectors();
    let bad = vectors["bad"].as_array().unwrap();
    assert!(bad.len() >= 60, "{}", bad.len());
    let told = |answer: &Answer| {
        (
            answer.status,
            answer.body.clone(),
            answer.header("www-authenticate").to_owned(),
            answer.header("content-type").to_owned(),
        )
    };
    let expected = told(&call(&h, "acme", "nobody's-key").await);
    assert_eq!(expected.0, StatusCode::UNAUTHORIZED);
    for vector in bad {
        let (name, token) = (&vector["name"], vector["token"].as_str().unwrap());
        assert_eq!(told(&call(&h, "acme", token).await), expected, "{name}");
        assert!(proven(&h, "acme", token).is_none(), "{name}");
        assert!(proven(&h, "", token).is_none(), "{name}: nor where the credential decides the tenant");
    }
    let refused = i64::try_from(bad.len()).unwrap() + 1;
    h.app.clock.advance(20 * SECOND);
    let acme = TenantId::new("acme").unwrap();
    let deadline = tokio::time::Instant::now() + DEADLINE;
    loop {
        let sums = h.store().audit_summaries(&acme, 0, i64::MAX, 100).await.unwrap();
        let counted: i64 = sums.iter().filter(|sum| sum.reason == "bad_credential").map(|sum| sum.count).sum();
        if counted == refused {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{counted} of {refused} refusals were counted");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // Nothing that a token names was fetched, and unknown keys made no flood.
    assert!(ours.hits("/jwks") <= 2 && ours.hits("") == ours.hits("/jwks"), "{}", ours.hits(""));
    assert_eq!(theirs.hits(""), 1);
    h.finish().await;
}

async fn good_tokens_prove_whom_the_issuer_says(db: Db) {
    let Some((h, _ours, _theirs)) = with_vectors(db).await else { return };
    for vector in vectors()["good"].as_array().unwrap() {
        let (name, token) = (&vector["name"], vector["token"].as_str().unwrap());
        let identity = proven(&h, "acme", token).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(identity.principal().name, vector["principal"].as_str().unwrap(), "{name}");
        assert_eq!(json!(identity.groups()), vector["groups"], "{name}");
        assert_eq!(identity.scheme(), Scheme::IssuerToken, "{name}");
        assert!(identity.credential_id().starts_with("iss-") && identity.expires_at().is_some(), "{name}");
        assert_eq!(proven(&h, "", token).unwrap().principal().tenant, "acme", "{name}: over gRPC");
        if vector["principal"] == "bot" {
            assert!(works(&h, "acme", token).await, "{name}");
        }
        for other in ["globex", "initech", "nobody"] {
            assert_eq!(call(&h, other, token).await.status, StatusCode::UNAUTHORIZED, "{name} at {other}");
        }
    }
    let records = h.finish().await;
    assert!(records.iter().all(|record| record.key_id.as_deref().is_some_and(|id| id.starts_with("iss-"))));
}

#[tokio::test]
async fn good_tokens_prove_whom_the_issuer_says_on_sqlite() {
    good_tokens_prove_whom_the_issuer_says(Db::Sqlite).await;
}

#[tokio::test]
async fn good_tokens_prove_whom_the_issuer_says_on_postgres() {
    good_tokens_prove_whom_the_issuer_says(Db::Postgres).await;
}

/// A gateway with one issuer that is found by discovery.
async fn discovered() -> (Harness, Idp, Key) {
    let h = gateway(Db::Sqlite).await.unwrap();
    let key = Key::new("k1");
    let idp = Idp::start(&Key::set(&[&key])).await;
    issuer(&h, "acme", "corp", &listed(&idp.iss(), AUDIENCE)).await;
    keys_are_there(&h, "acme").await;
    (h, idp, key)
}

fn token(h: &Harness, key: &Key, iss: &str) -> String {
    let now = h.now() / SECOND;
    key.token(&json!({"iss": iss, "aud": AUDIENCE, "sub": "u1", "iat": now, "exp": now + 600}))
}

#[tokio::test]
async fn an_issuer_may_be_away_for_an_hour_and_no_longer() {
    let (h, idp, key) = discovered().await;
    assert!(works(&h, "acme", &token(&h, &key, &idp.iss())).await);
    idp.set_up(false);
    for minutes in [10, 20, 29] {
        h.app.clock.advance(minutes * 60 * SECOND);
        let before = idp.hits("");
        until("it was asked in vain", || idp.hits("") > before).await;
        assert!(works(&h, "acme", &token(&h, &key, &idp.iss())).await, "{minutes}");
    }
    h.app.clock.advance(60 * SECOND + 1);
    assert!(!works(&h, "acme", &token(&h, &key, &idp.iss())).await, "an hour is over");
    idp.set_up(true);
    h.app.clock.advance(60 * SECOND);
    keys_are_there(&h, "acme").await;
    assert!(works(&h, "acme", &token(&h, &key, &idp.iss())).await);
    h.finish().await;
}

#[tokio::test]
async fn unknown_keys_cause_one_fetch_in_a_cool_down_and_a_rotation_is_seen() {
    let (h, idp, key) = discovered().await;
    let good = token(&h, &key, &idp.iss());
    let fetched = idp.hits("/jwks");
    let next = Key::new("k2");
    idp.publish(&Key::set(&[&key, &next]));
    for at in 0..200 {
        let unknown = token(&h, &Key::new(&format!("r-{at}-{CANARY}")), &idp.iss());
        assert!(proven(&h, "acme", &unknown).is_none());
        assert!(proven(&h, "acme", &good).is_some());
    }
    let rotated = token(&h, &next, &idp.iss());
    assert!(!works(&h, "acme", &rotated).await, "within the cool-down it is not known yet");
    assert_eq!(idp.hits("/jwks"), fetched, "and nothing was fetched");
    h.app.clock.advance(60 * SECOND);
    until("the rotation is seen", || proven(&h, "acme", &rotated).is_some()).await;
    assert!(works(&h, "acme", &rotated).await && works(&h, "acme", &good).await);
    assert_eq!(idp.hits("/jwks"), fetched + 1);
    // A key that is no longer published proves nobody from the next fetch on.
    idp.publish(&Key::set(&[&next]));
    h.app.clock.advance(301 * SECOND);
    until("the old key is gone", || proven(&h, "acme", &token(&h, &key, &idp.iss())).is_none()).await;
    h.finish().await;
}

#[tokio::test]
async fn tenant_issuer_and_audience_decide_together() {
    let h = gateway(Db::Sqlite).await.unwrap();
    let tenants = ["acme", "globex", "initech"];
    let audience = |tenant: &str| format!("https://gw.test/a2a/{tenant}");
    let keys = tenants.map(Key::new);
    let mut idps = Vec::new();
    for (tenant, key) in tenants.iter().zip(&keys) {
        let idp = Idp::start(&Key::set(&[key])).await;
        issuer(&h, tenant, "own", &listed(&idp.iss(), &audience(tenant))).await;
        // One provider that all of them use, each for an audience of its own.
        idps.push(idp);
    }
    for tenant in tenants {
        let mut shared = listed(&idps[0].iss(), &format!("shared-{tenant}"));
        shared["principals"] = json!({"u1": "other"});
        issuer(&h, tenant, "shared", &shared).await;
        keys_are_there(&h, tenant).await;
    }
    let now = h.now() / SECOND;
    for (idp, key) in idps.iter().zip(&keys) {
        for aud in tenants.iter().flat_map(|tenant| [audience(tenant), format!("shared-{tenant}")]) {
            let token = key.token(&json!({"iss": idp.iss(), "aud": aud, "sub": "u1", "iat": now, "exp": now + 60}));
            for tenant in tenants {
                let own = idp.iss() == idps[tenants.iter().position(|one| *one == tenant).unwrap()].iss();
                let expected = match aud.as_str() {
                    aud if own && aud == audience(tenant) => Some("bot"),
                    aud if idp.iss() == idps[0].iss() && aud == format!("shared-{tenant}") => Some("other"),
                    _ => None,
                };
                let got = proven(&h, tenant, &token).map(|identity| identity.principal().name.clone());
                assert_eq!(got.as_deref(), expected, "{} for {aud} at {tenant}", idp.iss());
            }
        }
    }
    // For two audiences of one tenant it could be either, so it is neither.
    let both = json!({"iss": idps[0].iss(), "aud": [audience("acme"), "shared-acme"], "sub": "u1", "exp": now + 60});
    assert!(proven(&h, "acme", &keys[0].token(&both)).is_none());
    h.finish().await;
}

#[tokio::test]
async fn claims_say_who_and_in_which_groups() {
    let h = gateway(Db::Sqlite).await.unwrap();
    let key = Key::new("k1");
    let idp = Idp::start(&Key::set(&[&key])).await;
    let document = json!({"issuer": idp.iss(), "audiences": [AUDIENCE], "subject_claim": "azp",
        "groups_claim": "/realm_access/roles", "unlisted": "by_name", "principals": {"mapped": "other"}});
    issuer(&h, "acme", "corp", &document).await;
    keys_are_there(&h, "acme").await;
    let exp = h.now() / SECOND + 60;
    let ask = |more: Value| {
        let mut claims = json!({"iss": idp.iss(), "aud": AUDIENCE, "sub": "anybody", "exp": exp});
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let identity = proven(&h, "acme", &key.token(&claims))?;
        Some((identity.principal().name.clone(), identity.groups().join(",")))
    };
    let roles = json!({"roles": ["ops", "dev"]});
    assert_eq!(ask(json!({"azp": "bot", "realm_access": roles})), Some(("bot".into(), "ops,dev".into())));
    assert_eq!(ask(json!({"azp": "mapped", "groups": ["ignored"]})), Some(("other".into(), String::new())));
    assert_eq!(ask(json!({"azp": "nobody"})), None);
    assert_eq!(ask(json!({"azp": ["bot"]})), None);
    assert_eq!(ask(json!({"azp": "bot", "realm_access": {"roles": 1}})), None);
    assert_eq!(ask(json!({})), None);
    // A disabled principal is nobody, and a changed issuer ends what it vouched for.
    let claims = json!({"iss": idp.iss(), "aud": AUDIENCE, "sub": "x", "azp": "bot", "exp": exp});
    let before = proven(&h, "acme", &key.token(&claims)).unwrap();
    let acme = TenantId::new("acme").unwrap();
    h.store().set_principal_state(&acme, "bot", IfMatch::Any, store::PrincipalState::Disabled, h.now()).await.unwrap();
    h.refresh().await;
    assert!(before.revocations()[1].is_cancelled() && ask(json!({"azp": "bot"})).is_none());
    let before = proven(
        &h,
        "acme",
        &key.token(&json!({"iss": idp.iss(), "aud": AUDIENCE, "sub": "x", "azp": "mapped", "exp": exp})),
    );
    h.store().delete_issuer(&acme, "corp", IfMatch::Any, h.now()).await.unwrap();
    h.refresh().await;
    assert!(before.unwrap().revocations()[0].is_cancelled() && ask(json!({"azp": "mapped"})).is_none());
    h.finish().await;
}

#[tokio::test]
async fn what_an_issuer_publishes_is_not_believed_blindly() {
    let h = gateway(Db::Sqlite).await.unwrap();
    let key = Key::new("k1");
    let problem = async |name: &str, iss: String, jwks_uri: Option<String>| {
        let mut document = listed(&iss, AUDIENCE);
        document["jwks_uri"] = json!(jwks_uri);
        issuer(&h, "acme", name, &document).await;
        let told = || {
            let world = h.app.registry.snapshot();
            let issuer =
                world.tenants["acme"].issuers.iter().find(|issuer| issuer.iss == iss && issuer.jwks_uri == jwks_uri);
            issuer.and_then(|issuer| issuer.keys.state().1).map(|problem| problem.to_string())
        };
        until(name, || told().is_some()).await;
        let told = told().unwrap();
        h.store().delete_issuer(&TenantId::new("acme").unwrap(), name, IfMatch::Any, h.now()).await.unwrap();
        h.refresh().await;
        told
    };
    let idp = Idp::start(&Key::set(&[&key])).await;
    idp.say(
        "/other/.well-known/openid-configuration",
        200,
        &json!({"issuer": idp.iss(), "jwks_uri": idp.url("/jwks")}).to_string(),
    );
    assert!(problem("mixed-up", idp.url("/other"), None).await.contains("another issuer"));
    idp.say("/moved", 302, "");
    assert!(problem("moved", idp.iss(), Some(idp.url("/moved"))).await.contains("redirect"));
    idp.say("/huge", 200, &" ".repeat(300_000));
    assert!(problem("huge", idp.iss(), Some(idp.url("/huge"))).await.contains("larger"));
    let private = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": key.x(), "d": "AQAB"}]});
    idp.say("/private", 200, &private.to_string());
    assert!(problem("private", idp.iss(), Some(idp.url("/private"))).await.contains("private"));
    // Metadata services and plain HTTP elsewhere are out of reach, whatever a tenant writes.
    let refused = problem("metadata", idp.iss(), Some("http://169.254.169.254/latest".to_owned())).await;
    assert!(refused.contains("could not be fetched"), "{refused}");
    assert_eq!(idp.hits("/jwks"), 0);
    h.finish().await;
}
