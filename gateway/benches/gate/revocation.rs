//! How long what was revoked goes on working, on either of two gateways on one PostgreSQL (R9).
//!
//! A sample is one caller, served by both until its key, its grant or its tenant is taken away. Told are the time from
//! just before the change is written to the first refusal on the slower of the two, and to the end of a stream that was
//! open on the one that did not hear of the change from itself. Kinds take turns, several samples at once. Half of all
//! changes are written past the notification, so that only the poll finds them: none that is told of runs beside those.
//! How long the calls took that were served says what the machine was doing meanwhile.

use crate::harness::{Caller, Db, Harness};
use crate::replica::Replica;
use crate::rig::says;
use crate::wire::{Ask, Live};
use crate::{Client, permille, scale, verdict};
use chancery::clock::Clock;
use sample_agents::hostile::{Gate, Reply, Script, Scripted};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::{IfMatch, TenantId};
use tokio::task::JoinSet;

/// Samples of each kind in a wave, with and without notification each.
const WAVE: usize = 25;
const WAVES: usize = 8;
const AT_ONCE: usize = 2;
/// Between two looks whether it works still.
const LOOK: Duration = Duration::from_millis(10);
/// When it would have stopped at the latest, before something is broken.
const DEADLINE: Duration = Duration::from_secs(60);
const PROMISED: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Key,
    Grant,
    Tenant,
}

const KINDS: [(Kind, &str); 3] = [(Kind::Key, "key"), (Kind::Grant, "grant"), (Kind::Tenant, "tenant")];

/// Whether the replicas are told of the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notice {
    Given,
    Cut,
}

const NOTICES: [(Notice, &str); 2] = [(Notice::Given, "with NOTIFY"), (Notice::Cut, "NOTIFY cut")];

/// One to be revoked.
struct Sample {
    kind: Kind,
    notice: Notice,
    tenant: TenantId,
    caller: Caller,
    grant: String,
}

/// How long it took.
struct Took {
    kind: Kind,
    notice: Notice,
    calls: Duration,
    stream: Duration,
    /// What a call took that was served.
    served: Vec<Duration>,
}

pub(crate) async fn run() -> bool {
    let settings = [("CHANCERY__LIMITS__BAD_KEYS_PER_MINUTE", "1000000")];
    let Some(h) = Harness::start_with(Db::Postgres, Clock::System, &settings).await else {
        eprintln!("revocation: TEST_POSTGRES_URL names no server; see gateway/benches/gate/run");
        return false;
    };
    let other = Arc::new(Replica::beside(&h, &settings).await);
    let h = Arc::new(h);
    let gate = Gate::new();
    let agent = slow(&gate).await;
    let mut took = Vec::new();
    for wave in 0..WAVES * scale() {
        let (told, cut): (Vec<_>, Vec<_>) =
            samples(&h, wave, &agent.url()).await.into_iter().partition(|sample| sample.notice == Notice::Given);
        for samples in [told, cut] {
            took.extend(measure(&h, &other, samples).await);
        }
    }
    let met = report(&took);
    gate.open();
    let (Ok(other), Ok(h)) = (Arc::try_unwrap(other), Arc::try_unwrap(h)) else { panic!("somebody holds a gateway") };
    other.finish().await;
    h.stop_only().await;
    met
}

/// An agent whose streams begin, each with a task of its own, and do not end.
async fn slow(gate: &Gate) -> Scripted {
    let (waits, made) = (gate.clone(), AtomicUsize::new(0));
    let script = Script::by(move |_| {
        let id = made.fetch_add(1, Ordering::Relaxed);
        let task =
            format!(r#"{{"task":{{"id":"t{id}","contextId":"c{id}","status":{{"state":"TASK_STATE_WORKING"}}}}}}"#);
        Reply::sse().event(task).wait(&waits).end()
    });
    Scripted::start(script).await.unwrap()
}

/// Those of one wave, in an order in which the kinds take turns.
async fn samples(h: &Harness, wave: usize, slow: &str) -> Vec<Sample> {
    let shared = format!("w{wave}");
    let echo = h.agents.echo_url.clone();
    let make = async |name: &str| {
        let tenant = h.tenant(name).await;
        h.card(name, "echo", &echo, "v10_jsonrpc").await;
        h.card(name, "slow", slow, "v10_http_json").await;
        tenant
    };
    let of_all = make(&shared).await;
    let mut samples = Vec::new();
    for number in 0..WAVE {
        for (kind, kind_name) in KINDS {
            for (notice, notice_name) in [(Notice::Given, "told"), (Notice::Cut, "cut")] {
                let name = format!("{kind_name}-{notice_name}-{number}");
                let tenant = match kind {
                    Kind::Key | Kind::Grant => of_all.clone(),
                    Kind::Tenant => make(&format!("w{wave}-{name}")).await,
                };
                let principal_id = h.principal(tenant.as_str(), &name).await;
                let (key_id, key) = h.key(tenant.as_str(), &principal_id, None).await;
                let document = serde_json::json!({"cards": ["*"], "operations": ["*"]});
                let grant = h.grant(tenant.as_str(), &principal_id, &document).await;
                samples.push(Sample { kind, notice, tenant, caller: Caller { principal_id, key_id, key }, grant });
            }
        }
    }
    samples
}

/// Several at once, each beginning where one has ended.
async fn measure(h: &Arc<Harness>, other: &Arc<Replica>, samples: Vec<Sample>) -> Vec<Took> {
    let clients = [Client::new(h.public), Client::new(other.public)];
    let (mut running, mut took) = (JoinSet::new(), Vec::new());
    for sample in samples {
        if running.len() == AT_ONCE {
            took.extend(running.join_next().await.map(Result::unwrap));
        }
        let (h, other, clients) = (Arc::clone(h), Arc::clone(other), clients.clone());
        running.spawn(async move { one(&h, &other, &clients, &sample).await });
    }
    took.extend(running.join_all().await);
    took
}

async fn one(h: &Harness, other: &Replica, clients: &[Client; 2], sample: &Sample) -> Took {
    let path = format!("/a2a/{}/echo", sample.tenant.as_str());
    let served = std::sync::Mutex::new(Vec::new());
    for client in clients {
        let began = Instant::now();
        while works(client, &path, &sample.caller.key).await.is_none() {
            assert!(began.elapsed() < DEADLINE, "it never worked");
            tokio::time::sleep(LOOK).await;
        }
    }
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{}}}"#, says("hi"));
    let ask = Ask::post(&format!("/a2a/{}/slow", sample.tenant.as_str())).key(&sample.caller.key).v10().json(&body);
    let mut live = Live::open(other.public, &ask.bytes()).await;
    assert!(live.event().await.is_some_and(|first| first.name.is_none()), "the stream has begun");
    let began = Instant::now();
    let stopped = async |client: &Client| {
        while let Some(took) = works(client, &path, &sample.caller.key).await {
            served.lock().unwrap().push(took);
            assert!(began.elapsed() < DEADLINE, "it works still");
            tokio::time::sleep(LOOK).await;
        }
        began.elapsed()
    };
    let ended = async {
        while live.event().await.is_some() {}
        began.elapsed()
    };
    let ((), here, there, stream) = tokio::join!(revoke(h, sample), stopped(&clients[0]), stopped(&clients[1]), ended);
    let served = served.into_inner().unwrap();
    Took { kind: sample.kind, notice: sample.notice, calls: here.max(there), stream, served }
}

/// How long a call takes, if it is served.
async fn works(client: &Client, path: &str, key: &str) -> Option<Duration> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#, says("hi"));
    let (status, took) = client.ask(key, path, Some(body)).await;
    (status == 200).then_some(took)
}

async fn revoke(h: &Harness, sample: &Sample) {
    let (Sample { tenant, caller, grant, .. }, now) = (sample, h.now());
    let store = h.store();
    let (table, set, which) = match (sample.kind, sample.notice) {
        (Kind::Key, Notice::Given) => return store.revoke_key(tenant, &caller.key_id, now).await.map(drop).unwrap(),
        (Kind::Grant, Notice::Given) => {
            return store.delete_grant(tenant, grant, IfMatch::Any, now).await.map(drop).unwrap();
        }
        (Kind::Tenant, Notice::Given) => {
            return store.delete_tenant(tenant, IfMatch::Any, now).await.map(drop).unwrap();
        }
        (Kind::Key, Notice::Cut) => ("keys", "revoked = 1", format!("id = '{}' RETURNING id, tenant", caller.key_id)),
        (Kind::Grant, Notice::Cut) => ("grants", "deleted = 1", format!("name = '{grant}' RETURNING id, tenant")),
        (Kind::Tenant, Notice::Cut) => {
            ("tenants", "deleted = 1", format!("name = '{}' RETURNING name AS id, name AS tenant", tenant.as_str()))
        }
    };
    let kind = table.trim_end_matches('s');
    let statement = format!(
        "WITH next AS (UPDATE revision SET value = value + 1 WHERE id = 1 RETURNING value),
            lost AS (UPDATE {table} SET {set} WHERE {which})
         INSERT INTO changes (revision, tenant, kind, id)
            SELECT next.value, lost.tenant, '{kind}', lost.id FROM next, lost"
    );
    // Past the store, which tells of everything; a statement lives as long as the program.
    h.execute(statement.leak()).await;
}

fn report(took: &[Took]) -> bool {
    println!(
        "| revoked | samples | calls refused on both: p50, ms | p99 | max | its stream elsewhere ended: p50 | p99 | max | |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut all = true;
    for ((notice, how), promised) in NOTICES.into_iter().zip(PROMISED) {
        for (kind, what) in KINDS {
            let of: Vec<&Took> = took.iter().filter(|one| one.kind == kind && one.notice == notice).collect();
            let mut calls: Vec<Duration> = of.iter().map(|one| one.calls).collect();
            let mut streams: Vec<Duration> = of.iter().map(|one| one.stream).collect();
            let met = permille(&mut calls, 990).max(permille(&mut streams, 990)) <= promised;
            all &= met;
            let told = |times: &mut Vec<Duration>| {
                [500, 990, 1000].map(|of| format!("{:.1}", permille(times, of).as_secs_f64() * 1e3)).join(" | ")
            };
            let (calls, streams) = (told(&mut calls), told(&mut streams));
            let limit = promised.as_secs();
            println!("| {what}, {how} | {} | {calls} | {streams} | ≤ {limit} s: {} |", of.len(), verdict(met));
        }
    }
    let mut served: Vec<Duration> = took.iter().flat_map(|one| one.served.iter().copied()).collect();
    let [half, most] = [500, 990].map(|of| permille(&mut served, of).as_secs_f64() * 1e3);
    println!("Meanwhile a call that was served took {half:.1} ms (p50), {most:.1} ms (p99).");
    all
}
