//! Cards of agents met in the field, and what the gateway makes of them.

use super::*;

fn object(text: &str) -> Object {
    match json::read(text.as_bytes(), &json::Limits::default()) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}"),
    }
}

fn text(card: &Object) -> String {
    String::from_utf8_lossy(&json::write(&Json::Object(card.clone()))).into_owned()
}

const URL: &str = "https://gw.test/a2a/acme/echo";

fn gateway() -> Gateway {
    Gateway {
        url: URL.to_owned(),
        interfaces: vec![
            (Binding::JsonRpc, Version::V10),
            (Binding::JsonRpc, Version::V03),
            (Binding::HttpJson, Version::V10),
        ],
        grpc: None,
        security: vec![
            Scheme {
                name: "bearer".to_owned(),
                scope: "a2a.invoke".to_owned(),
                kind: SchemeKind::Bearer { format: None },
            },
            Scheme {
                name: "apiKey".to_owned(),
                scope: "a2a.invoke".to_owned(),
                kind: SchemeKind::ApiKey { header: "X-API-Key".to_owned() },
            },
        ],
        relays: Relays { streaming: true, push_notifications: false, extended_card: true },
    }
}

/// An upstream card with both generations' members and every kind of address.
const IN_CLUSTER: &str = r#"{"name":"S","description":"d","version":"1","url":"http://10.0.0.7:9100/firefly/","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"http://10.0.0.7:9100/rest","transport":"HTTP+JSON"}],"supportedInterfaces":[{"url":"https://tenant.example/a2a/agents/s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"/firefly/v1","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},{"url":"grpc://10.0.0.7:50051","protocolBinding":"GRPC","protocolVersion":"1.0"}],"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[],"signatures":[{"protected":"e30","signature":"AA"}]}"#;

/// F22
#[test]
fn every_address_of_a_published_card_is_the_gateways() {
    let card = publish(&object(IN_CLUSTER), &gateway()).expect("publishable");
    let expected = format!(
        r#"{{"name":"S","description":"d","version":"1","supportedInterfaces":[{{"url":"{URL}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}},{{"url":"{URL}","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}},{{"url":"{URL}","protocolBinding":"JSONRPC","protocolVersion":"0.3"}}],"protocolVersion":"0.3.0","url":"{URL}","preferredTransport":"JSONRPC","additionalInterfaces":[{{"url":"{URL}","transport":"JSONRPC"}}],"capabilities":{{"streaming":false,"pushNotifications":false,"extendedAgentCard":false}},"supportsAuthenticatedExtendedCard":false,"securitySchemes":{{"bearer":{{"type":"http","scheme":"Bearer","httpAuthSecurityScheme":{{"scheme":"Bearer"}}}},"apiKey":{{"type":"apiKey","in":"header","name":"X-API-Key","apiKeySecurityScheme":{{"location":"header","name":"X-API-Key"}}}}}},"security":[{{"bearer":["a2a.invoke"]}},{{"apiKey":["a2a.invoke"]}}],"securityRequirements":[{{"schemes":{{"bearer":{{"list":["a2a.invoke"]}}}}}},{{"schemes":{{"apiKey":{{"list":["a2a.invoke"]}}}}}}],"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{{"id":"general","name":"S","description":"d","tags":["general"]}}]}}"#
    );
    assert_eq!(text(&card), expected);
    for leak in ["10.0.0.7", "tenant.example", "firefly", "echo//", "GRPC", "signatures"] {
        assert!(!text(&card).contains(leak), "{leak}");
    }
}

#[test]
fn publishing_a_published_card_changes_nothing() {
    let card = publish(&object(IN_CLUSTER), &gateway()).expect("publishable");
    assert_eq!(publish(&card, &gateway()), Ok(card));
}

#[test]
fn abilities_are_those_of_the_agent_that_the_gateway_relays() {
    let able = object(
        r#"{"name":"a","version":"1","url":"http://up/","capabilities":{"streaming":true,"pushNotifications":true,"stateTransitionHistory":true,"extensions":[{"uri":"urn:x","required":false,"params":{"a":[1,"",null]}},{"uri":"urn:y","required":true}]},"supportsAuthenticatedExtendedCard":true}"#,
    );
    let card = publish(&able, &gateway()).expect("publishable");
    let capabilities = card.get("capabilities").and_then(Json::as_object).expect("there");
    assert_eq!(
        text(capabilities),
        r#"{"streaming":true,"pushNotifications":false,"extendedAgentCard":true,"extensions":[{"uri":"urn:x","params":{"a":[1]}},{"uri":"urn:y","required":true}]}"#
    );
    assert_eq!(card.get("supportsAuthenticatedExtendedCard"), Some(&Json::Bool(true)));
    let mut deaf = gateway();
    deaf.relays = Relays { streaming: false, push_notifications: true, extended_card: false };
    let card = publish(&able, &deaf).expect("publishable");
    assert_eq!(card.get("capabilities").and_then(|all| all.get("streaming")), Some(&Json::Bool(false)));
    assert_eq!(card.get("capabilities").and_then(|all| all.get("pushNotifications")), Some(&Json::Bool(true)));
    assert_eq!(card.get("supportsAuthenticatedExtendedCard"), Some(&Json::Bool(false)));
}

#[test]
fn what_readers_need_is_filled_in_and_the_agents_security_is_gone() {
    let bare = object(
        r#"{"name":"a","description":"","version":"1","url":"http://up/","iconUrl":null,"securitySchemes":{"up":{"type":"http","scheme":"basic"}},"security":[{"up":[]}],"skills":[{"name":"s","security":[{"up":[]}],"tags":[],"examples":["",  "hi"],"inputSchema":{"type":"object"}},{"id":"t","tags":["x"]}]}"#,
    );
    let card = publish(&bare, &gateway()).expect("publishable");
    assert_eq!(card.str("description"), Some("a"));
    assert_eq!(card.get("defaultOutputModes"), Some(&Json::from(vec![Json::from("text/plain")])));
    let skills = card.get("skills").cloned().map(|skills| text(&Object::from([("skills", skills)])));
    assert_eq!(
        skills.as_deref(),
        Some(
            r#"{"skills":[{"name":"s","examples":["hi"],"inputSchema":{"type":"object"},"id":"s","description":"s","tags":["general"]},{"id":"t","tags":["x"],"name":"t","description":"t"}]}"#
        )
    );
    assert!(!text(&card).contains(r#""up""#));
}

#[test]
fn links_to_the_agents_host_are_left_out_and_others_kept() {
    let card = |link: &str| {
        let card = format!(
            r#"{{"name":"a","version":"1","url":"http://Up.internal:9100/","documentationUrl":"{link}","provider":{{"organization":"o","url":"https://o.test"}}}}"#
        );
        publish(&object(&card), &gateway()).expect("publishable")
    };
    for hidden in ["http://up.internal/docs", "https://UP.INTERNAL.:1/", "/docs", "https://u:p@else.test/", "//x/y"]
        .into_iter()
        .chain(["data:text/html,<b>", "data:image/svg+xml;base64,AA==", "javascript://x.test/%0aalert(1)"])
    {
        assert_eq!(card(hidden).str("documentationUrl"), None, "{hidden}");
    }
    for kept in ["https://docs.test/a", "https://[::1]:8/x", "data:image/png;base64,AA=="] {
        assert_eq!(card(kept).str("documentationUrl"), Some(kept));
    }
    assert_eq!(card("/").get("provider").and_then(|provider| provider.get("url")), Some(&Json::from("https://o.test")));
    let inside = object(
        r#"{"name":"a","version":"1","url":"http://10.0.0.7/","provider":{"organization":"o","url":"http://10.0.0.7/"}}"#,
    );
    let card = publish(&inside, &gateway()).expect("publishable");
    assert_eq!(card.get("provider"), Some(&Json::from([("organization", "o")])));
}

#[test]
fn every_problem_is_named_with_its_place() {
    let deep = format!("{}1{}", r#"{"d":"#.repeat(40), "}".repeat(40));
    let bad = object(&format!(
        r#"{{"name":5,"description":"d","url":"http://up/","defaultInputModes":["text/plain",7],"capabilities":{{"extensions":[{{"params":{{"a/b~c":[9007199254740993]}}}},3]}},"skills":["x",{{"id":"i","description":{{"a":1}},"tags":["t"]}},{{"tags":[1]}}],"provider":{deep}}}"#
    ));
    let mut problems = publish(&bad, &gateway()).expect_err("refused");
    problems.sort_by(|one, other| one.path.cmp(&other.path));
    let wrong = |path: &str, expected| Problem { path: path.to_owned(), fault: CardFault::WrongType { expected } };
    let missing = |path: &str| Problem { path: path.to_owned(), fault: CardFault::Missing };
    let expected = [
        missing("/capabilities/extensions/0/uri"),
        Problem { path: "/capabilities/extensions/0/params/a~1b~0c/0".to_owned(), fault: CardFault::NumberTooBig },
        wrong("/capabilities/extensions/1", "an object"),
        wrong("/defaultInputModes/1", "a string"),
        wrong("/name", "a string"),
        Problem { path: format!("/provider{}", "/d".repeat(31)), fault: CardFault::TooDeep { limit: 32 } },
        wrong("/skills/0", "an object"),
        wrong("/skills/1/description", "a string"),
        missing("/skills/2/description"),
        missing("/skills/2/id"),
        missing("/skills/2/name"),
        wrong("/skills/2/tags/0", "a string"),
        missing("/version"),
    ];
    for problem in &expected {
        assert!(problems.contains(problem), "{problem:?} is missing in {problems:#?}");
    }
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
}

#[test]
fn requirements_without_a_scope_and_schemes_with_two_flows_are_refused() {
    let mut careless = gateway();
    careless.security.push(Scheme { name: "mtls".to_owned(), scope: String::new(), kind: SchemeKind::MutualTls });
    let problems = publish(&object(IN_CLUSTER), &careless).expect_err("refused");
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["/securityRequirements/2", "/security/2"]);
    let two = r#"{"name":"a","description":"d","version":"1","supportedInterfaces":[{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true},"defaultInputModes":["a"],"defaultOutputModes":["a"],"skills":[{"id":"i","name":"n","description":"d","tags":["t"]}],"securitySchemes":{"o":{"oauth2SecurityScheme":{"flows":{"implicit":{"scopes":{"a":"b"}},"password":{"scopes":{"a":"b"}}}}}}}"#;
    let several = Problem { path: "/securitySchemes/o".to_owned(), fault: CardFault::SeveralFlows };
    assert_eq!(tidy(&object(two)), Err(vec![several]));
}

#[test]
fn a_gateway_without_the_old_generation_publishes_none_of_its_members() {
    let mut new = gateway();
    new.interfaces.retain(|(_, version)| *version == Version::V10);
    let card = publish(&object(IN_CLUSTER), &new).expect("publishable");
    for member in ["url", "preferredTransport", "protocolVersion", "additionalInterfaces", "security"] {
        assert!(!card.contains(member), "{member}");
    }
    assert_eq!(generation(&card), Some(Generation::V10));
}

#[test]
fn interfaces_of_both_generations_are_read_in_order() {
    let listed = |card: &str| -> Vec<String> {
        let all = interfaces(&object(card)).into_iter();
        all.map(|one| {
            let dialect = one.dialect().map_or("-", crate::Dialect::name);
            format!("{} {} {} {dialect}", one.url, one.binding.name(), one.version)
        })
        .collect()
    };
    assert_eq!(
        listed(IN_CLUSTER),
        [
            "https://tenant.example/a2a/agents/s/rpc JSONRPC 1.0 v10_jsonrpc",
            "/firefly/v1 HTTP+JSON 1.0 v10_http_json",
            "grpc://10.0.0.7:50051 GRPC 1.0 v10_grpc",
            "http://10.0.0.7:9100/firefly/ JSONRPC 0.3.0 v03_jsonrpc",
            "http://10.0.0.7:9100/rest HTTP+JSON 0.3.0 v03_http_json",
        ]
    );
    let wrapper_less = r#"{"protocolVersion":"1.0","supportedInterfaces":[{"url":"http://u","protocolBinding":"jsonrpc"},{"url":"","protocolBinding":"JSONRPC"},{"url":"x"},7]}"#;
    assert_eq!(listed(wrapper_less), ["http://u JSONRPC 1.0 v10_jsonrpc"]);
    let union = r#"{"protocolVersion":"0.3.0","url":"http://u","additionalInterfaces":[{"url":"http://u","transport":"JSONRPC"}],"supportedInterfaces":[{"url":"http://u","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"t"},{"url":"http://u","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}"#;
    assert_eq!(listed(union), ["http://u JSONRPC 1.0 v10_jsonrpc", "http://u JSONRPC 0.3 v03_jsonrpc"]);
    assert_eq!(interfaces(&object(union)).first().and_then(|one| one.tenant.clone()).as_deref(), Some("t"));
}

#[test]
fn the_generation_of_a_card_is_told_by_its_addresses() {
    let cases = [
        (IN_CLUSTER, Some(Generation::Union)),
        (r#"{"url":"http://u"}"#, Some(Generation::V03)),
        (r#"{"supportedInterfaces":[{"url":"http://u"}]}"#, Some(Generation::V10)),
        (r#"{"supportedInterfaces":[],"url":""}"#, None),
        (r#"{"supportedInterfaces":7,"url":7}"#, None),
    ];
    for (card, expected) in cases {
        assert_eq!(generation(&object(card)), expected, "{card}");
    }
}

#[test]
fn pruning_takes_what_becomes_empty_too() {
    let mut card = object(r#"{"a":{"b":[{"c":""},null]},"d":[1,"",[[]],false],"e":0,"f":{"g":{}}}"#);
    prune(&mut card);
    assert_eq!(text(&card), r#"{"d":[1,false],"e":0}"#);
}
