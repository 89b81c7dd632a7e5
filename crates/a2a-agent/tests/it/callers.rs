//! Who may call, whose tasks they see, and what the card says about it.

use a2a_agent::{Agent, Audience, Bounds, Caller, Card, Outcome, Server, Skill, Turn, part};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use json::Json;

use crate::{agent, hi, request, state, whole};

/// Two callers by their tokens, and an agent that tells them whom it sees.
fn guarded() -> Server {
    let tell = |turn: Turn| async move {
        let identity = turn.caller().identity().unwrap_or("nobody").to_owned();
        Outcome::artifact("you", [part::text(identity)])
    };
    let more = Card::new("Test", "With more.").skill(Skill::new("audit", "Audit", "Audits.", &["t"]));
    agent()
        .bearer_tokens([("token-for-billing", "billing"), ("token-for-crm", "crm")])
        .extended(more, Audience::Proven)
        .on_message(tell)
        .into_server()
}

fn with_token(mut request: Request<Full<Bytes>>, token: &str) -> Request<Full<Bytes>> {
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

fn get(path: &str) -> Request<Full<Bytes>> {
    let request = Request::get(format!("/t{path}")).header("a2a-version", "1.0").header("host", "agent.example");
    request.body(Full::default()).unwrap()
}

#[tokio::test]
async fn callers_without_a_known_token_are_told_to_authenticate() {
    let server = guarded();
    let mut wrong = vec![request("/message:send", &hi("")), with_token(request("/message:send", &hi("")), "guess")];
    wrong.push(with_token(get("/tasks"), ""));
    let mut two = with_token(get("/tasks"), "token-for-crm");
    two.headers_mut().append("authorization", "Bearer token-for-crm".parse().unwrap());
    wrong.push(two);
    for request in wrong {
        let refused = server.answer(request).await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    }
}

#[tokio::test]
async fn each_identity_sees_its_own_tasks_only() {
    let server = guarded();
    let send = |token| server.answer(with_token(request("/message:send", &hi("")), token));
    let (billing, crm) = (whole(send("token-for-billing").await).await, whole(send("token-for-crm").await).await);
    assert_eq!(state(&billing, "/task/artifacts/0/parts/0/text"), "billing");
    assert_eq!(state(&crm, "/task/artifacts/0/parts/0/text"), "crm");
    let theirs = state(&crm, "/task/id");
    let missing = get(&format!("/tasks/{}", theirs.replace(|_: char| true, "0")));
    let foreign = server.answer(with_token(get(&format!("/tasks/{theirs}")), "token-for-billing")).await;
    let missing = server.answer(with_token(missing, "token-for-billing")).await;
    assert_eq!((foreign.status(), missing.status()), (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND));
    assert_eq!(whole(foreign).await, whole(missing).await);
    let listed = whole(server.answer(with_token(get("/tasks"), "token-for-billing")).await).await;
    assert_eq!(listed.get("totalSize"), Some(&1.into()));
    assert_eq!(state(&listed, "/tasks/0/id"), state(&billing, "/task/id"));
}

#[tokio::test]
async fn the_public_card_stays_public_and_says_how_to_authenticate() {
    let server = guarded();
    let card = whole(server.answer(get("/.well-known/agent-card.json")).await).await;
    assert_eq!(state(&card, "/securitySchemes/bearer/httpAuthSecurityScheme/scheme"), "bearer");
    assert_eq!(state(&card, "/securitySchemes/bearer/type"), "http");
    assert!(card.pointer("/securityRequirements/0/schemes/bearer/list").is_some());
    assert!(card.pointer("/security/0/bearer").is_some());
    assert_eq!(card.pointer("/capabilities/extendedAgentCard"), Some(&true.into()));
    let extended = server.answer(with_token(get("/extendedAgentCard"), "token-for-crm")).await;
    assert_eq!(extended.headers()["cache-control"], "private, no-store");
    assert_eq!(state(&whole(extended).await, "/skills/0/id"), "audit");
}

#[tokio::test]
async fn an_extended_card_for_proven_callers_is_refused_to_others() {
    let card = Card::new("Test", "With more.");
    let server = agent().extended(card, Audience::Proven).into_server();
    assert_eq!(server.answer(get("/extendedAgentCard")).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_caller_who_proves_itself_later_goes_on_with_its_task() {
    let session = |head: &http::request::Parts| {
        let caller = Caller::unknown("session");
        Ok(match a2a_agent::bearer_token(head) {
            Some("good") => caller.with_identity("somebody"),
            Some(_) => return Err(a2a_agent::unauthenticated()),
            None => caller,
        })
    };
    let ask = |turn: Turn| async move {
        match turn.caller().identity() {
            Some(identity) => Outcome::artifact("you", [part::text(identity)]),
            None => Outcome::AuthRequired("who are you?".to_owned()),
        }
    };
    let server = agent().callers(session).on_message(ask).into_server();
    let asked = whole(server.answer(request("/message:send", &hi(""))).await).await;
    assert_eq!(state(&asked, "/task/status/state"), "TASK_STATE_AUTH_REQUIRED");
    let more = format!(
        r#"{{"message":{{"messageId":"m","role":"ROLE_USER","taskId":"{}","parts":[{{"text":"me"}}]}}}}"#,
        state(&asked, "/task/id")
    );
    let done = whole(server.answer(with_token(request("/message:send", &more), "good")).await).await;
    assert_eq!(state(&done, "/task/artifacts/0/parts/0/text"), "somebody");
}

#[tokio::test]
async fn one_caller_cannot_take_the_room_of_another() {
    let by_header = |head: &http::request::Parts| {
        let name = head.headers.get("x-name").and_then(|name| name.to_str().ok());
        Ok(Caller::unknown(name.unwrap_or_default()))
    };
    let bounds = Bounds { tasks_per_owner: 1, ..Bounds::default() };
    let stay = |_| async { Outcome::InputRequired("more".to_owned()) };
    let server = agent().callers(by_header).bounds(bounds).on_message(stay).into_server();
    let send = async |name: &str| {
        let mut request = request("/message:send", &hi(""));
        request.headers_mut().insert("x-name", name.parse().unwrap());
        server.answer(request).await.status().as_u16()
    };
    assert_eq!([send("a").await, send("a").await, send("b").await], [200, 503, 200]);
}

#[tokio::test]
async fn cards_of_an_agent_at_a_path_follow_the_request_and_can_be_kept() {
    let server = Agent::new(Card::new("Test", "For tests.")).at("/t").into_server();
    let ask = async |host: &str, tag: Option<&str>| -> Response<a2a_agent::Body> {
        let mut request = get("/.well-known/agent-card.json");
        request.headers_mut().insert("host", host.parse().unwrap());
        if let Some(tag) = tag {
            request.headers_mut().insert("if-none-match", tag.parse().unwrap());
        }
        server.answer(request).await
    };
    let first = ask("one.example:81", None).await;
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    assert!(first.headers()["cache-control"].to_str().unwrap().contains("max-age"));
    assert_eq!(state(&whole(first).await, "/url"), "http://one.example:81/t");
    let again = ask("one.example:81", Some(&format!("\"x\", W/{tag}"))).await;
    assert_eq!((again.status(), again.headers()["etag"].to_str().unwrap()), (StatusCode::NOT_MODIFIED, tag.as_str()));
    let other = ask("two.example", Some(&tag)).await;
    assert_eq!(other.status(), StatusCode::OK);
    assert_eq!(state(&whole(other).await, "/supportedInterfaces/0/url"), "http://two.example/t");
    let forged = whole(ask("two.example/evil?", None).await).await;
    assert_eq!(state(&forged, "/url"), "http://localhost/t");
    let legacy = whole(server.answer(get("/.well-known/agent.json")).await).await;
    assert_eq!((state(&legacy, "/preferredTransport").as_str(), legacy.get("supportedInterfaces")), ("JSONRPC", None));
}

#[tokio::test]
async fn a_method_of_one_generation_under_the_version_of_the_other_is_refused_by_its_version() {
    let server = agent().versions(a2a::dialect::VersionMode::Strict).into_server();
    let call = async |method: &str, version: Option<&str>| -> Json {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"id":"t"}}}}"#);
        let mut request = request("", &body);
        request.headers_mut().remove("a2a-version");
        if let Some(version) = version {
            request.headers_mut().insert("a2a-version", version.parse().unwrap());
        }
        whole(server.answer(request).await).await
    };
    for (method, version) in
        [("GetTask", None), ("GetTask", Some("0.3")), ("tasks/get", Some("1.0")), ("message/stream", Some("1.0"))]
    {
        let refused = call(method, version).await;
        assert_eq!(refused.pointer("/error/code"), Some(&(-32009).into()), "{method}: {refused:?}");
        assert_eq!(state(&refused, "/error/data/0/reason"), "VERSION_NOT_SUPPORTED");
    }
    assert_eq!(call("tasks/unheard", Some("1.0")).await.pointer("/error/code"), Some(&(-32601).into()));
    assert_eq!(call("tasks/get", None).await.pointer("/error/code"), Some(&(-32001).into()));
}

#[tokio::test]
async fn a_router_answers_below_the_agents_path() {
    use tower::ServiceExt as _;
    for (path, url) in [("/t", "/t/.well-known/agent-card.json"), ("", "/.well-known/agent-card.json"), ("/t", "/t")] {
        let router = Agent::new(Card::new("Test", "For tests.")).at(path).into_server().into_router();
        let request = Request::get(url).body(axum::body::Body::empty()).unwrap();
        assert_eq!(router.oneshot(request).await.unwrap().status(), StatusCode::OK, "{url}");
    }
}
