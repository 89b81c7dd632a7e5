//! Documents with mistakes, and tenants that change under open calls.

use std::sync::Arc;

use store::{
    CardFacts, CardState, GrantRow, KeyRow, PolicyRow, PrincipalKind, PrincipalRow, PrincipalState, TenantId,
    TenantRow, TenantRows, TenantState, TrustTier,
};

use super::{Compiled, Compiler, Problem};
use crate::config::{Source, load};
use crate::registry::sealed::NewCredential;
use crate::registry::{CardSelector, Snapshot, UpstreamCredential, mint};
use crate::seal::Seal;

fn compiler() -> Compiler {
    let environment = vec![
        ("CHANCERY__PUBLIC__PUBLIC_URLS".to_owned(), "https://gw.test".to_owned()),
        ("CHANCERY__SECRETS__MASTER_KEY".to_owned(), "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA=".to_owned()),
    ];
    let settings = load::load(&Source { file: None, environment }).unwrap();
    let seal = Arc::new(Seal::new(&settings.secrets).unwrap());
    Compiler::new(&settings, seal)
}

fn tenant_id() -> TenantId {
    TenantId::new("acme").unwrap()
}

fn card(name: &str, settings: &str, revision: i64) -> CardFacts {
    CardFacts {
        id: format!("card-{name}"),
        tenant: tenant_id(),
        name: name.to_owned(),
        settings: settings.as_bytes().to_vec(),
        sealed_credential: None,
        state: CardState::Published,
        trust_tier: TrustTier::Unsigned,
        version: 1,
        revision,
        created: 0,
        updated: 0,
    }
}

const SETTINGS: &str = r#"{"upstream":{"interfaces":[{"url":"http://127.0.0.1:9100/a2a/","binding":"JSONRPC"}]}}"#;

fn rows(revision: i64) -> TenantRows {
    let tenant = TenantRow {
        name: tenant_id(),
        display_name: String::new(),
        state: TenantState::Active,
        default_card: None,
        default_policy: None,
        floor_policy: None,
        settings: b"{}".to_vec(),
        created: 0,
        updated: 0,
        revision,
    };
    TenantRows {
        revision,
        tenant,
        cards: vec![card("echo", SETTINGS, revision)],
        principals: vec![principal(PrincipalState::Active)],
        keys: vec![key()],
        issuers: Vec::new(),
        grants: vec![grant(r#"{"cards":["echo"],"operations":["send"]}"#, revision)],
        policies: Vec::new(),
        conditions: Vec::new(),
        signing_keys: Vec::new(),
        unreadable: Vec::new(),
    }
}

fn principal(state: PrincipalState) -> PrincipalRow {
    PrincipalRow {
        id: "prn-1".into(),
        tenant: tenant_id(),
        name: "bot".into(),
        kind: PrincipalKind::Service,
        state,
        settings: b"{}".to_vec(),
        created: 0,
        updated: 0,
        revision: 1,
    }
}

fn key() -> KeyRow {
    KeyRow {
        id: "key-1".into(),
        tenant: tenant_id(),
        principal_id: "prn-1".into(),
        label: String::new(),
        hash: vec![7; 32],
        hint: String::new(),
        created: 0,
        expires: None,
        revoked: None,
        last_used: None,
        revision: 1,
    }
}

fn grant(document: &str, revision: i64) -> GrantRow {
    GrantRow {
        id: "grt-1".into(),
        tenant: tenant_id(),
        name: "g".into(),
        principal_id: "prn-1".into(),
        group_name: None,
        document: document.as_bytes().to_vec(),
        created: 0,
        updated: 0,
        revision,
    }
}

fn snapshot(compiled: Compiled) -> Snapshot {
    let mut snapshot = Snapshot::default();
    snapshot.keys.extend(compiled.keys.into_iter().map(|key| (key.hash, key)));
    snapshot.tenants.extend(compiled.world.map(|world| (world.name.clone(), Arc::new(world))));
    snapshot
}

fn paths(problems: &[Problem]) -> Vec<&str> {
    problems.iter().map(|problem| problem.path.as_str()).collect()
}

#[test]
fn of_an_agents_interfaces_the_one_that_loses_least_is_called() {
    let settings = r#"{"upstream":{"r3_bytes":"double","interfaces":[
        {"url":"http://127.0.0.1:1/v1/","binding":"HTTP+JSON","version":"0.3"},
        {"url":"http://127.0.0.1:2","binding":"JSONRPC","version":"0.3.0"},
        {"url":"http://127.0.0.1:3","binding":"HTTP+JSON","version":"1.0"},
        {"url":"http://127.0.0.1:4","binding":"JSONRPC","version":"1.0"}]}}"#;
    let mut rows = rows(1);
    rows.cards = vec![card("echo", settings, 1)];
    let world = snapshot(compiler().tenant(&rows, &Snapshot::default()));
    let interfaces = &world.tenants["acme"].cards["echo"].upstream.interfaces;
    let order: Vec<_> = interfaces.iter().map(|one| (one.dialect, one.address.base.as_str())).collect();
    let expected = [
        (a2a::Dialect::R1, "http://127.0.0.1:3"),
        (a2a::Dialect::J1, "http://127.0.0.1:4"),
        (a2a::Dialect::J3, "http://127.0.0.1:2"),
        (a2a::Dialect::R3, "http://127.0.0.1:1/v1"),
    ];
    assert_eq!(order, expected);
    assert_eq!(interfaces[3].address.r3_bytes, a2a::dialect::R3Bytes::Double);
}

#[test]
fn rows_become_a_world() {
    let world = snapshot(compiler().tenant(&rows(1), &Snapshot::default()));
    let acme = &world.tenants["acme"];
    assert_eq!(acme.bad_rows, []);
    let echo = &acme.cards["echo"];
    assert_eq!(echo.upstream.interfaces[0].address.base, "http://127.0.0.1:9100/a2a");
    assert_eq!(echo.upstream.interfaces[0].dialect, a2a::Dialect::J1);
    assert!(echo.streaming && !echo.extended_card);
    let principal = &world.keys[&[7; 32]].principal;
    assert_eq!(principal.grants[0].cards, [CardSelector::Name("echo".into())]);
    assert_eq!(principal.grants[0].operations, [a2a::OperationKind::SendMessage].into_iter().collect());
}

#[test]
fn bad_row_disables_itself_alone_and_is_named() {
    let mut rows = rows(1);
    rows.cards.push(card("broken", r#"{"upstream":{"interfaces":[{"url":"ftp://x"}],"colon":"maybe"},"nope":1}"#, 1));
    rows.cards.push(card("homeless", "{}", 1));
    rows.keys.push(KeyRow { id: "key-2".into(), hash: vec![1; 3], ..key() });
    rows.grants.push(GrantRow { id: "grt-2".into(), name: "bad".into(), ..grant(r#"{"cards":["*"]}"#, 1) });
    let world = snapshot(compiler().tenant(&rows, &Snapshot::default()));
    let acme = &world.tenants["acme"];
    assert_eq!(acme.cards.keys().collect::<Vec<_>>(), ["echo"]);
    assert_eq!(world.keys.len(), 1);
    let named: Vec<(&str, &str)> = acme.bad_rows.iter().map(|row| (row.kind, row.name.as_str())).collect();
    assert_eq!(named, [("card", "broken"), ("card", "homeless"), ("grant", "bad"), ("key", "key-2")]);
    assert_eq!(paths(&acme.bad_rows[0].problems), ["/upstream/colon", "/nope"]);
    assert_eq!(paths(&acme.bad_rows[2].problems), ["/operations"]);
}

#[test]
fn cards_that_are_not_published_are_not_there() {
    let mut rows = rows(1);
    for (at, state) in CardState::ALL.iter().enumerate() {
        rows.cards.push(CardFacts { state: *state, ..card(&format!("c{at}"), SETTINGS, 1) });
    }
    let world = compiler().tenant(&rows, &Snapshot::default()).world.unwrap();
    assert_eq!(world.cards.len(), 2);
}

#[test]
fn missing_or_broken_policy_closes_the_cards_that_need_it() {
    let mut rows = rows(1);
    rows.cards.push(card("guarded", &SETTINGS.replacen('{', r#"{"policy":"gone","#, 1), 1));
    let world = compiler().tenant(&rows, &Snapshot::default()).world.unwrap();
    assert_eq!(world.cards.keys().collect::<Vec<_>>(), ["echo"]);
    rows.tenant.floor_policy = Some("floor".into());
    rows.policies.push(PolicyRow {
        id: "pol-1".into(),
        tenant: tenant_id(),
        name: "floor".into(),
        version: 1,
        document: b"not json".to_vec(),
        created: 0,
        updated: 0,
        revision: 1,
    });
    let world = compiler().tenant(&rows, &Snapshot::default()).world.unwrap();
    assert!(world.cards.is_empty());
    assert!(world.bad_rows.iter().any(|row| row.kind == "policy" && row.name == "floor"));
}

#[test]
fn disabled_principals_prove_nobody() {
    let mut rows = rows(1);
    rows.principals = vec![principal(PrincipalState::Disabled)];
    let world = snapshot(compiler().tenant(&rows, &Snapshot::default()));
    assert!(world.keys.is_empty() && world.tenants["acme"].principals.is_empty());
    assert_eq!(world.tenants["acme"].bad_rows, []);
}

#[test]
fn suspended_tenants_have_no_world() {
    let mut rows = rows(1);
    rows.tenant.state = TenantState::Suspended;
    let compiled = compiler().tenant(&rows, &Snapshot::default());
    assert!(compiled.world.is_none() && compiled.keys.is_empty());
}

#[test]
fn what_did_not_change_keeps_its_token() {
    let compiler = compiler();
    let before = snapshot(compiler.tenant(&rows(1), &Snapshot::default()));
    // Another revision of the card, but the same agent behind it; the grant is another one.
    let after = snapshot(compiler.tenant(&rows(2), &before));
    before.tenants["acme"].cards["echo"].cancelled.cancel();
    assert!(after.tenants["acme"].cards["echo"].cancelled.is_cancelled());
    before.keys[&[7; 32]].cancelled.cancel();
    assert!(after.keys[&[7; 32]].cancelled.is_cancelled());
    let grant = |world: &Snapshot| world.keys[&[7; 32]].principal.grants[0].cancelled.clone();
    grant(&before).cancel();
    assert!(!grant(&after).is_cancelled());
}

#[test]
fn another_upstream_is_another_token() {
    let compiler = compiler();
    let before = snapshot(compiler.tenant(&rows(1), &Snapshot::default()));
    let mut moved = rows(2);
    moved.cards = vec![card("echo", &SETTINGS.replace("9100", "9200"), 2)];
    let after = snapshot(compiler.tenant(&moved, &before));
    before.tenants["acme"].cards["echo"].cancelled.cancel();
    assert!(!after.tenants["acme"].cards["echo"].cancelled.is_cancelled());
}

/// F28, T-SEC-1
#[test]
fn credential_opens_for_its_card_and_origin_alone() {
    let compiler = compiler();
    let credential = NewCredential::Bearer { token: "canary".into() };
    let seal = |card: &str, origin: &str| credential.seal(&compiler.seal, "acme", card, origin).unwrap();
    let compiled = |blob: Vec<u8>| {
        let mut rows = rows(1);
        rows.cards = vec![CardFacts { sealed_credential: Some(blob), ..card("echo", SETTINGS, 1) }];
        compiler.tenant(&rows, &Snapshot::default()).world.unwrap()
    };
    let good = compiled(seal("card-echo", "http://127.0.0.1:9100"));
    assert!(matches!(good.cards["echo"].upstream.credential, UpstreamCredential::Bearer(_)));
    for blob in [seal("card-other", "http://127.0.0.1:9100"), seal("card-echo", "http://127.0.0.1:9101"), vec![1, 2]] {
        let world = compiled(blob);
        assert!(world.cards.is_empty());
        assert_eq!(paths(&world.bad_rows[0].problems), ["/upstream/credential"]);
    }
}

/// T-HDR-1
#[test]
fn a_stored_credential_in_a_header_of_the_gateways_closes_its_card() {
    let compiler = compiler();
    for (name, sound) in [("x-key", true), ("x-brutor-tenant-id", false), ("host", false), ("content-length", false)] {
        let name = http::HeaderName::from_static(name);
        let credential = NewCredential::Header { name: name.clone(), value: "v".into() };
        let blob = credential.seal(&compiler.seal, "acme", "card-echo", "http://127.0.0.1:9100").unwrap();
        let mut rows = rows(1);
        rows.cards = vec![CardFacts { sealed_credential: Some(blob), ..card("echo", SETTINGS, 1) }];
        let world = compiler.tenant(&rows, &Snapshot::default()).world.unwrap();
        assert_eq!(world.cards.contains_key("echo"), sound, "{name}");
        let problems: Vec<&Problem> = world.bad_rows.iter().flat_map(|row| &row.problems).collect();
        assert_eq!(problems.is_empty(), sound, "{name}");
        for problem in problems {
            assert_eq!(problem.path, "/upstream/credential");
            assert!(problem.problem.contains(name.as_str()), "{}", problem.problem);
        }
    }
}

#[test]
fn signing_keys_sign_for_every_public_url_and_a_moved_one_is_refused() {
    let compiler = compiler();
    let new = mint::signing_key(&compiler.seal, "acme", store::KeyPurpose::Card, 0).unwrap();
    let row = |id: &str| store::SigningKeyRow {
        id: id.to_owned(),
        tenant: tenant_id(),
        kid: new.kid.clone(),
        purpose: new.purpose,
        public: new.public.clone(),
        sealed_private: Some(new.sealed_private.clone()),
        state: new.state,
        created: 0,
        activated: Some(0),
        retired: None,
        revision: 1,
    };
    let mut rows = rows(1);
    rows.signing_keys = vec![row(&new.id)];
    let world = compiler.tenant(&rows, &Snapshot::default()).world.unwrap();
    assert_eq!(world.signers[0].signing.len(), 1);
    assert_eq!(world.signers[0].public.kid(), new.kid);
    rows.signing_keys = vec![row("sig-elsewhere")];
    let world = compiler.tenant(&rows, &Snapshot::default()).world.unwrap();
    assert!(world.signers.is_empty());
    assert_eq!(world.bad_rows[0].kind, "signing_key");
}

#[test]
fn grants_name_every_mistake() {
    let compiler = compiler();
    let problems = compiler.check_grant(
        br#"{"cards":["echo","tag:","A b"],"operations":["send","fly"],"limits":{"per_minute":0},"extra":1}"#,
    );
    assert_eq!(paths(&problems), ["/extra"]);
    let problems =
        compiler.check_grant(br#"{"cards":["echo","tag:","A b"],"operations":["fly"],"limits":{"per_minute":0}}"#);
    assert_eq!(paths(&problems), ["/cards/1", "/cards/2", "/operations/0", "/limits/per_minute"]);
    assert_eq!(compiler.check_grant(br#"{"cards":["*","tag:finance"],"operations":["*"]}"#), []);
}

#[test]
fn fixed_dialect_picks_the_interface_that_declares_it_else_is_spoken_everywhere() {
    let compiler = compiler();
    let dialects = |settings: &str| {
        let mut rows = rows(1);
        rows.cards = vec![card("echo", settings, 1)];
        let world = compiler.tenant(&rows, &Snapshot::default()).world.unwrap();
        let interfaces = &world.cards["echo"].upstream.interfaces;
        interfaces.iter().map(|i| (i.dialect.name(), i.address.base.clone())).collect::<Vec<_>>()
    };
    let two = r#"[{"url":"http://a.test","binding":"JSONRPC","version":"1.0"},{"url":"http://b.test","binding":"HTTP+JSON","version":"1.0"}]"#;
    assert_eq!(
        dialects(&format!(r#"{{"upstream":{{"dialect":"v10_http_json","interfaces":{two}}}}}"#)),
        [("v10_http_json", "http://b.test".to_owned())]
    );
    assert_eq!(
        dialects(&format!(r#"{{"upstream":{{"dialect":"path_rpc","interfaces":{two}}}}}"#)),
        [("path_rpc", "http://a.test".to_owned()), ("path_rpc", "http://b.test".to_owned())]
    );
}

/// Conditions that can't be read deny; unchanged ones are not compiled again; streams hear only of a change.
#[cfg(feature = "cedar")]
#[test]
fn conditions_are_compiled_once_and_close_the_tenant_when_damaged() {
    let with = |document: &str, revision: i64| {
        let mut rows = rows(revision);
        rows.conditions = vec![store::ConditionsRow {
            id: "cnd-1".into(),
            tenant: tenant_id(),
            name: "house".into(),
            version: 1,
            document: document.as_bytes().to_vec(),
            created: 0,
            updated: 0,
            revision: 5,
        }];
        rows
    };
    let sound = r#"{"policies":"@id(\"a\") forbid(principal, action == Action::\"list\", resource);"}"#;
    let world_of = |rows: &TenantRows, before: &Snapshot| compiler().tenant(rows, before).world.unwrap();
    let none = Snapshot::default();
    let first = world_of(&with(sound, 9), &none);
    let compiled = Arc::clone(first.conditions.as_ref().unwrap());
    let replaced = first.conditioned.replaced.clone();
    let mut before = Snapshot::default();
    before.tenants.insert("acme".into(), Arc::new(first));
    let again = world_of(&with(sound, 10), &before);
    assert!(Arc::ptr_eq(&compiled, again.conditions.as_ref().unwrap()));
    assert_eq!(again.conditioned.since, 5);
    replaced.cancel();
    assert!(again.conditioned.replaced.is_cancelled(), "it is the same standing");
    let gone = world_of(&rows(11), &before);
    assert!(gone.conditions.is_none() && gone.conditioned.since == 0 && !gone.conditioned.replaced.is_cancelled());
    let damaged = world_of(&with("{", 12), &none);
    assert_eq!(damaged.bad_rows[0].kind, "conditions");
    assert!(format!("{:?}", damaged.conditions).contains("rules: None"));
    let mut lost = rows(13);
    lost.unreadable =
        vec![store::Unreadable { table: store::Table::Conditions, id: String::new(), name: "house".into() }];
    assert!(format!("{:?}", world_of(&lost, &none).conditions).contains("rules: None"));
}
