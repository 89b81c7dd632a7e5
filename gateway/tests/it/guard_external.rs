//! Guards outside of the process: what they flag, and what follows when they are away, slow or senseless (T-GRD-3, F48).

use crate::rig::{CardSpec, P1, Plan, policy, rpc, rpc_as, says};
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Gate, Reply, Script, Scripted, start};

/// A policy that asks the guard at `url`; `more` are further members of the detector.
fn asking(url: &str, more: &str) -> CardSpecMaker {
    asking_at("a2a_inbound", url, more)
}

fn asking_at(surface: &str, url: &str, more: &str) -> CardSpecMaker {
    let document = format!(
        r#"{{"surfaces":["{surface}"],"detectors":[{{"id":"external","name":"outside","url":"{url}","timeout_ms":500,"action":"block"{more}}}]}}"#
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

/// Answers of a guard that are no verdict. `slow` ones come too late.
fn no_verdicts() -> Vec<(&'static str, Reply)> {
    let never = Gate::new();
    let lie = |spans: &str| {
        let result = format!(r#"{{"pointer":"/message/parts/0/text","flagged":true,"spans":[{spans}]}}"#);
        Reply::json(200, format!(r#"{{"results":[{result}]}}"#))
    };
    vec![
        ("500", Reply::json(500, "{}")),
        ("401", Reply::json(401, "{}")),
        ("empty", Reply::json(200, "{}")),
        ("no JSON", Reply::json(200, "all is well")),
        ("lies about a place", Reply::json(200, r#"{"results":[{"pointer":"/nowhere","flagged":true}]}"#)),
        ("lies about a span", lie(r#"{"start":0,"end":9999}"#)),
        ("a span that ends before it begins", lie(r#"{"start":2,"end":1}"#)),
        ("a span before the text", lie(r#"{"start":-1,"end":1}"#)),
        ("says more than it may", Reply::json(200, format!(r#"{{"results":[],"x":"{}"}}"#, "x".repeat(2 << 20)))),
        ("breaks off", Reply::head("200 OK", &[("Content-Length", "400")]).bytes("{").reset()),
        ("slow", Reply::nothing().wait(&never).end()),
        ("slow in the middle", Reply::sse().wait(&never).end()),
    ]
}

#[tokio::test]
async fn a_guard_that_gives_no_verdict_follows_on_error() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for (name, reply) in no_verdicts() {
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

/// Nobody listens there: on neither side, nor in a stream, does what was not judged pass, unless the policy says so.
#[tokio::test]
async fn a_guard_that_is_away_closes_the_card() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for (surface, method) in [
        ("a2a_inbound", "SendMessage"),
        ("a2a_outbound", "SendMessage"),
        ("a2a_inbound", "SendStreamingMessage"),
        ("a2a_outbound", "SendStreamingMessage"),
    ] {
        for (more, passes) in [("", false), (r#","on_error":"allow""#, true)] {
            let before = agent.requests().len();
            let rig = plan(asking_at(surface, "http://127.0.0.1:9/", more).card(&agent.url())).await;
            let heard = rig.call(rpc(method, &says("hi"))).await;
            assert_eq!(heard.last_code(), if passes { 0 } else { -32048 }, "{surface} {method}: {}", heard.text());
            let sent = agent.requests().len() - before;
            assert_eq!(sent, usize::from(passes || surface == "a2a_outbound"), "{surface} {method}");
        }
    }
}

/// The answer side: the agent has been asked, the caller is told nothing of what it said.
#[tokio::test]
async fn an_answer_that_no_guard_judged_follows_on_error() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for (name, reply) in no_verdicts() {
        let guard = Scripted::start(reply).await.unwrap();
        for (more, passes) in [("", false), (r#","on_error":"allow""#, true)] {
            let rig = plan(asking_at("a2a_outbound", &guard.url(), more).card(&agent.url())).await;
            let heard = rig.call(rpc("SendMessage", &says("hi"))).await;
            assert_eq!(heard.code(), if passes { 0 } else { -32048 }, "{name}: {}", heard.text());
            assert_eq!(rig.outcome().await, if passes { "ok" } else { "could_not_scan" }, "{name}");
        }
    }
}

/// A stream whose guard fails in the middle ends with an error, or goes on where the policy says so.
#[tokio::test]
async fn a_stream_whose_guard_fails_is_cut() {
    let event = |text: &str| {
        format!(
            r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#
        )
    };
    let reply = Reply::sse()
        .event(r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#)
        .event(event("first "))
        .event(event("second "))
        .event(r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#)
        .end();
    let flags = [("", false), (r#","on_error":"allow""#, true)];
    let failing = no_verdicts().into_iter().filter(|(name, _)| *name != "says more than it may");
    for ((more, passes), (name, failure)) in failing.flat_map(|failing| flags.map(|flag| (flag, failing.clone()))) {
        let agent = Scripted::start(reply.clone()).await.unwrap();
        let guard = Scripted::start(Script::by(move |request| {
            let fails = request.body_text().contains("second");
            if fails { failure.clone() } else { Reply::json(200, r#"{"results":[]}"#) }
        }))
        .await
        .unwrap();
        let rig = plan(asking_at("a2a_outbound", &guard.url(), more).card(&agent.url())).await;
        let heard = rig.call(rpc("SendStreamingMessage", &says("hi"))).await;
        let events = heard.events();
        assert!(heard.text().contains("first"), "{name}: {}", heard.text());
        assert_eq!(heard.text().contains("second"), passes, "{name}: {}", heard.text());
        assert_eq!(events.last().unwrap().code(), if passes { 0 } else { -32048 }, "{name}: {}", heard.text());
        assert_eq!(rig.outcome().await, if passes { "ok" } else { "could_not_scan" }, "{name}");
        assert!(guard.requests().iter().any(|request| request.body_text().contains(r#""stream":{"seq":"#)));
    }
}

/// Nobody waits for a guard that failed twenty times, and a guard that fails hurts no card but those that ask it.
#[tokio::test]
async fn a_guard_that_fails_often_is_left_alone() {
    let agent = start(Behaviour::Honest).await.unwrap();
    let guard = Scripted::start(Reply::json(500, "{}")).await.unwrap();
    let spec = asking(&guard.url(), "").card(&agent.url());
    let other = CardSpec::of(&agent.url(), Dialect::R1);
    let rig = Plan::echo(spec).card("acme/other", other).set("egress.fetch_allow", "127.0.0.0/8").start().await;
    for _ in 0..23 {
        assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), -32048);
        assert_eq!(rig.call(rpc_as(P1, "/a2a/acme/other", "SendMessage", &says("hi"))).await.code(), 0);
    }
    assert_eq!(guard.requests().len(), 20);
}

/// The guard can tell who asks: HMAC-SHA256 over time and body, under the tenant's key.
#[tokio::test]
async fn a_question_is_signed() {
    let agent = start(Behaviour::Honest).await.unwrap();
    for format in ["", r#","format":"openai""#] {
        let answer = if format.is_empty() {
            r#"{"results":[]}"#
        } else {
            r#"{"results":[{"flagged":false},{"flagged":false},{"flagged":false}]}"#
        };
        let guard = Scripted::start(Reply::json(200, answer)).await.unwrap();
        let rig = plan(asking(&guard.url(), format).card(&agent.url())).await;
        assert_eq!(rig.call(rpc("SendMessage", &says("hi"))).await.code(), 0);
        let asked = guard.requests().pop().unwrap();
        let header = |name: &str| asked.header(name).unwrap();
        let key = chancery::pipeline::external::key_of(&rig.app.seal, "acme");
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, key.as_slice());
        let said = format!("{}.{}", header("x-chancery-timestamp"), asked.body_text());
        let tag = aws_lc_rs::hmac::sign(&key, said.as_bytes());
        let tag: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(header("x-chancery-signature"), format!("v1={tag}"));
        if format.is_empty() {
            let body = asked.body_text();
            for member in [r#""tenant":"acme""#, r#""card":"echo""#, r#""operation":"send""#, r#""request_id":"#] {
                assert!(body.contains(member), "{member} in {body}");
            }
        }
    }
}
