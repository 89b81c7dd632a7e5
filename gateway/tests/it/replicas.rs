//! Two gateways on one PostgreSQL: what is revoked stops working on both, and what is limited is limited over both.

use crate::harness::{Caller, DEADLINE, Db, Harness};
use crate::replica::Replica;
use crate::rig::says;
use crate::wire::{Ask, Live};
use chancery::clock::Clock;
use sample_agents::hostile::{Gate, Reply, Script, Scripted};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Calls the card; what proves somebody leaves a record.
pub(crate) async fn status(h: &Harness, at: SocketAddr, key: &str, card: &str) -> (u16, Option<u64>) {
    let ask = Ask::post(&format!("/a2a/acme/{card}"))
        .key(key)
        .v10()
        .json(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#, says("hi")));
    let heard = crate::wire::exchange(at, &ask.bytes()).await;
    if heard.status != 401 {
        h.expect_records(1);
    }
    (heard.status, heard.header("retry-after").map(|wait| wait.parse().unwrap()))
}

/// How long until the card can't be called with this key any more, here; fails after `within`.
pub(crate) async fn stops(h: &Harness, at: SocketAddr, key: &str, within: Duration) -> Duration {
    let began = Instant::now();
    while status(h, at, key, "echo").await.0 == 200 {
        assert!(began.elapsed() < within, "still served after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    began.elapsed()
}

/// A stream of the slow card, open at `at`.
async fn stream(h: &Harness, at: SocketAddr, key: &str) -> Live {
    h.expect_records(1);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{}}}"#, says("hi"));
    let mut live = Live::open(at, &Ask::post("/a2a/acme/slow").key(key).v10().json(&body).bytes()).await;
    assert!(live.event().await.is_some());
    live
}

async fn ends(mut live: Live) {
    assert_eq!(live.event().await.and_then(|last| last.name).as_deref(), Some("error"));
    assert_eq!(live.event().await, None);
}

/// With a notification at once; without one it takes as long as the poll.
pub(crate) const TOLD: Duration = Duration::from_secs(2);
const UNTOLD: Duration = Duration::from_secs(5);

#[tokio::test]
async fn what_is_revoked_stops_working_and_streaming_on_both() {
    let Some(h) = Harness::start_with(Db::Postgres, Clock::System, &[]).await else { return };
    let acme = h.tenant("acme").await;
    let gate = Gate::new();
    let (waits, made) = (gate.clone(), AtomicUsize::new(0));
    let slow = Script::by(move |_| {
        let id = made.fetch_add(1, Ordering::Relaxed);
        let task =
            format!(r#"{{"task":{{"id":"t{id}","contextId":"c{id}","status":{{"state":"TASK_STATE_WORKING"}}}}}}"#);
        Reply::sse().event(task).wait(&waits).end()
    });
    let slow = Scripted::start(slow).await.unwrap();
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    h.card("acme", "slow", &slow.url(), "v10_http_json").await;
    let mut callers: Vec<Caller> = Vec::new();
    for name in ["by-key", "by-grant", "by-nobody", "by-tenant"] {
        callers.push(h.caller("acme", name, &["*"], &["*"]).await);
    }
    let other = Replica::beside(&h, &[]).await;
    let both = [h.public, other.public];
    for caller in &callers {
        for at in both {
            assert_eq!(status(&h, at, &caller.key, "echo").await.0, 200);
        }
    }
    let mut took = Vec::new();
    let mut gone = async |what: &'static str, key: &str, live: Live, within: Duration| {
        for at in both {
            took.push((what, stops(&h, at, key, within).await));
        }
        ends(live).await;
    };
    let now = h.now();
    // A stream ends on the replica where it is open, though the change was made elsewhere.
    let live = stream(&h, other.public, &callers[0].key).await;
    h.store().revoke_key(&acme, &callers[0].key_id, now).await.unwrap();
    gone("key", &callers[0].key, live, TOLD).await;

    let live = stream(&h, other.public, &callers[1].key).await;
    let grants = h.store().grants(&acme, store::Page { after: "", limit: 100 }).await.unwrap();
    let grant = grants.iter().find(|grant| grant.principal_id == callers[1].principal_id).unwrap();
    h.store().delete_grant(&acme, &grant.name, store::IfMatch::Any, now).await.unwrap();
    gone("grant", &callers[1].key, live, TOLD).await;

    // Nobody is notified: the poll finds it.
    let live = stream(&h, other.public, &callers[2].key).await;
    h.execute(
        "WITH next AS (UPDATE revision SET value = value + 1 WHERE id = 1 RETURNING value),
            lost AS (UPDATE keys SET revoked = 1 WHERE principal_id IN
                (SELECT id FROM principals WHERE name = 'by-nobody') RETURNING id, tenant)
         INSERT INTO changes (revision, tenant, kind, id) SELECT next.value, lost.tenant, 'key', lost.id FROM next, lost",
    )
    .await;
    gone("key, without NOTIFY", &callers[2].key, live, UNTOLD).await;

    let live = stream(&h, other.public, &callers[3].key).await;
    let row = h.store().tenant(&acme).await.unwrap().unwrap();
    h.store().delete_tenant(&acme, store::IfMatch::Revision(row.revision), now).await.unwrap();
    gone("tenant", &callers[3].key, live, TOLD).await;
    eprintln!("until it stopped working, on either replica: {took:?}");
    gate.open();
    other.finish().await;
    h.stop_only().await;
}

#[tokio::test]
async fn a_shared_rate_holds_over_both_replicas_within_its_bound() {
    let shared = [("CHANCERY__LIMITS__SHARED", "true")];
    let Some(h) = Harness::start_with(Db::Postgres, Clock::manual(1_800_000_000_000_000), &shared).await else {
        return;
    };
    h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    let caller = h.caller("acme", "bot", &["*"], &["*"]).await;
    limit(&h, json!({"limits": {"per_minute": 20}})).await;
    let other = Replica::beside(&h, &shared).await;
    let (mut admitted, mut quiet_since) = (0, Instant::now());
    while quiet_since.elapsed() < Duration::from_secs(1) {
        for at in [h.public, other.public] {
            let (status, wait) = status(&h, at, &caller.key, "echo").await;
            match status {
                200 => (admitted, quiet_since) = (admitted + 1, Instant::now()),
                _ => assert!(status == 429 && wait.is_some(), "{status}"),
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A tenth of the rate for each replica beyond it, and no more.
    assert!((20..=24).contains(&admitted), "{admitted}");
    h.app.clock.advance(60_000_000);
    assert_eq!(status(&h, h.public, &caller.key, "echo").await.0, 200);
    other.finish().await;
    h.finish().await;
}

#[tokio::test]
async fn a_quota_counts_what_every_replica_used_and_outlives_them() {
    let Some(h) = Harness::start_with(Db::Postgres, Clock::manual(1_800_000_000_000_000), &[]).await else { return };
    h.tenant("acme").await;
    h.card("acme", "echo", &h.agents.echo_url.clone(), "v10_jsonrpc").await;
    let caller = h.caller("acme", "bot", &["*"], &["*"]).await;
    limit(&h, json!({"limits": {"daily": 3}})).await;
    let other = Replica::beside(&h, &[]).await;
    for at in [h.public, other.public, h.public] {
        assert_eq!(status(&h, at, &caller.key, "echo").await.0, 200);
    }
    // Each hears of the other's within a second; then neither admits any more.
    let began = Instant::now();
    while status(&h, other.public, &caller.key, "echo").await.0 == 200 {
        assert!(began.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    other.finish().await;
    let third = Replica::beside(&h, &[]).await;
    let began = Instant::now();
    let midnight = loop {
        match status(&h, third.public, &caller.key, "echo").await {
            (429, wait) => break wait.unwrap(),
            _ => assert!(began.elapsed() < DEADLINE),
        }
    };
    assert_eq!(midnight, 86_400 - 1_800_000_000 % 86_400, "exactly until the day is over");
    third.finish().await;
    h.finish().await;
}

/// Puts limits on the tenant.
async fn limit(h: &Harness, settings: Value) {
    h.change_tenant("acme", |fields| fields.settings = serde_json::to_vec(&settings).unwrap()).await;
}

/// An agent whose streams go on until the gate opens, as card `slow`.
async fn slow(h: &Harness, gate: &Gate) -> Scripted {
    let (waits, made) = (gate.clone(), AtomicUsize::new(0));
    let script = Script::by(move |_| {
        let id = made.fetch_add(1, Ordering::Relaxed);
        let state = "TASK_STATE_WORKING";
        let task = format!(r#"{{"task":{{"id":"s{id}","contextId":"k{id}","status":{{"state":"{state}"}}}}}}"#);
        Reply::sse().event(task).wait(&waits).end()
    });
    let agent = Scripted::start(script).await.unwrap();
    h.card("acme", "slow", &agent.url(), "v10_http_json").await;
    agent
}

/// A stream, if there is a place for it.
async fn perhaps(at: SocketAddr, key: &str) -> Option<Live> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{}}}"#, says("hi"));
    let mut live = Live::open(at, &Ask::post("/a2a/acme/slow").key(key).v10().json(&body).bytes()).await;
    if live.status != 200 {
        assert_eq!(live.status, 429);
        return None;
    }
    assert!(live.event().await.is_some());
    Some(live)
}

/// Opens streams at these until there are `count`.
async fn fill(at: &[SocketAddr], key: &str, count: usize, open: &mut Vec<Live>) {
    let began = Instant::now();
    while open.len() < count {
        for at in at {
            open.extend(perhaps(*at, key).await);
        }
        assert!(began.elapsed() < LEASED, "{} of {count} are open", open.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A lease, and time to notice that it has ended.
const LEASED: Duration = Duration::from_secs(60);
const MANY: usize = 6;

/// Shares places with a replica whose clock goes wrong by so many microseconds.
async fn places_are_shared(limits: Value, off: i64) {
    let shared = [("CHANCERY__LIMITS__SHARED", "true")];
    let Some(h) = Harness::start_with(Db::Postgres, Clock::System, &shared).await else { return };
    h.tenant("acme").await;
    let gate = Gate::new();
    let _agent = slow(&h, &gate).await;
    let key = h.caller("acme", "bot", &["*"], &["*"]).await.key;
    limit(&h, json!({ "limits": limits })).await;
    let clock = if off == 0 { Clock::System } else { Clock::manual(h.now() + off) };
    let other = Replica::beside_with(&h, clock, &shared).await;
    let both = [h.public, other.public];
    let mut open = Vec::new();
    fill(&both, &key, MANY, &mut open).await;
    // Each has been told by now what the other holds.
    let full = Instant::now();
    while full.elapsed() < Duration::from_secs(2) {
        for at in both {
            open.extend(perhaps(at, &key).await);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // At first contact a tenth of the limit, at least one, for each replica beyond it.
    assert!((MANY..=MANY + both.len()).contains(&open.len()), "{}", open.len());
    // What came free here is used there.
    open.drain(..).for_each(Live::vanish);
    fill(&[other.public], &key, MANY, &mut open).await;
    gate.open();
    drop(open);
    other.finish().await;
    h.stop_only().await;
}

#[tokio::test]
async fn shared_calls_in_flight_hold_over_both_replicas() {
    places_are_shared(json!({ "concurrent": MANY }), 0).await;
}

const HOUR: i64 = 3_600_000_000;

#[tokio::test]
async fn shared_calls_hold_with_a_replica_whose_clock_is_an_hour_fast() {
    places_are_shared(json!({ "concurrent": MANY }), HOUR).await;
}

#[tokio::test]
async fn shared_streams_hold_with_a_replica_whose_clock_is_an_hour_slow() {
    places_are_shared(json!({ "streams": MANY }), -HOUR).await;
}

#[tokio::test]
async fn shared_streams_hold_over_both_replicas() {
    places_are_shared(json!({ "streams": MANY }), 0).await;
}

#[tokio::test]
async fn places_of_a_killed_replica_come_free() {
    let shared = [("CHANCERY__LIMITS__SHARED", "true")];
    let Some(h) = Harness::start_with(Db::Postgres, Clock::System, &shared).await else { return };
    h.tenant("acme").await;
    let gate = Gate::new();
    let _agent = slow(&h, &gate).await;
    let key = h.caller("acme", "bot", &["*"], &["*"]).await.key;
    limit(&h, json!({"limits": {"concurrent": MANY}})).await;
    let settings = [
        ("CHANCERY__STORE__URL", h.app.settings.store.url.expose_secret()),
        ("CHANCERY__EGRESS__ALLOW", "127.0.0.0/8"),
        shared[0],
    ];
    let other = crate::serve::serve(&settings);
    let mut theirs = Vec::new();
    fill(&[other.public], &key, MANY, &mut theirs).await;
    // What this one admits before it has been told is over when the calls are: there is no place left for new ones.
    let began = Instant::now();
    while let Some(live) = perhaps(h.public, &key).await {
        live.vanish();
        assert!(began.elapsed() < LEASED, "there is none, and this one does not hear of it");
    }
    other.kill();
    drop(theirs);
    let mut ours = Vec::new();
    fill(&[h.public], &key, MANY, &mut ours).await;
    gate.open();
    drop(ours);
    h.stop_only().await;
}

/// T-NN-1: on a busy node nobody has more than an equal share.
#[tokio::test]
async fn a_tenant_over_its_share_of_a_busy_node_is_refused_before_others_suffer() {
    let gate = Gate::new();
    let first = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let agent = Scripted::start(Reply::sse().event(first).wait(&gate).end()).await.unwrap();
    let spec = crate::rig::CardSpec::of(&agent.url(), a2a::Dialect::R1);
    let plan = crate::rig::Plan::echo(spec.clone()).card("globex/echo", spec);
    let rig = plan.set("limits.requests_in_flight", "20").start().await;
    let ask = |tenant: &str, key: &str| {
        crate::rig::rpc_as(key, &format!("/a2a/{tenant}/echo"), "SendStreamingMessage", &says("hi"))
    };
    let mut open = Vec::new();
    for _ in 0..14 {
        let live = rig.live(ask("acme", crate::rig::P1)).await;
        assert_eq!(live.status, 200);
        open.push(live);
    }
    // The node has 70 % of what it may; alone, acme may have the rest too.
    open.push(rig.live(ask("acme", crate::rig::P1)).await);
    assert_eq!(open[14].status, 200);
    let theirs = rig.live(ask("globex", crate::rig::G1)).await;
    assert_eq!(theirs.status, 200);
    let refused = rig.call(ask("acme", crate::rig::P1)).await;
    assert_eq!((refused.status, refused.code(), refused.header("retry-after").as_deref()), (429, -32043, Some("1")));
    let again = rig.live(ask("globex", crate::rig::G1)).await;
    assert_eq!(again.status, 200, "who has less than its share is served");
    gate.open();
}
