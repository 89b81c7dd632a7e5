//! Tasks in a database: what the agent answered is there, and there after a restart.

use std::sync::Arc;
use std::time::Duration;

use a2a::TaskState;
use a2a_agent::push::{PushSettings, Reach};
use a2a_agent::store::{MemoryStore, Place, PushKey, SqlStore, TaskQuery, TaskRecord};
use a2a_agent::{Bounds, Outcome, Push, Server, Step, TaskStore, Turn, part};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use json::Json;
use sqlx::Connection as _;

use crate::push::{Hook, quick};
use crate::{agent, hi, next, request, state, whole};

const DAY: Duration = Duration::from_hours(24);

#[expect(clippy::disallowed_methods, reason = "the tests' own setting")]
fn postgres() -> Option<String> {
    std::env::var("TEST_POSTGRES_URL").ok()
}

/// The databases there are: SQLite always, PostgreSQL where `TEST_POSTGRES_URL` names a server.
async fn stores(agent: &str) -> Vec<SqlStore> {
    let mut stores = vec![SqlStore::open("sqlite::memory:", agent, DAY).await.unwrap()];
    if let Some(url) = postgres() {
        let agent = format!("{agent}-{}", ulid::Ulid::generate());
        stores.push(SqlStore::open(&url, &agent, DAY).await.unwrap());
    }
    stores
}

fn record(id: &str, owner: &str, state: TaskState, updated: i64) -> TaskRecord {
    TaskRecord {
        id: id.to_owned(),
        owner: owner.to_owned(),
        context: format!("c-{}", updated % 2),
        state,
        updated,
        version: updated,
        document: Json::from([("id", Json::from(id)), ("status", [("state", state.name())].into())]),
        push: Vec::new().into(),
    }
}

#[tokio::test]
async fn agents_that_start_at_the_same_time_share_the_table() {
    let Some(url) = postgres() else { return };
    // A schema of its own, so that the table is not there yet.
    let schema = format!("s{}", ulid::Ulid::generate().to_string().to_lowercase());
    let mut admin = sqlx::postgres::PgConnection::connect(&url).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&mut admin).await.unwrap();
    let url = format!("{url}?options=-c%20search_path%3D{schema}");
    let mut starting = tokio::task::JoinSet::new();
    for number in 0..8 {
        let url = url.clone();
        starting.spawn(async move { SqlStore::open(&url, &format!("agent-{number}"), DAY).await.map(drop) });
    }
    for opened in starting.join_all().await {
        opened.unwrap();
    }
}

#[tokio::test]
async fn pages_hold_an_owners_tasks_newest_first() {
    for store in stores("pages").await {
        for at in 1..=5 {
            let state = if at == 3 { TaskState::Failed } else { TaskState::Completed };
            store.save(record(&format!("t{at}"), "o", state, at)).await.unwrap();
        }
        store.save(record("other", "p", TaskState::Completed, 9)).await.unwrap();
        let ids = async |query: TaskQuery| {
            let page = store.page("o", &query).await.unwrap();
            let ids: Vec<String> = page.records.iter().map(|record| record.id.clone()).collect();
            (ids.join(" "), page.total, page.more)
        };
        let query = TaskQuery { size: 2, ..TaskQuery::default() };
        assert_eq!(ids(query.clone()).await, ("t5 t4".to_owned(), 5, true));
        let after = |at: i64| Some(Place { updated: at, id: format!("t{at}") });
        assert_eq!(ids(TaskQuery { after: after(4), ..query.clone() }).await, ("t3 t2".to_owned(), 5, true));
        assert_eq!(ids(TaskQuery { after: after(2), ..query.clone() }).await, ("t1".to_owned(), 5, false));
        let failed = TaskQuery { state: Some(TaskState::Failed), ..query.clone() };
        assert_eq!(ids(failed).await, ("t3".to_owned(), 1, false));
        let even = TaskQuery { context: Some("c-0".to_owned()), since: Some(3), ..query };
        assert_eq!(ids(even).await, ("t4".to_owned(), 1, false));
    }
}

#[tokio::test]
async fn owners_are_apart_old_versions_lose_and_old_tasks_go() {
    for store in stores("owners").await {
        store.save(record("t", "o", TaskState::Completed, 5)).await.unwrap();
        store.save(record("t", "o", TaskState::Working, 4)).await.unwrap();
        assert_eq!(store.load("o", "t").await.unwrap().unwrap().state, TaskState::Completed);
        assert_eq!(store.load("p", "t").await.unwrap(), None);
        store.save(record("busy", "o", TaskState::Working, 5)).await.unwrap();
        let later = i64::try_from(DAY.as_micros()).unwrap() + 6;
        store.make_room("o", later).await.unwrap();
        assert_eq!(store.load("o", "t").await.unwrap(), None);
        assert!(store.load("o", "busy").await.unwrap().is_some());
    }
}

/// Completes at once, or asks first.
fn server(store: &SqlStore) -> Server {
    let work = |turn: Turn| async move {
        match turn.metadata("ask") {
            Some(_) => Outcome::InputRequired("and?".to_owned()),
            None => Outcome::artifact("done", turn.parts()),
        }
    };
    agent().store(Arc::new(store.clone())).on_message(work).into_server()
}

async fn send(server: &Server, more: &str) -> Json {
    let body = format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}]{more}}}}}"#);
    whole(server.answer(request("/message:send", &body)).await).await
}

async fn get(server: &Server, path: &str) -> Json {
    let request = Request::get(format!("/t{path}")).header("a2a-version", "1.0").body(Full::<Bytes>::default());
    whole(server.answer(request.unwrap()).await).await
}

#[tokio::test]
async fn a_restarted_agent_goes_on_with_its_tasks() {
    for store in stores("restart").await {
        let first = server(&store);
        let asked = send(&first, r#","metadata":{"ask":1}"#).await;
        let id = state(&asked, "/task/id");
        drop(first);
        let second = server(&store);
        assert_eq!(&get(&second, &format!("/tasks/{id}")).await, asked.get("task").unwrap());
        let done = send(&second, &format!(r#","taskId":"{id}""#)).await;
        assert_eq!(state(&done, "/task/status/state"), "TASK_STATE_COMPLETED");
        assert_eq!(done.pointer("/task/history").unwrap().as_array().unwrap().len(), 2);
        let listed = get(&second, "/tasks").await;
        assert_eq!((listed.get("totalSize"), state(&listed, "/tasks/0/id")), (Some(&1.into()), id));
    }
}

#[tokio::test]
async fn what_was_at_work_when_the_agent_ended_is_failed() {
    for store in stores("unfinished").await {
        let server = agent().store(Arc::new(store.clone())).on_message(|_| std::future::pending()).into_server();
        let body = hi(r#","configuration":{"returnImmediately":true}"#);
        let sent = whole(server.answer(request("/message:send", &body)).await).await;
        assert_eq!(store.fail_unfinished("the agent was restarted").await.unwrap(), 1);
        let restarted = agent().store(Arc::new(store)).into_server();
        let task = get(&restarted, &format!("/tasks/{}", state(&sent, "/task/id"))).await;
        assert_eq!(state(&task, "/status/state"), "TASK_STATE_FAILED");
        assert_eq!(state(&task, "/status/message/parts/0/text"), "the agent was restarted");
    }
}

/// A store in a file, sealed or not, and the file's bytes with what SQLite has beside it.
async fn in_file(folder: &std::path::Path, key: Option<&PushKey>) -> SqlStore {
    let store = SqlStore::open(&format!("sqlite://{}/tasks.db", folder.display()), "a", DAY).await.unwrap();
    match key {
        Some(key) => store.sealed_with(key.clone()),
        None => store,
    }
}

fn bytes_of(folder: &std::path::Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
    files.flatten().collect()
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn the_database_does_not_hold_webhook_credentials() {
    let key = PushKey::new(&[7; 32]).unwrap();
    for key in [Some(&key), None] {
        let folder = tempfile::tempdir().unwrap();
        let push = || Push::new(PushSettings::default()).unwrap();
        let work = |_: Turn| async { Outcome::InputRequired("and?".to_owned()) };
        let store = in_file(folder.path(), key).await;
        let server = agent().store(Arc::new(store)).push(push()).on_message(work).into_server();
        let id = state(&send(&server, "").await, "/task/id");
        let path = format!("/tasks/{id}/pushNotificationConfigs");
        let configs = [
            r#"{"id":"c","url":"https://hooks.example/c","authentication":{"scheme":"Bearer","credentials":"cred-canary"}}"#,
            r#"{"id":"t","url":"https://hooks.example/t","token":"token-canary"}"#,
            r#"{"id":"o","url":"https://hooks.example/o"}"#,
        ];
        for config in configs {
            let made = whole(server.answer(request(&path, config)).await).await;
            assert!(!String::from_utf8(json::write(&made)).unwrap().contains("cred-canary"), "{made:?}");
        }
        let bytes = bytes_of(folder.path());
        assert!(has(&bytes, &id), "the task is there");
        assert!(!has(&bytes, "cred-canary") && !has(&bytes, "token-canary"));
        drop(server);
        // What is there after a restart: everything with the key, what has no secret without one.
        let store = in_file(folder.path(), key).await;
        let kept = store.load("", &id).await.unwrap().unwrap().push;
        let kept = String::from_utf8(json::write(&kept)).unwrap();
        assert_eq!((kept.contains("cred-canary"), kept.contains("token-canary")), (key.is_some(), key.is_some()));
        assert!(kept.contains("https://hooks.example/o"), "{kept}");
        let server = agent().store(Arc::new(store)).push(push()).on_message(work).into_server();
        let listed = get(&server, &path).await;
        assert_eq!(listed.get("configs").unwrap().as_array().unwrap().len(), if key.is_some() { 3 } else { 1 });
        assert!(!String::from_utf8(json::write(&listed)).unwrap().contains("cred-canary"), "{listed:?}");
    }
}

#[tokio::test]
async fn credentials_that_an_earlier_version_wrote_down_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = in_file(folder.path(), None).await;
    store.save(record("t", "o", TaskState::InputRequired, 1)).await.unwrap();
    let url = format!("sqlite://{}/tasks.db", folder.path().display());
    let mut earlier = sqlx::sqlite::SqliteConnection::connect(&url).await.unwrap();
    let clear = r#"[{"id":"c","url":"https://hooks.example/","credentials":"cred-canary"}]"#;
    let update = sqlx::query("UPDATE a2a_tasks SET push = $1").bind(clear).execute(&mut earlier).await.unwrap();
    assert_eq!(update.rows_affected(), 1);
    earlier.close().await.unwrap();
    assert!(has(&bytes_of(folder.path()), "cred-canary"));
    assert!(store.load("o", "t").await.unwrap().unwrap().push.pointer("/0/credentials").is_some());
    let opened = in_file(folder.path(), None).await;
    assert_eq!(opened.load("o", "t").await.unwrap().unwrap().push, Vec::new().into());
    assert!(!has(&bytes_of(folder.path()), "cred-canary"));
}

#[tokio::test]
async fn each_piece_of_an_artifact_is_kept_when_it_is_told() {
    let mut kept: Vec<(Arc<dyn TaskStore>, Option<SqlStore>)> =
        vec![(Arc::new(MemoryStore::new(Bounds::default())), None)];
    kept.extend(
        stores("pieces").await.into_iter().map(|store| (Arc::new(store.clone()) as Arc<dyn TaskStore>, Some(store))),
    );
    for (store, database) in kept {
        let (step, steps) = tokio::sync::mpsc::channel::<()>(1);
        let steps = Arc::new(tokio::sync::Mutex::new(steps));
        let work = move |turn: Turn| {
            let steps = Arc::clone(&steps);
            async move {
                let mut artifact = turn.start().open_artifact("story");
                while steps.lock().await.recv().await.is_some() {
                    artifact.push([part::text("piece")]);
                }
                artifact.close([part::text("end")]);
                Outcome::Completed(Vec::new())
            }
        };
        let server = agent().store(store).on_message(work).into_server();
        let mut stream = server.answer(request("/message:stream", &hi(""))).await.into_body();
        let id = state(&next(&mut stream).await.unwrap(), "/task/id");
        next(&mut stream).await.unwrap();
        for told in 1..=3 {
            step.send(()).await.unwrap();
            let piece = next(&mut stream).await.unwrap();
            assert_eq!(state(&piece, "/artifactUpdate/artifact/parts/0/text"), "piece");
            let parts =
                |task: &Json| task.pointer("/artifacts/0/parts").and_then(Json::as_array).map_or(0, <[Json]>::len);
            assert_eq!(parts(&get(&server, &format!("/tasks/{id}")).await), told);
            let mut follower = server.answer(request(&format!("/tasks/{id}:subscribe"), "")).await.into_body();
            assert_eq!(parts(next(&mut follower).await.unwrap().get("task").unwrap()), told);
            let listed = get(&server, "/tasks?includeArtifacts=true").await;
            assert_eq!(parts(listed.pointer("/tasks/0").unwrap()), told);
            // Another process on the same database sees it as well: the list above has waited for the save.
            if let Some(database) = &database {
                let other = agent().store(Arc::new(database.clone())).into_server();
                assert_eq!(parts(&get(&other, &format!("/tasks/{id}")).await), told);
            }
        }
        drop(step);
        while next(&mut stream).await.is_some() {}
    }
}

#[tokio::test]
async fn a_webhook_that_was_registered_under_other_rules_is_refused_when_it_is_called() {
    let mut hook = Hook::start(&[]).await;
    for store in stores("rules").await {
        let work = |turn: Turn| async move {
            match turn.step() {
                Step::First => Outcome::InputRequired("and?".to_owned()),
                Step::FollowUp => Outcome::artifact("done", turn.parts()),
            }
        };
        let with = |reach: Reach| {
            let push = Push::new(PushSettings { reach, ..quick() }).unwrap();
            agent().store(Arc::new(store.clone())).push(push).on_message(work).into_server()
        };
        let first = with(Reach::Rules);
        let id = state(&send(&first, "").await, "/task/id");
        let path = format!("/tasks/{id}/pushNotificationConfigs");
        let config = format!(r#"{{"id":"c","url":"{}"}}"#, hook.url());
        assert_eq!(first.answer(request(&path, &config)).await.status(), 200);
        let second = with(Reach::Hosts(vec![("hooks.example".to_owned(), None)]));
        let done = send(&second, &format!(r#","taskId":"{id}""#)).await;
        assert_eq!(state(&done, "/task/status/state"), "TASK_STATE_COMPLETED");
        second.drain().await;
        assert!(hook.is_quiet());
    }
}
