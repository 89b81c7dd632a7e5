//! Single sign-on to the admin page, and what an attacker does with it: forged tokens, answers of others, replays,
//! addresses of others, names of others.

mod provider;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use self::provider::{CLIENT, Place, SECOND, START, Step};
use super::access::{PASSWORD, set_up, sign_in, token};
use super::bounds::Program;
use crate::harness::Db;
use crate::issuers::idp::Key;

async fn somebody_comes_in_with_the_roles_of_now(db: Db) {
    let Some(place) = Place::open(db, &[]).await else { return };
    let offer = place.desk.ask(Method::GET, "/api/v1/setup", &[], vec![]).await.json();
    let start = format!("{}/api/v1/session/sso", place.desk.url());
    assert_eq!(
        (&offer["sso"], &offer["passwords"]),
        (&json!({"label": "single sign-on", "start": start}), &json!(true))
    );

    let (address, kept) = place.start().await;
    let redirect = format!("{}/api/v1/session/sso/callback", place.desk.url());
    assert!(address.query_pairs().any(|(name, value)| name == "redirect_uri" && value == redirect), "{address}");
    assert!(
        address.query_pairs().any(|(name, value)| name == "tenant" && value == "x"),
        "its own query stays: {address}"
    );
    let step = place.back(&place.provider.agree(&address).1, &kept).await;
    let set = step.cookies.iter().find(|cookie| cookie.starts_with("chancery-loopback=")).unwrap();
    assert!(set.ends_with("; Path=/; Max-Age=28800; HttpOnly; SameSite=Strict"), "{set}");
    let ann = place.browser(&step.cookie("chancery-loopback")).await;
    let me = place.me(&ann).await.json();
    assert_eq!((&me["name"], &me["way"], &me["source"]), (&json!("ann@example.com"), &json!("session"), &json!("sso")));
    assert_eq!(me["roles"], json!([{"role": "operator", "tenant": "acme"}]));
    let seen = place.desk.read("/admins/ann@example.com").await;
    assert_eq!(
        (&seen["source"], &seen["subject"], &seen["issuer"]),
        (&json!("sso"), &json!("u-1"), &json!(place.provider.iss()))
    );
    assert_eq!(seen["spec"]["display_name"], "Ann Example");
    assert_eq!(
        ann.send(&place.desk, Method::POST, "/tenants", &json!({"name": "x", "spec": {}})).await.status,
        StatusCode::FORBIDDEN
    );

    // More at the provider is more at the next sign-in, for the same account; so is less.
    place.provider.is("u-1", "ann.lee@example.com", &["leads", "choir"]);
    assert_eq!(place.me(&ann).await.json()["roles"][0]["role"], "operator", "not before");
    let again = place.enters().await;
    let me = place.me(&again).await.json();
    assert_eq!((&me["name"], &me["roles"][0]["role"]), (&json!("ann@example.com"), &json!("tenant_admin")));
    let made =
        again.send(&place.desk, Method::POST, "/tokens", &json!({"name": "ci", "roles": me["roles"]})).await.json();
    assert_eq!(made["expires_at"], "2026-10-21T14:13:20Z", "in 30 days: {made}");
    let program = Program { desk: &place.desk, bearer: format!("Bearer {}", made["token"].as_str().unwrap()) };
    assert_eq!(program.read("/me").await["roles"][0]["role"], "tenant_admin");
    place.provider.is("u-1", "ann@example.com", &["ops"]);
    place.enters().await;
    assert_eq!(program.read("/me").await["roles"][0]["role"], "operator");
    // No role any more: whatever is open ends with the attempt.
    place.provider.is("u-1", "ann@example.com", &["choir"]);
    place.stops("no_role", "no group has a role").await;
    assert_eq!(place.me(&again).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(program.send(Method::GET, "/me", &json!({}), 1).await.status, StatusCode::UNAUTHORIZED);
    place.close().await;
}

#[tokio::test]
async fn somebody_comes_in_with_the_roles_of_now_on_sqlite() {
    somebody_comes_in_with_the_roles_of_now(Db::Sqlite).await;
}

#[tokio::test]
async fn somebody_comes_in_with_the_roles_of_now_on_postgres() {
    somebody_comes_in_with_the_roles_of_now(Db::Postgres).await;
}

#[tokio::test]
async fn a_token_that_proves_too_little_lets_nobody_in() {
    let place = Place::open(Db::Sqlite, &[]).await.unwrap();
    let now = START / SECOND;
    for (twist, what) in [
        (json!({"iss": "http://other.test"}), "another issuer"),
        (json!({"iss": format!("{}/", place.provider.iss())}), "nearly the issuer"),
        (json!({"iss": null}), "no issuer"),
        (json!({"aud": "somebody else"}), "another audience"),
        (json!({"aud": []}), "no audience"),
        (json!({"aud": null}), "no audience member"),
        (json!({"aud": [CLIENT, "another"]}), "several audiences and nobody who asked"),
        (json!({"aud": [CLIENT, "another"], "azp": "another"}), "asked for by another"),
        (json!({"azp": "another"}), "asked for by another, for us alone"),
        (json!({"azp": [CLIENT]}), "azp that is no text"),
        (json!({"exp": now - 61}), "expired"),
        (json!({"exp": null}), "no end"),
        (json!({"exp": "2030-01-01"}), "an end that is a text"),
        (json!({"exp": now + 100_000}), "too long a life"),
        (json!({"iat": null}), "no beginning"),
        (json!({"iat": now - 700}), "of long ago"),
        (json!({"iat": now + 120}), "of the future"),
        (json!({"nbf": now + 120}), "not yet"),
        (json!({"nonce": "0".repeat(43)}), "another sign-in's"),
        (json!({"nonce": null}), "no nonce"),
        (json!({"nonce": [""]}), "a nonce that is no text"),
        (json!({"sub": null}), "no subject"),
        (json!({"sub": ""}), "an empty subject"),
        (json!({"sub": 7}), "a subject that is a number"),
    ] {
        place.provider.twist(twist);
        place.stops("unproven", what).await;
    }
    for (twist, word) in [
        (json!({"email_verified": false}), "account"),
        (json!({"email": "no name for an account"}), "account"),
        (json!({"groups": {"ops": true}}), "not_allowed"),
        (json!({"groups": null}), "no_role"),
    ] {
        place.provider.twist(twist.clone());
        place.stops(word, &twist.to_string()).await;
    }
    assert_eq!(place.desk.read("/admins").await["items"], json!([]), "nobody was made");
    place.provider.twist(json!({"aud": [CLIENT, "another"], "azp": CLIENT}));
    place.enters().await;
    place.close().await;
}

#[tokio::test]
async fn a_token_that_the_provider_did_not_sign_lets_nobody_in() {
    let place = Place::open(Db::Sqlite, &[]).await.unwrap();
    let key = Arc::clone(&place.provider.said.key.lock().unwrap());
    let now = START / SECOND;
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    for case in [
        "none",
        "HS256",
        "RS256",
        "other key",
        "no kid",
        "unknown kid",
        "at+jwt",
        "jwk",
        "cut",
        "changed",
        "not even one",
    ] {
        let (address, cookie) = place.start().await;
        let nonce = address.query_pairs().find(|(name, _)| name == "nonce").unwrap().1.into_owned();
        let claims = json!({"iss": place.provider.iss(), "aud": CLIENT, "sub": "u-1", "iat": now, "exp": now + 300,
            "nonce": nonce, "email": "eve@example.com", "email_verified": true, "groups": ["admins"]});
        let good = key.token(&claims);
        let (head, rest) = good.split_once('.').unwrap();
        let with = |header: Value| key.signed(&header, &claims);
        *place.provider.said.forged.lock().unwrap() = Some(match case {
            "none" => format!("{}.{}.", part(&json!({"alg": "none", "kid": "k1"})), part(&claims)),
            "HS256" => {
                let signed = format!("{}.{}", part(&json!({"alg": "HS256", "kid": "k1"})), part(&claims));
                let secret = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key.x().as_bytes());
                let tag = aws_lc_rs::hmac::sign(&secret, signed.as_bytes());
                format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
            }
            "RS256" => with(json!({"alg": "RS256", "kid": "k1"})),
            "other key" => Key::new("k1").token(&claims),
            "no kid" => with(json!({"alg": "EdDSA"})),
            "unknown kid" => with(json!({"alg": "EdDSA", "kid": "k2"})),
            "at+jwt" => with(json!({"alg": "EdDSA", "kid": "k1", "typ": "at+jwt"})),
            "jwk" => with(json!({"alg": "EdDSA", "kid": "k1", "jwk": {"kty": "OKP", "crv": "Ed25519", "x": key.x()}})),
            "cut" => good[..good.len() - 4].to_owned(),
            "changed" => {
                let more = part(&json!({"iss": place.provider.iss(), "aud": CLIENT, "sub": "u-2"}));
                format!("{head}.{more}.{}", rest.split_once('.').unwrap().1)
            }
            _ => "no token at all".to_owned(),
        });
        let step = place.back(&place.provider.agree(&address).1, &cookie).await;
        assert_eq!((step.to.as_str(), step.has_session()), ("/?sso=unproven", false), "{case}");
    }
    *place.provider.said.forged.lock().unwrap() = None;
    assert_eq!(place.desk.read("/admins").await["items"], json!([]));
    place.enters().await;
    // The provider changes its keys: the next one is found, once the cool-down is over.
    let next = Arc::new(Key::new("k2"));
    *place.provider.said.published.lock().unwrap() = Key::set(&[&next]);
    *place.provider.said.key.lock().unwrap() = next;
    place.clock.advance(61 * SECOND);
    place.enters().await;
    place.close().await;
}

#[tokio::test]
async fn an_answer_that_this_browser_did_not_ask_for_signs_nobody_in() {
    let place = Place::open(Db::Sqlite, &[]).await.unwrap();
    let (address, cookie) = place.start().await;
    let (code, back) = place.provider.agree(&address);
    let expired = |step: &Step| {
        assert_eq!((step.to.as_str(), step.has_session()), ("/?sso=expired", false), "{step:?}");
    };
    // Login CSRF: somebody else's answer in a browser that began nothing, or began another.
    let (other, others) = place.start().await;
    for foreign in
        ["", others.as_str(), "chancery-loopback-sso=AAAA", &format!("{cookie}; {cookie}"), &format!("__Host-{cookie}")]
    {
        expired(&place.back(&back, foreign).await);
    }
    // A state that is guessed, missing, or there twice.
    let with = |pairs: &[(&str, &str)]| {
        let mut url = back.clone();
        url.set_query(None);
        url.query_pairs_mut().extend_pairs(pairs);
        url
    };
    let state = address.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    expired(&place.back(&with(&[("code", &code), ("state", "guessed")]), &cookie).await);
    expired(&place.back(&with(&[("code", &code)]), &cookie).await);
    expired(&place.back(&with(&[("code", &code), ("state", &state), ("state", &state)]), &cookie).await);
    assert_eq!(place.provider.said.exchanged.load(Ordering::Relaxed), 0, "no code was sent anywhere");
    // An answer of another provider, sent on to us (RFC 9207).
    for mixed in [
        vec![("code", code.as_str()), ("state", &state), ("iss", "https://other.test")],
        vec![("code", code.as_str()), ("state", &state), ("iss", "")],
        vec![("code", code.as_str()), ("state", &state), ("iss", &place.provider.iss()), ("iss", "https://other.test")],
    ] {
        assert_eq!(place.back(&with(&mixed), &cookie).await.to, "/?sso=unproven", "{mixed:?}");
    }
    for (error, word) in [("access_denied", "denied"), ("server_error", "unproven")] {
        let step =
            place.back(&with(&[("error", error), ("state", &state), ("error_description", "<b>x</b>")]), &cookie).await;
        assert_eq!(step.to, format!("/?sso={word}"));
    }
    assert_eq!(place.back(&with(&[("state", &state)]), &cookie).await.to, "/?sso=unproven");
    assert_eq!(place.provider.said.exchanged.load(Ordering::Relaxed), 0);
    // A code of another sign-in is bound to that one's verifier and nonce.
    let (foreign, _) = place.provider.agree(&other);
    assert_eq!(place.back(&with(&[("code", &foreign), ("state", &state)]), &cookie).await.to, "/?sso=unproven");
    // Too late.
    place.clock.advance(600 * SECOND);
    expired(&place.back(&back, &cookie).await);
    place.close().await;
}

async fn an_answer_is_good_once(db: Db) {
    let Some(place) = Place::open(db, &[]).await else { return };
    let (address, cookie) = place.start().await;
    let (_, back) = place.provider.agree(&address);
    // Even where the provider takes a code twice.
    place.provider.said.lax.store(true, Ordering::Relaxed);
    assert!(place.back(&back, &cookie).await.has_session());
    let again = place.back(&back, &cookie).await;
    assert_eq!((again.to.as_str(), again.has_session()), ("/?sso=expired", false));
    place.provider.said.lax.store(false, Ordering::Relaxed);
    let (address, cookie) = place.start().await;
    let (_, back) = place.provider.agree(&address);
    assert!(place.back(&back, &cookie).await.has_session());
    assert_eq!(place.back(&back, &cookie).await.to, "/?sso=unproven", "the provider refuses the code");
    place.close().await;
}

#[tokio::test]
async fn an_answer_is_good_once_on_sqlite() {
    an_answer_is_good_once(Db::Sqlite).await;
}

#[tokio::test]
async fn an_answer_is_good_once_on_postgres() {
    an_answer_is_good_once(Db::Postgres).await;
}

#[tokio::test]
async fn a_provider_that_names_itself_must_do_so() {
    let place = Place::open(Db::Sqlite, &[]).await.unwrap();
    place.provider.said.names_itself.store(true, Ordering::Relaxed);
    let (address, cookie) = place.start().await;
    let (_, mut back) = place.provider.agree(&address);
    assert_eq!(place.back(&back, &cookie).await.to, "/?sso=unproven");
    back.query_pairs_mut().append_pair("iss", &place.provider.iss());
    assert!(place.back(&back, &cookie).await.has_session());
    place.close().await;
}

#[tokio::test]
async fn no_address_comes_from_a_request() {
    let origins = [("CHANCERY__ADMIN__ORIGINS", "https://admin.example.com,https://second.example.com")];
    let place = Place::open(Db::Sqlite, &origins).await.unwrap();
    let redirect = "https://admin.example.com/api/v1/session/sso/callback";
    let kept = |step: &Step| {
        step.cookies
            .iter()
            .find(|cookie| cookie.starts_with("__Host-chancery-sso="))
            .unwrap_or_else(|| panic!("{step:?}"))
            .clone()
    };
    for host in [None, Some("second.example.com"), Some("admin.example.com"), Some("localhost:1"), Some("10.0.0.9")] {
        let step = place.step("/api/v1/session/sso", "", host).await;
        let address = Url::parse(&step.to).unwrap();
        assert!(
            address.query_pairs().any(|(name, value)| name == "redirect_uri" && value == redirect),
            "{host:?}: {address}"
        );
        let set = kept(&step);
        assert!(set.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure"), "{set}");
    }
    let evil = place.step("/api/v1/session/sso", "", Some("evil.test")).await;
    assert_eq!(evil.status, StatusCode::MISDIRECTED_REQUEST);
    // Where to go afterwards is a view of the page, whatever is asked for.
    for (to, ends) in [
        ("/t/acme/agents%3Fstate%3Ddraft", "/t/acme/agents?state=draft"),
        ("//evil.test", "/"),
        ("https://evil.test", "/"),
        ("/%5Cevil.test", "/"),
        ("%09//evil.test", "/"),
        ("/a%0d%0aset-cookie:%20x=y", "/"),
        ("/x&to=//evil.test", "/"),
    ] {
        let step = place.step(&format!("/api/v1/session/sso?to={to}"), "", None).await;
        let (_, back) = place.provider.agree(&Url::parse(&step.to).unwrap());
        let path = format!("/api/v1/session/sso/callback?{}", back.query().unwrap());
        let end = place.step(&path, &step.cookie("__Host-chancery-sso"), None).await;
        assert_eq!(end.to, ends, "{to}");
        let set = end.cookies.iter().find(|cookie| cookie.starts_with("__Host-chancery=")).unwrap();
        assert!(set.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{set}");
    }
    place.close().await;
}

#[tokio::test]
async fn while_the_provider_is_away_passwords_work_and_the_page_says_so() {
    let place = Place::open(Db::Sqlite, &[]).await.unwrap();
    set_up(&place.desk).await;
    place.provider.said.down.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let step = place.step("/api/v1/session/sso", "", None).await;
        assert_eq!((step.status, step.to.as_str()), (StatusCode::SEE_OTHER, "/?sso=away"));
    }
    assert_eq!(sign_in(&place.desk, "ada", PASSWORD).await.status, StatusCode::OK);
    place.provider.said.down.store(false, Ordering::Relaxed);
    place.clock.advance(6 * SECOND);
    let (address, cookie) = place.start().await;
    let (_, back) = place.provider.agree(&address);
    place.provider.said.down.store(true, Ordering::Relaxed);
    assert_eq!(place.back(&back, &cookie).await.to, "/?sso=away");
    place.provider.said.down.store(false, Ordering::Relaxed);
    // Another issuer's document is none.
    *place.provider.said.issuer.lock().unwrap() = "http://other.test".to_owned();
    place.clock.advance(3_700 * SECOND);
    assert_eq!(place.step("/api/v1/session/sso", "", None).await.to, "/?sso=away");
    place.close().await;
}

async fn accounts_are_whose_they_are(db: Db) {
    let Some(place) = Place::open(db, &[("CHANCERY__ADMIN__OIDC__ALLOWED_DOMAINS", "example.com,example.org")]).await
    else {
        return;
    };
    let roles = json!([{"role": "platform_admin", "tenant": "*"}]);
    let account = json!({"name": "boss@example.com", "password": PASSWORD, "spec": {"roles": roles}});
    assert_eq!(place.desk.post("/admins", &account).await.status, StatusCode::CREATED);
    // The provider's word for a name does not open the account that has it, nor changes it.
    place.provider.is("u-2", "boss@example.com", &["ops"]);
    place.stops("name_taken", "a password account's name").await;
    assert_eq!(sign_in(&place.desk, "boss@example.com", PASSWORD).await.status, StatusCode::OK);
    assert_eq!(place.desk.read("/admins/boss@example.com").await["source"], "password");
    place.provider.is("u-1", "ann@example.com", &["ops"]);
    let ann = place.enters().await;
    place.provider.is("u-3", "ann@example.com", &["admins"]);
    place.stops("name_taken", "another person's name").await;
    place.provider.is("u-3", "eve@evil.test", &["admins"]);
    place.stops("not_allowed", "another domain").await;

    // An account of the provider's has no password, and no roles but the provider's.
    let path = "/admins/ann@example.com";
    let seen = place.desk.read(path).await;
    let grown = json!({"roles": roles});
    let refused = place.desk.put(path, &grown, seen["revision"].as_i64().unwrap()).await;
    assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::CONFLICT, &json!("by_provider")));
    let password =
        place.desk.send(Method::PUT, &format!("{path}/password"), Some(&json!({"password": PASSWORD})), None).await;
    assert_eq!((password.status, &password.json()["code"]), (StatusCode::CONFLICT, &json!("by_provider")));
    let own = ann.send(&place.desk, Method::PUT, "/me/password", &json!({"current": "", "password": PASSWORD})).await;
    assert_eq!(own.status, StatusCode::CONFLICT);
    assert_eq!(sign_in(&place.desk, "ann@example.com", "").await.status, StatusCode::UNAUTHORIZED);

    // Disabled here is out here, whatever the provider says.
    let spec = json!({"roles": seen["spec"]["roles"], "state": "disabled"});
    let disabled = place.desk.put(path, &spec, seen["revision"].as_i64().unwrap()).await;
    assert_eq!(disabled.status, StatusCode::OK, "{}", disabled.text());
    assert_eq!(place.me(&ann).await.status, StatusCode::UNAUTHORIZED);
    place.provider.is("u-1", "ann@example.com", &["ops"]);
    place.stops("disabled", "a disabled account").await;
    place.close().await;
}

#[tokio::test]
async fn accounts_are_whose_they_are_on_sqlite() {
    accounts_are_whose_they_are(Db::Sqlite).await;
}

#[tokio::test]
async fn accounts_are_whose_they_are_on_postgres() {
    accounts_are_whose_they_are(Db::Postgres).await;
}

#[tokio::test]
async fn a_session_of_the_providers_is_as_long_as_configured_and_ends_at_sign_out() {
    let settings = [("CHANCERY__ADMIN__OIDC__SESSION", "20m"), ("CHANCERY__ADMIN__OIDC__PASSWORDS", "false")];
    let place = Place::open(Db::Sqlite, &settings).await.unwrap();
    let ann = place.enters().await;
    place.clock.advance(19 * 60 * SECOND);
    assert_eq!(place.me(&ann).await.status, StatusCode::OK);
    place.clock.advance(61 * SECOND);
    assert_eq!(place.me(&ann).await.status, StatusCode::UNAUTHORIZED);
    let again = place.enters().await;
    let out = again.send(&place.desk, Method::DELETE, "/session", &json!({})).await;
    assert_eq!(out.status, StatusCode::NO_CONTENT);
    assert_eq!(place.me(&again).await.status, StatusCode::UNAUTHORIZED);
    // Nobody comes in with a password, nor makes an account with one by the link of the first start.
    let roles = json!([{"role": "auditor", "tenant": "*"}]);
    let bob = json!({"name": "bob", "password": PASSWORD, "spec": {"roles": roles}});
    assert_eq!(place.desk.post("/admins", &bob).await.status, StatusCode::CREATED);
    let refused = sign_in(&place.desk, "bob", PASSWORD).await;
    assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::CONFLICT, &json!("passwords_off")));
    assert_eq!(place.desk.h.setup_link, None);
    let offer = place.desk.ask(Method::GET, "/api/v1/setup", &[], vec![]).await.json();
    assert_eq!((&offer["needed"], &offer["passwords"]), (&json!(false), &json!(false)));
    // Programs are not people.
    let made = token(&place.desk, roles).await;
    let headers = [("authorization", format!("Bearer {made}"))];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(place.desk.ask(Method::GET, "/api/v1/me", &headers, vec![]).await.status, StatusCode::OK);
    place.close().await;
}
