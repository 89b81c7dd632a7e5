//! Tasks in a database: what the agent answered is there, and there after a restart.

use std::sync::Arc;
use std::time::Duration;

use a2a::TaskState;
use a2a_agent::store::{Place, SqlStore, TaskQuery, TaskRecord};
use a2a_agent::{Outcome, Server, TaskStore, Turn};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use json::Json;
use sqlx::Connection as _;

use crate::{agent, hi, request, state, whole};

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
