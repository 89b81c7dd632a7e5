//! Values as they may be said: parameters, results and events in the shapes of 1.0.

use crate::wire::read;
use a2a::OperationKind;
use json::{Json, Object};
use proptest::{collection::vec, option, prelude::*, sample::select};

pub(crate) fn id() -> impl Strategy<Value = Json> {
    "[A-Za-z0-9_:-]{1,12}".prop_map(Json::from)
}

pub(crate) fn any_text() -> impl Strategy<Value = Json> {
    "\\PC{0,12}".prop_map(Json::from)
}

/// Any value, as it may stand inside `metadata` and `data`.
pub(crate) fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        select(vec!["1.50", "1e3", "12345678901234567890", "-0.0"]).prop_map(|text| read(text.as_bytes())),
        any_text(),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::from),
            vec(("[a-zA-Z_]{1,6}", inner), 0..3).prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

pub(crate) fn metadata() -> impl Strategy<Value = Json> {
    vec(("[a-z]{1,6}", any_json()), 1..3).prop_map(|members| Json::Object(members.into_iter().collect()))
}

/// An object of the given members, some of them left out.
pub(crate) fn object(members: Vec<(&'static str, BoxedStrategy<Option<Json>>)>) -> BoxedStrategy<Json> {
    members
        .into_iter()
        .fold(Just(Object::new()).boxed(), |object, (key, value)| {
            (object, value)
                .prop_map(move |(mut object, value)| {
                    if let Some(value) = value {
                        object.insert(key, value);
                    }
                    object
                })
                .boxed()
        })
        .prop_map(Json::Object)
        .boxed()
}

pub(crate) fn always(value: impl Strategy<Value = Json> + 'static) -> BoxedStrategy<Option<Json>> {
    value.prop_map(Some).boxed()
}

pub(crate) fn maybe(value: impl Strategy<Value = Json> + 'static) -> BoxedStrategy<Option<Json>> {
    option::of(value).boxed()
}

pub(crate) fn part() -> BoxedStrategy<Json> {
    let name = || maybe("[a-z]{1,6}\\.[a-z]{3}".prop_map(Json::from));
    let media = || maybe(select(vec!["text/markdown", "image/png"]).prop_map(Json::from));
    prop_oneof![
        object(vec![
            ("text", always(any_text())),
            ("filename", name()),
            ("mediaType", media()),
            ("metadata", maybe(metadata()))
        ]),
        object(vec![
            ("raw", always(Just(Json::from("aGk=")))),
            ("filename", name()),
            ("mediaType", media()),
            ("metadata", maybe(metadata()))
        ]),
        object(vec![
            ("url", always(Just(Json::from("https://x.test/f")))),
            ("filename", name()),
            ("mediaType", media())
        ]),
        object(vec![("data", always(any_json())), ("mediaType", media()), ("metadata", maybe(metadata()))]),
    ]
    .boxed()
}

pub(crate) fn message() -> BoxedStrategy<Json> {
    object(vec![
        ("messageId", always(id())),
        ("contextId", maybe(id())),
        ("taskId", maybe(id())),
        ("role", always(select(vec!["ROLE_USER", "ROLE_AGENT"]).prop_map(Json::from))),
        ("parts", always(vec(part(), 1..4).prop_map(Json::from))),
        ("metadata", maybe(metadata())),
        ("extensions", maybe(vec(Just(Json::from("https://ext.test/x")), 1..3).prop_map(Json::from))),
        ("referenceTaskIds", maybe(vec(id(), 1..3).prop_map(Json::from))),
    ])
}

pub(crate) fn state() -> impl Strategy<Value = Json> {
    select(a2a::TaskState::ALL.to_vec()).prop_map(|state| Json::from(state.name()))
}

pub(crate) fn status() -> BoxedStrategy<Json> {
    object(vec![
        ("state", always(state())),
        ("message", maybe(message())),
        ("timestamp", maybe(Just(Json::from("2026-01-02T03:04:05.123456Z")))),
    ])
}

pub(crate) fn artifact() -> BoxedStrategy<Json> {
    object(vec![
        ("artifactId", always(id())),
        ("name", maybe(any_text())),
        ("parts", always(vec(part(), 1..3).prop_map(Json::from))),
        ("metadata", maybe(metadata())),
    ])
}

pub(crate) fn task() -> BoxedStrategy<Json> {
    object(vec![
        ("id", always(id())),
        ("contextId", always(id())),
        ("status", always(status())),
        ("artifacts", maybe(vec(artifact(), 1..3).prop_map(Json::from))),
        ("history", maybe(vec(message(), 1..3).prop_map(Json::from))),
        ("metadata", maybe(metadata())),
    ])
}

pub(crate) fn authentication() -> BoxedStrategy<Json> {
    object(vec![("scheme", always(Just(Json::from("Bearer")))), ("credentials", maybe(any_text()))])
}

pub(crate) fn push(task: bool) -> BoxedStrategy<Json> {
    object(vec![
        ("taskId", if task { always(id()) } else { Just(None).boxed() }),
        ("id", maybe(id())),
        ("url", always(Just(Json::from("https://hook.test/x")))),
        ("token", maybe(any_text())),
        ("authentication", maybe(authentication())),
    ])
}

pub(crate) fn configuration() -> BoxedStrategy<Json> {
    object(vec![
        ("acceptedOutputModes", maybe(Just(Json::from(vec![Json::from("text/plain")])))),
        ("returnImmediately", always(any::<bool>().prop_map(Json::from))),
        ("historyLength", maybe((1_i64..50).prop_map(Json::from))),
        ("taskPushNotificationConfig", maybe(push(false))),
    ])
}

pub(crate) fn params(kind: OperationKind) -> BoxedStrategy<Json> {
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => object(vec![
            ("message", always(message())),
            ("configuration", always(configuration())),
            ("metadata", maybe(metadata())),
        ]),
        OperationKind::GetTask => {
            object(vec![("id", always(id())), ("historyLength", maybe((0_i64..50).prop_map(Json::from)))])
        }
        OperationKind::ListTasks => object(vec![
            ("contextId", maybe(id())),
            ("status", maybe(state())),
            ("pageSize", maybe((1_i64..=100).prop_map(Json::from))),
            ("pageToken", maybe("\\PC{1,12}".prop_map(Json::from))),
            ("historyLength", maybe((0_i64..50).prop_map(Json::from))),
            ("statusTimestampAfter", maybe(Just(Json::from("2026-01-01T00:00:00+02:00")))),
            ("includeArtifacts", maybe(any::<bool>().prop_map(Json::from))),
        ]),
        OperationKind::CancelTask => object(vec![("id", always(id())), ("metadata", maybe(metadata()))]),
        OperationKind::SubscribeToTask => object(vec![("id", always(id()))]),
        OperationKind::CreatePushConfig => push(true),
        OperationKind::GetPushConfig | OperationKind::DeletePushConfig => {
            object(vec![("taskId", always(id())), ("id", always(id()))])
        }
        OperationKind::ListPushConfigs => object(vec![("taskId", always(id()))]),
        OperationKind::GetExtendedCard => object(vec![]),
    }
}

pub(crate) fn event() -> BoxedStrategy<Json> {
    let update = object(vec![
        ("taskId", always(id())),
        ("contextId", always(id())),
        ("status", always(status())),
        ("metadata", maybe(metadata())),
    ]);
    let artifact = object(vec![
        ("taskId", always(id())),
        ("contextId", always(id())),
        ("artifact", always(artifact())),
        ("append", maybe(Just(Json::from(true)))),
        ("lastChunk", maybe(Just(Json::from(true)))),
    ]);
    prop_oneof![
        task().prop_map(|task| Json::from([("task", task)])),
        message().prop_map(|message| Json::from([("message", message)])),
        update.prop_map(|update| Json::from([("statusUpdate", update)])),
        artifact.prop_map(|update| Json::from([("artifactUpdate", update)])),
    ]
    .boxed()
}

pub(crate) fn result(kind: OperationKind) -> BoxedStrategy<Json> {
    match kind {
        OperationKind::SendMessage => prop_oneof![
            task().prop_map(|task| Json::from([("task", task)])),
            message().prop_map(|message| Json::from([("message", message)])),
        ]
        .boxed(),
        OperationKind::SendStreamingMessage | OperationKind::SubscribeToTask => event(),
        OperationKind::GetTask | OperationKind::CancelTask => task(),
        OperationKind::ListTasks => object(vec![
            ("tasks", always(vec(task(), 0..3).prop_map(Json::from))),
            ("nextPageToken", always(any_text())),
            ("pageSize", always((0_i64..100).prop_map(Json::from))),
            ("totalSize", always((0_i64..100).prop_map(Json::from))),
        ]),
        OperationKind::CreatePushConfig | OperationKind::GetPushConfig => push(true),
        OperationKind::ListPushConfigs => object(vec![("configs", always(vec(push(true), 0..3).prop_map(Json::from)))]),
        OperationKind::DeletePushConfig => Just(Json::Object(Object::new())).boxed(),
        OperationKind::GetExtendedCard => metadata().boxed(),
    }
}

pub(crate) fn operation() -> impl Strategy<Value = OperationKind> {
    select(OperationKind::ALL.to_vec())
}
