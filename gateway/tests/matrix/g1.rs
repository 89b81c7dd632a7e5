//! `G1`: gRPC of A2A 1.0 (specification §10), with the field numbers of the specification's `a2a.proto`.

use crate::proto::{self, V, int, msg, structure, text, value};
use crate::tongue::{Asked, Each, Op, Refusal, Said, Told, Tongue};
use a2a::Dialect;

pub(crate) const G1: Tongue =
    Tongue { dialect: Dialect::G1, name: "G1", card: "g1", asks, sends, gets, refused, asked, answers, wraps };

const METHODS: Each<&str> = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

// Enums.
const WORKING: u64 = 2;
const COMPLETED: u64 = 3;
const CANCELED: u64 = 5;
const INPUT_REQUIRED: u64 = 6;
const USER: u64 = 1;
const AGENT: u64 = 2;

/// 2026-01-02T03:04:05.678Z
fn moment(number: u32) -> Vec<u8> {
    msg(number, &[int(1, 1_767_323_045), int(2, 678_000_000)])
}

fn data() -> Vec<(&'static str, V)> {
    vec![("list", V::List(vec![])), ("no", V::Bool(false)), ("zero", V::Num(0.0)), ("nothing", V::Null)]
}

/// The fields of a request; `tenant` (the card) comes first, but in the list of push configurations.
fn params(op: Op, page: u64) -> Vec<Vec<u8>> {
    let all: Each<Vec<Vec<u8>>> = [
        send(),
        vec![msg(2, &[text(1, "m2"), int(4, USER), msg(5, &[text(1, "go")])]), msg(3, &[int(4, 1)])],
        vec![text(2, "t1"), int(3, 2)],
        vec![text(2, "c1"), int(3, COMPLETED), int(4, page), int(6, 2), moment(7), int(8, 1)],
        vec![text(2, "t1")],
        vec![text(2, "t1")],
        vec![
            text(2, "p1"),
            text(3, "t1"),
            text(4, "https://hook.test/"),
            text(5, "tok"),
            msg(6, &[text(1, "Bearer"), text(2, "c")]),
        ],
        vec![text(2, "t1"), text(3, "p1")],
        vec![text(1, "t1")],
        vec![text(2, "t1"), text(3, "p1")],
        vec![],
    ];
    all.into_iter().nth(op as usize).unwrap_or_default()
}

fn send() -> Vec<Vec<u8>> {
    let mut deep = data();
    deep.push(("deep", V::Struct(vec![("at", V::List(vec![V::Num(1.0), V::Str("x")]))])));
    let parts = [
        msg(5, &[text(1, "Grüße 🎈")]),
        msg(5, &[text(2, "hello"), text(6, "a.txt"), text(7, "text/plain")]),
        msg(5, &[text(3, "https://files.test/a.png"), text(6, "a.png"), text(7, "image/png")]),
        msg(5, &[value(4, &V::Struct(deep)), structure(5, &[("part", V::Str("p"))])]),
    ];
    let head = [text(1, "m1"), text(2, "c1"), text(3, "t1"), int(4, USER)];
    let tail = [
        structure(6, &[("note", V::Str("n")), ("flag", V::Bool(false))]),
        text(7, "https://ext.test/x"),
        text(8, "t1"),
    ];
    vec![
        msg(2, &[head.concat(), parts.concat(), tail.concat()]),
        msg(3, &[text(1, "text/plain"), text(1, "image/png"), int(3, 3), int(4, 1)]),
        structure(4, &[("trip", V::Str("one"))]),
    ]
}

fn task() -> Vec<u8> {
    let question =
        msg(2, &[text(1, "m3"), text(2, "c1"), text(3, "t1"), int(4, AGENT), msg(5, &[text(1, "Which one?")])]);
    let artifact = [
        text(1, "a1"),
        text(2, "answer"),
        text(3, "what came of it"),
        msg(4, &[text(1, "Grüße 🎈")]),
        msg(4, &[text(2, "hello"), text(6, "a.txt"), text(7, "text/plain")]),
        msg(4, &[text(3, "https://files.test/b.png"), text(7, "image/png")]),
        msg(4, &[value(4, &V::Struct(data()))]),
        structure(5, &[("weight", V::Num(1.5))]),
        text(6, "https://ext.test/x"),
    ];
    let asked = [
        text(1, "m0"),
        text(2, "c1"),
        text(3, "t1"),
        int(4, USER),
        msg(5, &[text(1, "hi")]),
        structure(6, &[("note", V::Str("n"))]),
    ];
    [
        text(1, "t1"),
        text(2, "c1"),
        msg(3, &[int(1, INPUT_REQUIRED), question, moment(3)]),
        msg(4, &artifact),
        msg(5, &asked),
        structure(6, &[("flag", V::Bool(false))]),
    ]
    .concat()
}

fn plain_task(id: &str, context: &str, state: u64) -> Vec<u8> {
    [text(1, id), text(2, context), msg(3, &[int(1, state)])].concat()
}

fn events() -> [Vec<u8>; 4] {
    let about = || [text(1, "t1"), text(2, "c1")].concat();
    let note = msg(2, &[text(1, "m4"), int(4, AGENT), msg(5, &[text(1, "at it")])]);
    let artifact = msg(3, &[text(1, "a1"), msg(4, &[text(1, "half")])]);
    [
        msg(1, &[plain_task("t1", "c1", WORKING)]),
        msg(3, &[about(), msg(3, &[int(1, WORKING), note, moment(3)]), structure(4, &[("step", V::Num(1.0))])]),
        msg(4, &[about(), artifact, int(4, 1), int(5, 1), structure(6, &[("piece", V::Str("last"))])]),
        msg(3, &[about(), msg(3, &[int(1, COMPLETED)])]),
    ]
}

/// An agent's extended card.
fn card() -> Vec<u8> {
    let interface = [text(1, "http://10.0.0.7:9100/"), text(2, "JSONRPC"), text(4, "1.0")];
    [
        text(1, "Full"),
        text(2, "Everything"),
        msg(3, &interface),
        text(5, "2"),
        msg(7, &[int(1, 1), int(4, 1)]),
        text(10, "text/plain"),
        text(11, "text/plain"),
        skill(),
    ]
    .concat()
}

fn skill() -> Vec<u8> {
    msg(12, &[text(1, "s"), text(2, "S"), text(3, "d"), text(4, "t")])
}

/// The one card, as far as `AgentCard` has its members; without its signature.
fn union_card(card: &str) -> Vec<u8> {
    let url = format!("https://gw.test/a2a/acme/{card}");
    let at = |binding: &str, version: &str| msg(3, &[text(1, &url), text(2, binding), text(4, version)]);
    let scheme = |name: &str, of: Vec<u8>| msg(8, &[text(1, name), text(2, of)]);
    let scope = msg(3, &[text(1, "a2a.invoke"), text(2, "Call this agent")]);
    let needs = |name: &str| msg(9, &[msg(1, &[text(1, name), msg(2, &[text(1, "a2a.invoke")])])]);
    [
        text(1, "Full"),
        text(2, "Everything"),
        at("JSONRPC", "1.0"),
        at("HTTP+JSON", "1.0"),
        msg(3, &[text(1, "gw.test:443"), text(2, "GRPC"), text(3, card), text(4, "1.0")]),
        at("JSONRPC", "0.3"),
        at("HTTP+JSON", "0.3"),
        text(5, "2"),
        msg(7, &[int(1, 1), int(2, 0), int(4, 1)]),
        scheme("bearer", msg(2, &[text(2, "Bearer")])),
        scheme("apiKey", msg(1, &[text(2, "header"), text(3, "X-API-Key")])),
        scheme("oauth2", msg(3, &[msg(2, &[msg(2, &[text(1, "https://gw.test/oauth/token"), scope])])])),
        needs("bearer"),
        needs("apiKey"),
        needs("oauth2"),
        text(10, "text/plain"),
        text(11, "text/plain"),
        skill(),
    ]
    .concat()
}

fn results(op: Op, told: Option<&str>) -> Vec<Vec<u8>> {
    let [first, second, third, last] = events();
    let (own, foreign) = (msg(1, &[plain_task("t1", "c1", COMPLETED)]), msg(1, &[plain_task("t9", "c9", COMPLETED)]));
    let listed = match told {
        Some(_) => [own, int(3, 5), int(4, 1)].concat(),
        None => [foreign, own, int(3, 100), int(4, 2)].concat(),
    };
    let all: Each<Vec<Vec<u8>>> = [
        vec![msg(1, &[task()])],
        vec![first.clone(), second, third, last.clone()],
        vec![task()],
        vec![listed],
        vec![plain_task("t1", "c1", CANCELED)],
        vec![first, last],
        vec![],
        vec![],
        vec![],
        vec![],
        vec![told.map_or_else(card, union_card)],
    ];
    all.into_iter().nth(op as usize).unwrap_or_default()
}

fn asks(op: Op, card: &str) -> Said {
    sends(op, card, &params(op, 5).concat())
}

fn sends(op: Op, card: &str, params: &[u8]) -> Said {
    let message =
        if op == Op::ListPushConfigs { [params, &text(4, card)].concat() } else { [&text(1, card), params].concat() };
    let mut said = Said::new("POST", format!("/lf.a2a.v1.A2AService/{}", METHODS[op as usize]))
        .with("a2a-version", "1.0")
        .with("content-type", "application/grpc")
        .with("te", "trailers")
        .body(proto::framed(&message));
    said.http2 = true;
    said
}

fn gets(op: Op, card: &str) -> Told {
    let mut told = Told::grpc(&results(op, Some(card)));
    if op == Op::GetExtendedCard {
        told.parts.push("1 signatures".to_owned());
    }
    told
}

fn refused(_: Op, no: &Refusal) -> Told {
    let end = vec![no.grpc.to_string(), no.text.to_owned(), proto::shown(&details(no))];
    Told { status: 200, media: "application/grpc".to_owned(), parts: Vec::new(), end }
}

/// The `google.rpc.Status` of a refusal.
pub(crate) fn details(no: &Refusal) -> Vec<u8> {
    let info = [text(1, no.reason), text(2, "a2a-protocol.org")];
    let any = msg(3, &[text(1, "type.googleapis.com/google.rpc.ErrorInfo"), msg(2, &info)]);
    [int(1, u64::from(no.grpc)), text(2, no.text), any].concat()
}

fn asked(op: Op) -> Asked {
    let mut headers =
        vec!["a2a-version: 1.0", "content-type: application/grpc", "grpc-accept-encoding: identity", "te: trailers"];
    if !op.is_streaming() {
        headers.push("grpc-timeout: *");
    }
    let line = format!("POST /lf.a2a.v1.A2AService/{} HTTP/2.0", METHODS[op as usize]);
    Asked::new(&line, &headers, &proto::shown(&params(op, 100).concat()))
}

fn answers(op: Op) -> Vec<Vec<u8>> {
    results(op, None)
}

fn wraps(result: &[u8]) -> Vec<u8> {
    result.to_vec()
}
