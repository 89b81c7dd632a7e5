//! What tasks do by themselves.

use a2a::{Call, OperationKind, Version};

use super::*;
use crate::part::{self, Artifact};
use crate::store::{Bounds, MemoryStore};
use crate::task::Piece;

/// A clock that stands still, so that only the tasks' own order decides.
fn standing() -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH
}

fn tasks() -> Arc<Tasks> {
    let bounds = Bounds { tasks: 10, ..Bounds::default() };
    Tasks::new(standing, Arc::new(MemoryStore::new(bounds)), bounds.idle, None)
}

fn caller() -> Caller {
    Caller::unknown("somebody")
}

fn message() -> Object {
    Object::from([
        ("messageId", Json::from("m")),
        ("role", "ROLE_USER".into()),
        ("parts", vec![part::text("hi")].into()),
    ])
}

fn create(tasks: &Arc<Tasks>) -> Subscription {
    tasks.create(Task::new(caller().scope(), None, CancellationToken::new()), message(), View::WHOLE)
}

fn finish(tasks: &Arc<Tasks>, id: &str) {
    tasks.change(id, |task, now| {
        task.busy = false;
        task.become_state(TaskState::Completed, None, now);
    });
}

async fn list(tasks: &Arc<Tasks>, params: impl Into<Object>) -> Json {
    let call = Call { kind: OperationKind::ListTasks, params: params.into(), origin: Version::V10 };
    tasks.list(&caller(), &ListQuery::of(&call).unwrap()).await.unwrap()
}

fn ids(page: &Json) -> Vec<String> {
    let tasks = page.get("tasks").and_then(Json::as_array).unwrap();
    tasks.iter().map(|task| task.get("id").and_then(Json::as_str).unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_are_newest_first_and_together_hold_every_task_once() {
    let tasks = tasks();
    let mut made: Vec<String> = (0..5).map(|_| create(&tasks).task_id().to_owned()).collect();
    finish(&tasks, &made[0]);
    let finished = made.remove(0);
    made.push(finished);
    made.reverse();
    let (mut seen, mut token) = (Vec::new(), Json::from(""));
    for size in [2, 2, 1] {
        let page = list(&tasks, [("pageSize", Json::from(2)), ("pageToken", token)]).await;
        assert_eq!((ids(&page).len(), page.get("totalSize")), (size, Some(&Json::from(5))));
        seen.extend(ids(&page));
        token = page.get("nextPageToken").unwrap().clone();
    }
    assert_eq!((seen, token), (made.clone(), "".into()));
    assert_eq!(ids(&list(&tasks, [("status", "TASK_STATE_COMPLETED")]).await), made[..1]);
}

#[tokio::test]
async fn list_queries_out_of_range_are_refused() {
    for (key, value) in [
        ("pageSize", Json::from(0)),
        ("pageSize", 101.into()),
        ("pageSize", "many".into()),
        ("pageToken", "x".into()),
        ("status", "DONE".into()),
        ("historyLength", (-1).into()),
        ("includeArtifacts", "yes".into()),
        ("statusTimestampAfter", "2026-01-01T00:00:00".into()),
    ] {
        let call = Call { kind: OperationKind::ListTasks, params: [(key, value)].into(), origin: Version::V10 };
        assert_eq!(ListQuery::of(&call).unwrap_err().kind, FaultKind::InvalidParams, "{key}");
    }
}

#[tokio::test]
async fn a_listener_that_falls_behind_gets_the_whole_task_and_then_the_rest() {
    let tasks = tasks();
    for finished_meanwhile in [false, true] {
        let mut subscription = create(&tasks);
        let id = subscription.task_id().to_owned();
        assert!(subscription.next().await.unwrap().get("task").is_some());
        for at in 0..300 {
            let piece = if at == 0 { Piece::First } else { Piece::More };
            tasks.change(&id, |task, _| task.make("a", Artifact::new("long", [part::text(at.to_string())]), piece));
        }
        if finished_meanwhile {
            finish(&tasks, &id);
        }
        let caught_up = subscription.next().await.unwrap();
        assert_eq!(caught_up.pointer("/task/artifacts/0/parts").unwrap().as_array().unwrap().len(), 300);
        if !finished_meanwhile {
            finish(&tasks, &id);
            assert_eq!(
                subscription.next().await.unwrap().pointer("/statusUpdate/status/state"),
                Some(&"TASK_STATE_COMPLETED".into())
            );
        }
        assert_eq!(subscription.next().await, None);
    }
}

#[tokio::test]
async fn a_finished_task_never_changes() {
    let tasks = tasks();
    let subscription = create(&tasks);
    let id = subscription.task_id();
    finish(&tasks, id);
    let finished = tasks.document(&caller(), id, View::WHOLE).await.unwrap();
    tasks.change(id, |task, now| {
        task.make("a", Artifact::new("late", [part::text("late")]), Piece::Whole);
        assert!(!task.become_state(TaskState::Working, None, now));
    });
    assert_eq!(tasks.document(&caller(), id, View::WHOLE).await.unwrap(), finished);
    assert_eq!(tasks.cancel(&caller(), id).await.unwrap_err().kind, FaultKind::TaskNotCancelable);
    let followed = tasks.subscribe(&caller(), id, View::WHOLE).await;
    assert_eq!(followed.unwrap_err().kind, FaultKind::UnsupportedOperation);
    let further = Further { message: message(), cancel: CancellationToken::new(), push: None };
    let resumed = tasks.resume(&caller(), id, further, View::WHOLE).await;
    assert_eq!(resumed.unwrap_err().kind, FaultKind::UnsupportedOperation);
}

#[tokio::test]
async fn tasks_at_rest_are_in_the_store_alone_and_come_back() {
    let tasks = tasks();
    let id = create(&tasks).task_id().to_owned();
    tasks.change(&id, |task, now| {
        task.make("a", Artifact::new("kept", [part::text("kept")]), Piece::Whole);
        task.busy = false;
        task.become_state(TaskState::InputRequired, Some("and?"), now);
    });
    assert!(tasks.live().tasks.is_empty());
    let resting = tasks.document(&caller(), &id, View::WHOLE).await.unwrap();
    assert_eq!(resting.pointer("/status/message/parts/0/text"), Some(&"and?".into()));
    let further = Further { message: message(), cancel: CancellationToken::new(), push: None };
    let mut subscription = tasks.resume(&caller(), &id, further, View::WHOLE).await.unwrap();
    let opening = subscription.next().await.unwrap();
    assert_eq!(opening.pointer("/task/status/state"), Some(&"TASK_STATE_WORKING".into()));
    assert_eq!(opening.pointer("/task/artifacts/0/name"), Some(&"kept".into()));
    assert_eq!(opening.pointer("/task/history").unwrap().as_array().unwrap().len(), 2);
    finish(&tasks, &id);
    assert!(tasks.live().tasks.is_empty());
}

#[tokio::test]
async fn a_task_of_another_caller_is_a_missing_one() {
    let tasks = tasks();
    let living = create(&tasks).task_id().to_owned();
    let resting = create(&tasks).task_id().to_owned();
    finish(&tasks, &resting);
    let other = Caller::proven("somebody");
    for id in [&living, &resting] {
        let missing = [
            tasks.document(&other, id, View::WHOLE).await.unwrap_err(),
            tasks.cancel(&other, id).await.unwrap_err(),
            tasks.subscribe(&other, id, View::WHOLE).await.unwrap_err(),
        ];
        assert_eq!(missing, [const { FaultKind::TaskNotFound }; 3].map(Fault::from));
        assert!(tasks.document(&caller(), id, View::WHOLE).await.is_ok());
    }
    let listed = tasks
        .list(
            &other,
            &ListQuery::of(&Call { kind: OperationKind::ListTasks, params: Object::new(), origin: Version::V10 })
                .unwrap(),
        )
        .await
        .unwrap();
    assert_eq!((ids(&listed).len(), listed.get("totalSize")), (0, Some(&0.into())));
}

#[tokio::test]
async fn the_seventeenth_listener_is_refused() {
    let tasks = tasks();
    let first = create(&tasks);
    let mut more = Vec::new();
    for _ in 1..STREAM_LIMIT {
        more.push(tasks.subscribe(&caller(), first.task_id(), View::WHOLE).await.unwrap());
    }
    let refused = tasks.subscribe(&caller(), first.task_id(), View::WHOLE).await;
    assert_eq!(refused.unwrap_err().kind, FaultKind::Overloaded);
    drop(more);
    assert!(tasks.subscribe(&caller(), first.task_id(), View::WHOLE).await.is_ok());
}
