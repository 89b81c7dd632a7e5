//! Tenant A (`acme`) at twenty times its limits in five ways, tenant B (`globex`) going about its business (T-NN-1).

use crate::rig::{CardSpec, G1, P1, Plan, Rig, says};
use crate::{Client, permille};
use a2a::Dialect;
use chancery::registry::meter::Allowance;
use sample_agents::hostile::{Behaviour, Gate, Reply, Scripted, start};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const EACH: Duration = Duration::from_secs(5);
/// Calls at once that A may have; it tries twenty times as many.
const MOST: usize = 10;

/// One way to be loud: the key, the path and the body of each call.
struct Way {
    name: &'static str,
    key: &'static str,
    path: &'static str,
    body: String,
    /// How many at once.
    at_once: usize,
}

pub(crate) async fn run() {
    let gate = Gate::new();
    let event = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let honest = start(Behaviour::Honest).await.unwrap();
    let hanging = start(Behaviour::Hang).await.unwrap();
    let streaming = Scripted::start(Reply::sse().event(event).wait(&gate).end()).await.unwrap();
    let mut plan = Plan::default()
        .card("acme/echo", CardSpec::of(&honest.url(), Dialect::R1))
        .card("acme/hang", CardSpec::of(&hanging.url(), Dialect::R1))
        .card("acme/slow", CardSpec::of(&streaming.url(), Dialect::R1))
        .card("globex/echo", CardSpec::of(&honest.url(), Dialect::R1))
        .set("limits.unary_timeout", "1s")
        .set("limits.stream_total_timeout", "2s");
    plan.tenant_allowance = Allowance {
        per_minute: NonZeroU32::new(600),
        concurrent: Some(MOST),
        streams: Some(MOST),
        daily: Some(1_000_000),
        monthly: None,
    };
    let rig = plan.start().await;
    let mut alone = quiet(&rig).await;
    let p99_alone = permille(&mut alone.0, 990);
    println!("B alone: {} calls, {} errors, p99 {p99_alone:?}", alone.0.len(), alone.1);
    let send = "/a2a/acme/echo/message:send";
    let large = says(&"x".repeat(3 << 20));
    for way in [
        Way { name: "calls per minute", key: P1, path: send, body: says("hi"), at_once: MOST * 20 },
        Way {
            name: "calls in flight",
            key: P1,
            path: "/a2a/acme/hang/message:send",
            body: says("hi"),
            at_once: MOST * 20,
        },
        Way {
            name: "open streams",
            key: P1,
            path: "/a2a/acme/slow/message:stream",
            body: says("hi"),
            at_once: MOST * 20,
        },
        Way { name: "bytes", key: P1, path: send, body: large, at_once: 20 },
        Way { name: "bad keys", key: "sk_brutor_api_garbage", path: send, body: says("hi"), at_once: MOST * 20 },
    ] {
        let mut loud = JoinSet::new();
        let client = Client::new(rig.address);
        for _ in 0..way.at_once {
            let (client, body) = (client.clone(), way.body.clone());
            loud.spawn(async move {
                loop {
                    client.ask(way.key, way.path, Some(body.clone())).await;
                }
            });
        }
        let (mut times, errors) = quiet(&rig).await;
        loud.abort_all();
        while loud.join_next().await.is_some() {}
        let (count, p99) = (times.len(), permille(&mut times, 990));
        let ratio = p99.as_secs_f64() / p99_alone.as_secs_f64();
        println!("A over its {}: B {count} calls, {errors} errors, p99 {p99:?}, ratio {ratio:.2}", way.name);
    }
    gate.open();
}

/// B's calls for a while, a hundred a second: how long each took, and how many went wrong.
async fn quiet(rig: &Rig) -> (Vec<Duration>, usize) {
    let client = Client::new(rig.address);
    let (began, mut times, mut errors) = (Instant::now(), Vec::new(), 0);
    while began.elapsed() < EACH {
        let (status, took) = client.ask(G1, "/a2a/globex/echo/message:send", Some(says("hi"))).await;
        times.push(took);
        errors += usize::from(status != 200);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (times, errors)
}
