//! Foreign against missing: both are asked in turn, so that whatever the machine does meets both.

use crate::rig::{CardSpec, G1, P1, P2, Plan, says};
use crate::{Client, permille};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, start};

const ROUNDS: usize = 3_000;

pub(crate) async fn run() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = Plan::echo(CardSpec::of(&agent.url(), Dialect::J1)).start().await;
    let sent = rig.call(crate::rig::rpc_as(P1, "/a2a/acme/echo", "SendMessage", &says("hi"))).await;
    let task = sent.at("/result/task/id");
    let client = Client::new(rig.address);
    let missing_task = "0".repeat(task.len());
    for (what, key, foreign, missing) in [
        ("card of another tenant", G1, "/a2a/acme/echo/tasks/t1".to_owned(), "/a2a/acme/none/tasks/t1".to_owned()),
        (
            "task of another principal",
            P2,
            format!("/a2a/acme/echo/tasks/{task}"),
            format!("/a2a/acme/echo/tasks/{missing_task}"),
        ),
    ] {
        let mut times = [Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS)];
        for round in 0..ROUNDS {
            for (at, path) in [&foreign, &missing].into_iter().enumerate() {
                let (status, took) = client.ask(key, path, None).await;
                assert_eq!(status, 404, "{what}");
                // The first rounds warm the caches.
                if round > ROUNDS / 10 {
                    times[at].push(took);
                }
            }
        }
        let [foreign, missing] = &mut times;
        let (foreign, missing) = (permille(foreign, 500), permille(missing, 500));
        let ratio = foreign.as_secs_f64() / missing.as_secs_f64();
        println!("{what}: median {foreign:?}, missing {missing:?}, ratio {ratio:.3}");
    }
}
