//! Tasks that a tenant keeps for so many days only.

use crate::harness::{Db, Harness};
use crate::rig::says;
use crate::wire::{Ask, Heard};
use chancery::clock::Clock;
use chancery::pipeline::owner::expiry;
use sample_agents::hostile::{Reply, Script, Scripted};
use tokio_util::sync::CancellationToken;

const HOUR: i64 = 3_600_000_000;
/// What is claimed is in the store, however busy the machine is.
const PATIENT: [(&str, &str); 1] = [("CHANCERY__LIMITS__OWNERSHIP_WAIT", "10s")];

/// An agent that has one task `t1` for whoever asks, and lists it to everybody.
async fn agent() -> Scripted {
    Scripted::start(Script::by(|request| {
        let task = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}"#;
        match (request.method(), request.path()) {
            ("GET", path) if path.ends_with("/tasks") => {
                Reply::json(200, format!(r#"{{"tasks":[{task}],"totalSize":1,"pageSize":100,"nextPageToken":""}}"#))
            }
            ("GET", _) => Reply::json(200, task),
            (_, _) => Reply::json(200, format!(r#"{{"task":{task}}}"#)),
        }
    }))
    .await
    .unwrap()
}

async fn ask(h: &Harness, key: &str, method: &str, path: &str) -> Heard {
    h.expect_records(1);
    let ask = Ask::new(method, &format!("/a2a/acme/echo/{path}")).key(key).v10();
    let ask = if method == "POST" { ask.json(&says("hi")) } else { ask };
    crate::wire::exchange(h.public, &ask.bytes()).await
}

async fn expires(db: Db) {
    let Some(h) = Harness::start_with(db, Clock::manual(1_800_000_000_000_000), &PATIENT).await else { return };
    let agent = agent().await;
    let acme = h.tenant("acme").await;
    h.change_tenant("acme", |fields| fields.settings = br#"{"task_retention_days":2}"#.to_vec()).await;
    let card = h.card("acme", "echo", &agent.url(), "v10_http_json").await;
    let ann = h.caller("acme", "ann", &["*"], &["*"]).await;
    let bob = h.caller("acme", "bob", &["*"], &["*"]).await;
    assert_eq!(ask(&h, &ann.key, "POST", "message:send").await.status, 200);
    // The task is over; whose it was is still known, for as long as the tenant says.
    h.app.clock.advance(47 * HOUR);
    assert_eq!(ask(&h, &ann.key, "GET", "tasks/t1").await.status, 200);
    assert_eq!(ask(&h, &ann.key, "GET", "tasks").await.at("/totalSize"), "1");
    assert_eq!(ask(&h, &bob.key, "GET", "tasks/t1").await.status, 404);

    h.app.clock.advance(2 * HOUR);
    let asked = agent.requests().len();
    let (expired, missing) = (ask(&h, &ann.key, "GET", "tasks/t1").await, ask(&h, &ann.key, "GET", "tasks/t9").await);
    assert_eq!((expired.status, &expired.body), (404, &missing.body));
    assert_eq!(agent.requests().len(), asked);
    assert_eq!(ask(&h, &ann.key, "GET", "tasks").await.at("/totalSize"), "0");
    // Nobody else can have the id as long as the row is there.
    assert_eq!(ask(&h, &bob.key, "POST", "message:send").await.status, 500);
    let (stop, now) = (CancellationToken::new(), h.now());
    assert_eq!(expiry::sweep(h.store(), &h.app.registry.snapshot(), now, &stop).await, Ok(2));
    assert_eq!(h.store().task_owner(&acme, &card, "t1").await, Ok(None));
    assert_eq!(expiry::sweep(h.store(), &h.app.registry.snapshot(), now, &stop).await, Ok(0));
    assert_eq!(ask(&h, &bob.key, "POST", "message:send").await.status, 200);
    assert_eq!(ask(&h, &bob.key, "GET", "tasks/t1").await.status, 200);
    assert_eq!(ask(&h, &ann.key, "GET", "tasks/t1").await.status, 404);
    h.finish().await;
}

#[tokio::test]
async fn a_task_is_missing_when_its_time_is_over_on_sqlite() {
    expires(Db::Sqlite).await;
}

#[tokio::test]
async fn a_task_is_missing_when_its_time_is_over_on_postgres() {
    expires(Db::Postgres).await;
}
