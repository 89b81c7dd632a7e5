//! Guards outside of the process: what they flag, and what follows when they are away, slow or senseless (T-GRD-3, F48).

use crate::rig::{CardSpec, Plan, policy, rpc, says};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Gate, Reply, Script, Scripted, start};

/// A policy that asks the guard at `url`; `more` are further members of the detector.
fn asking(url: &str, more: &str) -> CardSpecMaker {
    let document = format!(
        r#"{{"surfaces":["a2a_inbound"],"detectors":[{{"id":"external","name":"outside","url":"{url}","timeout_ms":500,"action":"block"{more}}}]}}"#
    );
    CardSpecMaker { document }
}

struct CardSpecMaker {
    document: String,
}

impl CardSpecMaker {
    fn card(&self, agent: &str) -> CardSpec {
        let mut spec = CardSpec::of(agent, Dialect::R1);
        spec.policies = vec![policy(&self.document)];
        spec
    }
}

async fn plan(spec: CardSpec) -> crate::rig::Rig {
    Plan::echo(spec).set("egress.fetch_allow", "127.0.0.0/8").start().await
}

#[tokio::test]
async fn what_a_guard_outside_flags_is_blocked() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let guard = Scripted::start(Script::by(|request| {
        let body = request.body_text();
        let flagged = body.contains("bad idea");
        Reply::json(200, format!(r#"{{"results":[{{"pointer":"/message/parts/0/text","flagged":{flagged}}}]}}"#))
    }))
    .await
    .unwrap();
    let rig = plan(asking(&guard.url(), "").card(&agent.url())).await;
    assert_eq!(rig.call(rpc("SendMessage", &says("a bad idea"))).await.code(), -32042);
    assert_eq!(rig.call(rpc("SendMessage", &says("a good idea"))).await.status, 200);
    assert_eq!(agent.requests().len(), 1);
    assert!(guard.requests()[0].body_text().contains(r#""surface":"a2a_inbound""#));
}

#[tokio::test]
async fn a_guard_that_gives_no_verdict_follows_on_error() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let gate = Gate::new();
    let replies: Vec<(&str, Script)> = vec![
        ("500", Reply::json(500, "{}").into()),
        ("401", Reply::json(401, "{}").into()),
        ("empty", Reply::json(200, "{}").into()),
        ("lies", Reply::json(200, r#"{"results":[{"pointer":"/nowhere","flagged":true}]}"#).into()),
        ("hangs", Reply::sse().wait(&gate).end().into()),
    ];
    for (name, reply) in replies {
        let guard = Scripted::start(reply).await.unwrap();
        for (more, passes) in [("", false), (r#","on_error":"allow""#, true)] {
            let rig = plan(asking(&guard.url(), more).card(&agent.url())).await;
            let before = agent.requests().len();
            let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
            let sent = agent.requests().len() - before;
            if passes {
                assert_eq!((heard.code(), sent), (0, 1), "{name}: {}", heard.text());
            } else {
                assert_eq!((heard.code(), sent), (-32048, 0), "{name}: {}", heard.text());
                assert!(heard.text().contains("GUARD_UNAVAILABLE"), "{name}: {}", heard.text());
                assert_eq!(rig.outcome().await, "could_not_scan", "{name}");
            }
            let records = rig.records(1).await;
            let document = String::from_utf8_lossy(&records[0].document).into_owned();
            assert!(document.contains("external.could_not_scan:outside"), "{name}: {document}");
        }
    }
}

/// Nobody listens there.
#[tokio::test]
async fn a_guard_that_is_away_closes_the_card() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let rig = plan(asking("http://127.0.0.1:9/", "").card(&agent.url())).await;
    assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), -32048);
    assert_eq!(agent.requests().len(), 0);
}
