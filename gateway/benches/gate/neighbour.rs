//! Tenant A (`acme`) at twenty times its limits in five ways, tenant B (`globex`) going about its business (T-NN-1).
//!
//! B alone and B beside A take turns, round after round. A is a well-made nuisance: it asks for twenty times what it may,
//! and asks again when the refusals say that it may; how fast a client can spin says nothing about the gateway. A's callers
//! and its agents are processes of their own ([`crate::aside`]); B and its agent have a thread of their own in this one.

use crate::aside::Aside;
use crate::rig::{CardSpec, G1, P1, Plan, Rig, policy, says};
use crate::{Client, permille, scale, verdict};
use a2a::Dialect;
use axum::extract::Request;
use bytes::Bytes;
use chancery::registry::meter::Allowance;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt as _;
use sample_agents::hostile::{Behaviour, Reply, Scripted, start};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

const ROUNDS: usize = 6;
const EACH: Duration = Duration::from_secs(3);
/// How far over its limits A is.
const OVER: usize = 20;
/// Calls at once, and streams at once, that A may have.
const MOST: usize = 10;
/// Calls that A may make in a minute, and keys of nobody that a source may present.
const PER_MINUTE: u32 = 600;
const BAD_KEYS: u32 = 60;
/// Room for A's bytes, and the size of a large call of A's.
const ROOM: usize = 8 << 20;
const LARGE: usize = 3 << 20;
/// What A has to say at length.
const PROSE: &str = "The order was shipped on Tuesday, and it will arrive within a week. ";
/// What is looked for in all that A and B say, and in all that they are told (`samples/policies/baseline.yaml`).
const POLICY: &str = r#"{"surfaces":["a2a_inbound","a2a_outbound"],"detectors":[{"id":"secret","action":"redact"},
  {"id":"pii.card","action":"mask"},{"id":"pii.iban","action":"mask"},{"id":"injection","action":"monitor"},
  {"id":"text.hidden","action":"monitor"}]}"#;
/// Whoever is refused waits as long as it is told.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// One way to be loud: the key, the path and the body of each call.
struct Way {
    name: &'static str,
    key: &'static str,
    path: &'static str,
    body: String,
    /// How many at once.
    callers: usize,
    /// How long each waits between its calls.
    pause: Duration,
}

fn ways() -> [Way; 5] {
    let send = "/a2a/acme/echo/message:send";
    let hang = "/a2a/acme/hang/message:send";
    let stream = "/a2a/acme/slow/message:stream";
    let way = |name, key, path, body, callers, pause| Way { name, key, path, body, callers, pause };
    // So many calls a second, by twenty callers.
    let every = |per_minute: u32| RETRY_AFTER * 60 / per_minute;
    let at_once = MOST * OVER;
    [
        way("calls per minute", P1, send, says("hi"), OVER, every(PER_MINUTE)),
        way("calls in flight", P1, hang, says("hi"), at_once, RETRY_AFTER),
        way("open streams", P1, stream, says("hi"), at_once, RETRY_AFTER),
        way("bytes in flight", P1, send, says(&PROSE.repeat(LARGE / PROSE.len())), ROOM * OVER / LARGE, RETRY_AFTER),
        way("keys of nobody", "sk_brutor_api_garbage", send, says("hi"), OVER, every(BAD_KEYS)),
    ]
}

/// What B met.
#[derive(Default)]
struct Met {
    times: Vec<Duration>,
    errors: usize,
    p99: Vec<Duration>,
}

impl Met {
    fn also(&mut self, (mut times, errors): (Vec<Duration>, usize)) {
        self.p99.push(permille(&mut times, 990));
        self.times.extend(times);
        self.errors += errors;
    }
}

pub(crate) async fn run() -> bool {
    let b = Elsewhere::new();
    let (rig, _agents) = world(&b).await;
    // What A had saved up is spent before anything is measured.
    let spent = beside(&rig, &b, 0, Duration::from_secs(4)).await;
    assert_eq!(spent.1, 0, "B is served");
    let mut all: Vec<_> = ways().into_iter().map(|way| (way, Met::default(), Met::default())).collect();
    for _ in 0..ROUNDS * scale() {
        for (number, (_, alone, loud)) in all.iter_mut().enumerate() {
            alone.also(b.run(quiet(rig.address, EACH)).await);
            loud.also(beside(&rig, &b, number, EACH).await);
        }
    }
    println!("| A over its | B's calls | errors | p99 alone, ms | p99 beside A, ms | ratio | of single rounds | |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut met = true;
    for (way, mut alone, mut loud) in all {
        let (before, after) = (permille(&mut alone.times, 990), permille(&mut loud.times, 990));
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        let mut rounds: Vec<f64> = loud.p99.iter().zip(&alone.p99).map(|(one, other)| ratio(*one, *other)).collect();
        rounds.sort_unstable_by(f64::total_cmp);
        let holds = loud.errors == 0 && alone.errors == 0 && ratio(after, before) <= 1.5;
        met &= holds;
        println!(
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} to {:.2} | {} |",
            way.name,
            loud.times.len(),
            loud.errors,
            before.as_secs_f64() * 1e3,
            after.as_secs_f64() * 1e3,
            ratio(after, before),
            rounds.first().unwrap(),
            rounds.last().unwrap(),
            verdict(holds)
        );
    }
    met
}

/// A thread that is not the gateway's.
struct Elsewhere {
    handle: Handle,
    /// It ends when this is dropped.
    _end: oneshot::Sender<()>,
}

impl Elsewhere {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (handle, (end, ended)) = (runtime.handle().clone(), oneshot::channel::<()>());
        std::thread::spawn(move || runtime.block_on(ended));
        Self { handle, _end: end }
    }

    async fn run<T: Send + 'static>(&self, what: impl Future<Output = T> + Send + 'static) -> T {
        self.handle.spawn(what).await.unwrap()
    }
}

/// Where A's agents are: one that answers, one that never does, and one that begins a stream and leaves it open.
pub(crate) type Urls = [String; 3];

/// Starts A's agents, which live as long as they are held.
pub(crate) async fn agents() -> (Urls, [Scripted; 2]) {
    let event = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let streams = Reply::sse().event(event).hang();
    let (hanging, streaming) = (start(Behaviour::Hang).await.unwrap(), Scripted::start(streams).await.unwrap());
    ([plain().await, hanging.url(), streaming.url()], [hanging, streaming])
}

/// The gateway and the agents behind it, which live as long as they are held.
async fn world(b: &Elsewhere) -> (Rig, (Aside, Scripted)) {
    let (of_a, [answering, hanging, streaming]) = Aside::agents();
    let of_b = b.run(start(Behaviour::Honest)).await.unwrap();
    let policies = vec![policy(POLICY)];
    let card = |agent: &str| CardSpec { policies: policies.clone(), ..CardSpec::of(agent, Dialect::R1) };
    let mut plan = Plan::default()
        .card("acme/echo", card(&answering))
        .card("acme/hang", card(&hanging))
        .card("acme/slow", card(&streaming))
        .card("globex/echo", card(&of_b.url()))
        .set("limits.unary_timeout", "1s")
        .set("limits.stream_total_timeout", "2s")
        .set("limits.inflight_bytes_per_tenant", &ROOM.to_string())
        .set("limits.bad_keys_per_minute", &BAD_KEYS.to_string());
    plan.tenant_allowance = Allowance {
        per_minute: NonZeroU32::new(PER_MINUTE),
        concurrent: Some(MOST),
        streams: Some(MOST),
        daily: Some(1_000_000),
        monthly: None,
    };
    (plan.start().await, (of_a, of_b))
}

/// An agent that reads everything, keeps nothing and says little: what it does is no part of what is measured.
async fn plain() -> String {
    const SAID: &str = r#"{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"ok"}]}}"#;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = async |request: Request| {
        let mut body = request.into_body();
        while let Some(Ok(_)) = body.frame().await {}
        ([(CONTENT_TYPE, "application/json")], SAID)
    };
    Handle::current().spawn(axum::serve(listener, axum::Router::new().fallback(answer)).into_future());
    url
}

/// Begins A's calls in the way with this number.
pub(crate) fn callers(gateway: SocketAddr, way: usize) -> JoinSet<()> {
    let Way { key, path, body, callers, pause, .. } = ways().into_iter().nth(way).unwrap();
    let (client, body) = (Client::new(gateway), Bytes::from(body));
    (0..callers)
        .map(|caller| {
            let (client, body) = (client.clone(), body.clone());
            // Not all in one instant.
            let first = pause * u32::try_from(caller).unwrap() / u32::try_from(callers).unwrap();
            async move {
                tokio::time::sleep(first).await;
                loop {
                    let next = Instant::now() + pause;
                    client.ask(key, path, Some(body.clone())).await;
                    tokio::time::sleep_until(next.into()).await;
                }
            }
        })
        .collect()
}

/// B's calls while A is loud in the way with this number.
async fn beside(rig: &Rig, b: &Elsewhere, way: usize, long: Duration) -> (Vec<Duration>, usize) {
    let loud = Aside::callers(rig.address, way);
    tokio::time::sleep(RETRY_AFTER).await;
    let met = b.run(quiet(rig.address, long)).await;
    drop(loud);
    // What A left behind ends before anybody is alone.
    while rig.app.calls.limits.open_streams() > 0 || rig.app.calls.limits.bytes_in_flight() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    met
}

/// B's calls for a while, a hundred a second: how long each took, and how many went wrong.
async fn quiet(gateway: SocketAddr, long: Duration) -> (Vec<Duration>, usize) {
    let client = Client::new(gateway);
    let (began, mut times, mut errors) = (Instant::now(), Vec::new(), 0);
    while began.elapsed() < long {
        let (status, took) = client.ask(G1, "/a2a/globex/echo/message:send", Some(says("hi"))).await;
        times.push(took);
        errors += usize::from(status != 200);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (times, errors)
}
