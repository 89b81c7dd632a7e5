//! gRPC of 1.0: one agent by its address, several by the name in `tenant`, and what their cards say of it.

use a2a::dialect::{AgentAddress, Colon, Minted, PathBody, R3Bytes, R3Objects, SubscribeVerb, encode_call};
use a2a::{Call, Dialect, OperationKind, Version, grpc};
use a2a_agent::{Agent, Agents, Body, Card, Generations, Grpc, Outcome, Skill};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use json::{Json, Limits, Object};

use crate::{agent, hi, request, state, whole};

/// An agent that says its name.
fn named(name: &'static str, grpc: Grpc) -> a2a_agent::Server {
    let card = Card::new(name, "Says its name.").skill(Skill::new("t", "T", "Does t.", &["t"]));
    let agent = Agent::new(card).at(format!("/{name}")).grpc(grpc);
    agent.on_message(move |_| std::future::ready(Outcome::say(name))).into_server()
}

fn call(kind: OperationKind, params: &str, tenant: Option<&str>) -> Request<Full<Bytes>> {
    let Ok(Json::Object(params)) = json::read(params.as_bytes(), &Limits::default()) else { panic!("{params}") };
    let address = AgentAddress {
        base: "http://agent.example".to_owned(),
        tenant: tenant.map(str::to_owned),
        colon: Colon::Literal,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Auto,
        r3_objects: R3Objects::Proto,
    };
    let call = Call { kind, params, origin: Version::V10 };
    let minted = Minted { rpc_id: "1", message_id: "m" };
    let outgoing = encode_call(Dialect::G1, &call, &address, minted, SubscribeVerb::Post).unwrap();
    let mut request = Request::builder().method(outgoing.method).uri(outgoing.url);
    for (name, value) in outgoing.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(Bytes::from(outgoing.body.unwrap_or_default()))).unwrap()
}

/// The status, and the answer when it is 0.
async fn told(kind: OperationKind, response: Response<Body>) -> (String, Json) {
    let of = |headers: &http::HeaderMap| headers.get("grpc-status").map(|status| status.to_str().unwrap().to_owned());
    let in_head = of(response.headers());
    let body = response.into_body().collect().await.unwrap();
    let status = in_head.or_else(|| body.trailers().and_then(of)).unwrap();
    let bytes = body.to_bytes();
    let answer = (status == "0").then(|| {
        let message = grpc::one(&bytes).unwrap();
        grpc::decode_answer(kind, message, &Limits::default()).unwrap().body
    });
    (status, answer.unwrap_or_default())
}

async fn who(agents: &Agents, tenant: Option<&str>) -> Result<String, String> {
    let kind = OperationKind::SendMessage;
    let params = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    match told(kind, agents.answer(call(kind, params, tenant)).await).await {
        (status, answer) if status == "0" => Ok(state(&answer, "/message/parts/0/text")),
        (status, _) => Err(status),
    }
}

#[tokio::test]
async fn agents_at_one_address_are_told_apart_by_tenant_and_the_first_needs_none() {
    let tenant = |name: &str| Grpc::Tenant(name.to_owned());
    let agents = [named("silent", Grpc::Off), named("one", tenant("one")), named("two", tenant("two"))];
    let agents: Agents = agents.into_iter().collect();
    assert_eq!(who(&agents, None).await.as_deref(), Ok("one"));
    assert_eq!(who(&agents, Some("one")).await.as_deref(), Ok("one"));
    assert_eq!(who(&agents, Some("two")).await.as_deref(), Ok("two"));
    // INVALID_ARGUMENT: no agent of this name speaks it.
    assert_eq!(who(&agents, Some("silent")).await, Err("3".to_owned()));
    assert_eq!(who(&agents, Some("nobody")).await, Err("3".to_owned()));
    let tasks = OperationKind::ListTasks;
    let (status, listed) = told(tasks, agents.answer(call(tasks, "{}", Some("two"))).await).await;
    assert_eq!((status.as_str(), listed.get("totalSize")), ("0", Some(&0.into())));
}

#[tokio::test]
async fn a_lone_agent_is_reached_by_its_address_whatever_tenant_is_named() {
    let server =
        Agent::new(Card::new("Alone", "Says so.")).on_message(|_| async { Outcome::say("alone") }).into_server();
    let agents = Agents::from(server);
    for tenant in [None, Some("whoever")] {
        assert_eq!(who(&agents, tenant).await.as_deref(), Ok("alone"));
    }
    let silent = Agents::from(named("silent", Grpc::Off));
    assert_eq!(who(&silent, None).await, Err("12".to_owned()));
    assert!(!silent.has("/lf.a2a.v1.A2AService/SendMessage"));
    // A method that the service lacks, and a body that is none of its messages.
    let mut unknown = call(OperationKind::GetTask, r#"{"id":"t"}"#, None);
    *unknown.uri_mut() = "http://agent.example/lf.a2a.v1.A2AService/Nothing".parse().unwrap();
    assert_eq!(told(OperationKind::GetTask, agents.answer(unknown).await).await.0, "12");
    let mut broken = call(OperationKind::GetTask, r#"{"id":"t"}"#, None);
    *broken.body_mut() = Full::new(Bytes::from_static(b"\0\0\0\0\x09x"));
    assert_eq!(told(OperationKind::GetTask, agents.answer(broken).await).await.0, "3");
}

#[tokio::test]
async fn a_router_of_several_answers_for_each_and_for_nobody_else() {
    use tower::ServiceExt as _;
    let tenant = |name: &str| Grpc::Tenant(name.to_owned());
    let agents: Agents = [named("one", tenant("one")), named("two", tenant("two"))].into_iter().collect();
    let router = agents.into_router();
    for (path, expected) in [("/one", 200), ("/two/health", 200), ("/three", 404), ("/onetwo", 404), ("/", 404)] {
        let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
        assert_eq!(router.clone().oneshot(request).await.unwrap().status().as_u16(), expected, "{path}");
    }
    let kind = OperationKind::ListTasks;
    let asked = call(kind, "{}", Some("two")).map(axum::body::Body::new);
    let answer = router.oneshot(asked).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/grpc");
}

async fn card_of(server: &a2a_agent::Server, mount: &str) -> Json {
    let request = Request::get(format!("{mount}/.well-known/agent-card.json")).header("host", "agent.example:9100");
    whole(server.answer(request.body(Full::<Bytes>::default()).unwrap()).await).await
}

fn grpc_of(card: &Json) -> Option<Object> {
    let mut interfaces = card.get("supportedInterfaces")?.as_array()?.iter().filter_map(Json::as_object);
    interfaces.find(|one| one.str("protocolBinding") == Some("GRPC")).cloned()
}

#[tokio::test]
async fn cards_list_grpc_where_it_is_served() {
    let by_name = card_of(&named("one", Grpc::Tenant("one".to_owned())), "/one").await;
    let listed = grpc_of(&by_name).unwrap();
    assert_eq!((listed.str("url"), listed.str("tenant")), (Some("agent.example:9100"), Some("one")));
    let at_root = Agent::new(Card::new("Alone", "Says so.")).into_server();
    let listed = grpc_of(&card_of(&at_root, "").await).unwrap();
    assert_eq!((listed.str("url"), listed.str("tenant")), (Some("agent.example:9100"), None));
    assert_eq!(grpc_of(&card_of(&named("silent", Grpc::Off), "/silent").await), None);
    assert_eq!(grpc_of(&card_of(&agent().into_server(), "/t").await), None);
}

#[tokio::test]
async fn an_agent_of_one_generation_says_nothing_that_the_other_knows_and_refuses_its_calls() {
    let agent = agent().generations(Generations::V10).bearer_tokens([("t", "billing")]).into_server();
    let card = card_of(&agent, "/t").await;
    let card = card.as_object().unwrap();
    let members: Vec<&str> = card.keys().collect();
    let expected = ["name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes"];
    let more = ["defaultOutputModes", "skills", "securitySchemes", "securityRequirements"];
    assert_eq!(members, [&expected[..], &more[..]].concat());
    let scheme = card.get("securitySchemes").unwrap().get("bearer").unwrap().as_object().unwrap();
    assert_eq!(scheme.keys().collect::<Vec<_>>(), ["httpAuthSecurityScheme"]);
    let old = Request::get("/t/.well-known/agent.json").body(Full::<Bytes>::default()).unwrap();
    assert_eq!(agent.answer(old).await.status(), 404);
    let open = crate::agent().generations(Generations::V10).into_server();
    let rpc = r#"{"jsonrpc":"2.0","id":7,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]}}}"#;
    let mut asked = request("", rpc);
    asked.headers_mut().remove("a2a-version");
    let refused = whole(open.answer(asked).await).await;
    assert_eq!((refused.pointer("/error/code"), refused.get("id")), (Some(&(-32009).into()), Some(&7.into())));
    assert_eq!(open.answer(request("/message:send", &hi(""))).await.status(), 200);
}
