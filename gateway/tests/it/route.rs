//! Paths: who is addressed, in every spelling, and what the agent is asked.

use crate::rig::{CardSpec, G1, P1, Plan, Rig, rest, says};
use crate::wire::Ask;
use a2a::Dialect;
use sample_agents::hostile::{Behaviour, Scripted, start};

const SEND: &str = r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

async fn two_tenants() -> (Scripted, Scripted, Rig) {
    let (acme, globex) = (start(Behaviour::Honest).await.unwrap(), start(Behaviour::Honest).await.unwrap());
    let plan = Plan::default()
        .card("acme/echo", CardSpec::of(&acme.url(), Dialect::R1))
        .card("globex/echo", CardSpec::of(&globex.url(), Dialect::R1));
    let rig = plan.start().await;
    (acme, globex, rig)
}

/// Ways to write a name that some reader might take for it.
pub(crate) fn disguises(name: &str) -> Vec<String> {
    let mut all = vec![
        name.to_uppercase(),
        format!("{}{}", name[..1].to_uppercase(), &name[1..]),
        name.bytes().map(|byte| format!("%{byte:02x}")).collect(),
        name.bytes().map(|byte| format!("%25{byte:02x}")).collect(),
        name.bytes().map(|byte| format!("%u00{byte:02x}")).collect(),
        name.bytes().map(|byte| format!("\\u00{byte:02x}")).collect(),
        name.bytes().map(|byte| format!("%c1%{:02x}", byte.wrapping_sub(0x40) | 0x80)).collect(),
        name.bytes().map(|byte| format!("%ef%bd%{:02x}", byte.wrapping_add(0x20))).collect(),
        format!("{name}%e2%80%8b"),
        format!("%c2%ad{name}"),
    ];
    for (at, byte) in name.bytes().enumerate() {
        all.push(format!("{}%{byte:02X}{}", &name[..at], &name[at + 1..]));
        all.push(format!("{}%25{byte:02X}{}", &name[..at], &name[at + 1..]));
    }
    let tails = [
        "%00",
        "%0d%0a",
        "%09",
        "%20",
        "+",
        ".",
        "..",
        "%2e",
        "%2e%2e",
        ";",
        ";x",
        "%3b",
        "%3Bx=1",
        "\\",
        "%5c",
        "%5C..",
        "%2f",
        "%2F",
        "%252f",
        "%2f..",
        "%2f%2e%2e%2f",
        "%7f",
        "%ff",
        "%c0%af",
        "%e0%80%af",
        "%",
        "%4",
        "%zz",
        "*",
        "$",
        "~",
        "'",
        "%22",
        "%3f",
        "%23",
        ":",
        "%3a",
        "%3A",
        ",",
        "=",
        "&",
        "%26",
        "@",
        "!",
        "(x)",
        "|",
        "%7c",
        "^",
        "%80",
    ];
    all.extend(tails.iter().map(|tail| format!("{name}{tail}")));
    all.extend(tails.iter().map(|tail| format!("{tail}{name}")));
    all
}

/// Paths that begin with `own` and lead to `other` for a reader who normalises.
fn detours(own: &str, other: &str) -> Vec<String> {
    let ups = [
        "..",
        "%2e%2e",
        ".%2e",
        "%2E.",
        "%252e%252e",
        "..;",
        "..%00",
        "..%2f",
        "..\\",
        "..%5c",
        "%2f..",
        "%u002e%u002e",
        "%c0%ae%c0%ae",
        "%ef%bc%8e%ef%bc%8e",
    ];
    let mut all: Vec<String> = ups.iter().map(|up| format!("/a2a/{own}/{up}/{other}/echo/message:send")).collect();
    all.extend(ups.iter().map(|up| format!("/a2a/{own}/echo/{up}/{up}/{other}/echo/message:send")));
    all.extend([
        format!("/a2a/{own}%2f..%2f{other}/echo/message:send"),
        format!("/a2a/{own}/echo%2f..%2f..%2f{other}%2fecho/message:send"),
        format!("/a2a//{other}/echo/message:send"),
        format!("//a2a/{other}/echo/message:send"),
        format!("/./a2a/{other}/echo/message:send"),
        format!("/x/../a2a/{other}/echo/message:send"),
        format!("/a2a/{own}/echo/message:send/../../../{other}/echo/message:send"),
        format!("/a2a/{own}/echo/message:send?/../../{other}/echo/message:send"),
        format!("/a2a/{own}/echo/message:send;/../{other}"),
        format!("/a2a/{own}%00/{other}/echo"),
        format!("/a2a/{own}@{other}/echo/message:send"),
        format!("/a2a/{own},{other}/echo/message:send"),
        format!("/a2a/{own}%2c{other}/echo/message:send"),
        format!("/a2a/{own}|{other}/echo/message:send"),
    ]);
    all
}

fn spellings(own: &str, other: &str) -> Vec<String> {
    let mut all: Vec<String> =
        disguises(other).into_iter().map(|name| format!("/a2a/{name}/echo/message:send")).collect();
    all.extend(disguises("echo").into_iter().take(70).map(|card| format!("/a2a/{other}/{card}/message:send")));
    all.extend(detours(own, other));
    all
}

/// T-ROUTE-1
#[tokio::test]
async fn no_spelling_of_a_path_reaches_another_tenant() {
    let (acme, globex, rig) = two_tenants().await;
    for (own, other, key) in [("acme", "globex", P1), ("globex", "acme", G1)] {
        let paths = spellings(own, other);
        assert!(paths.len() >= 200, "{}", paths.len());
        for path in paths {
            let ask = Ask::post(&path).key(key).v10().json(SEND);
            let status = rig.call(ask).await.status;
            assert!([400, 404].contains(&status) || path.contains('?') && status == 200, "{path}: {status}");
        }
    }
    let strangers = |agent: &Scripted, tenant: &str| {
        let stamped = agent.requests().into_iter().filter_map(|request| request.header("x-brutor-tenant-id"));
        stamped.filter(|stamp| stamp != tenant).count()
    };
    assert_eq!(strangers(&acme, "acme") + strangers(&globex, "globex"), 0);
}

/// T-ROUTE-1, T-ROUTE-2
#[tokio::test]
async fn a_name_is_decoded_once_and_the_colon_has_three_spellings() {
    let (acme, _globex, rig) = two_tenants().await;
    for path in [
        "/a2a/acme/echo/message:send",
        "/a2a/acme/echo/message%3Asend",
        "/a2a/acme/echo/message%3asend",
        "/a2a/%61cme/echo/message:send/",
        "http://elsewhere.test/a2a/acme/echo/message:send",
    ] {
        let heard = rig.call(Ask::post(path).key(P1).v10().json(SEND)).await;
        assert_eq!(heard.status, 200, "{path}: {}", heard.text());
    }
    assert!(acme.requests().iter().all(|request| request.target() == "/message%3Asend"));
}

/// T-ROUTE-3, T-HDR-3
#[tokio::test]
async fn headers_do_not_choose_where_a_call_goes() {
    let (acme, globex, rig) = two_tenants().await;
    for (name, value) in [
        ("X-Original-URL", "/a2a/globex/echo/message:send"),
        ("X-Rewrite-URL", "/a2a/globex/echo/message:send"),
        ("X-HTTP-Method-Override", "GET"),
        ("X-Forwarded-Host", "globex.test"),
        ("X-Forwarded-Prefix", "/a2a/globex"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "host=globex.test;proto=https"),
        ("X-Brutor-Tenant-Id", "globex"),
        ("X-Tenant-Id", "globex"),
    ] {
        let heard = rig.call(rest(SEND).header(name, value)).await;
        assert_eq!(heard.status, 200, "{name}");
    }
    assert_eq!(globex.seen().connections, 0);
    assert_eq!(acme.requests().len(), 9);
    assert!(acme.requests().iter().all(|request| request.line == "POST /message%3Asend HTTP/1.1"));
}

/// T-ROUTE-3
#[tokio::test]
async fn host_does_not_choose_where_a_call_goes() {
    let (acme, globex, rig) = two_tenants().await;
    for host in ["globex.test", "globex.test:80", "127.0.0.1", ""] {
        let bytes = format!(
            "POST /a2a/acme/echo/message:send HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nA2A-Version: 1.0\r\n\
             Authorization: Bearer {P1}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{SEND}",
            SEND.len()
        );
        assert_eq!(crate::wire::exchange(rig.address, bytes.as_bytes()).await.status, 200, "{host}");
    }
    assert_eq!((acme.requests().len(), globex.seen().connections), (4, 0));
}

/// F10, T-ROUTE-4
#[tokio::test]
async fn the_tenant_member_of_a_call_never_selects_a_tenant() {
    let (acme, globex) = (start(Behaviour::Honest).await.unwrap(), start(Behaviour::Honest).await.unwrap());
    for (declared, dialect) in
        [(None, Dialect::R1), (Some("T-77"), Dialect::R1), (None, Dialect::J1), (Some("T-77"), Dialect::J1)]
    {
        let mut spec = CardSpec::of(&acme.url(), dialect);
        spec.upstream_tenant = declared.map(str::to_owned);
        let plan = Plan::echo(spec).card("globex/echo", CardSpec::of(&globex.url(), dialect));
        let rig = plan.start().await;
        let before = acme.requests().len();
        let with_tenant = |tenant: &str| says("hi").replacen('{', &format!(r#"{{"tenant":"{tenant}","#), 1);
        for tenant in ["globex", ""] {
            assert_eq!(rig.call(rest(&with_tenant(tenant))).await.status, 200);
            let heard = rig.call(crate::rig::rpc("SendMessage", &with_tenant(tenant))).await;
            assert_eq!(heard.status, 200);
        }
        rig.call(Ask::get("/a2a/acme/echo/tasks?tenant=globex").key(P1).v10()).await;
        for request in &acme.requests()[before..] {
            let heard = format!("{}\n{}", request.line, request.body_text());
            assert!(!heard.contains("globex"), "{heard}");
            assert_eq!(heard.contains("T-77"), declared.is_some(), "{heard}");
        }
    }
    assert_eq!(globex.seen().connections, 0);
}

/// F08
#[tokio::test]
async fn an_id_in_a_path_is_one_segment_or_nothing() {
    let (acme, _globex, rig) = two_tenants().await;
    let long = "a".repeat(5_000);
    for id in [
        "..%2f..%2fadmin",
        "%2e%2e%2fadmin",
        "%252e%252e%252fadmin",
        "t1%3fx=1",
        "t1%23",
        "t1%5c..%5cadmin",
        "t1%00",
        "t1%0d%0aX-Evil:%201",
        "@evil.test",
        &long,
    ] {
        let heard = rig.call(Ask::get(&format!("/a2a/acme/echo/tasks/{id}")).key(P1).v10()).await;
        assert!([400, 404].contains(&heard.status), "{id}: {}", heard.status);
    }
    let by_rpc = crate::rig::rpc("GetTask", r#"{"id":"../../extendedAgentCard"}"#);
    assert_eq!(rig.call(by_rpc).await.code(), -32001);
    let tenant = Ask::get("/a2a/acme%2f..%2fglobex/echo/tasks").key(P1).v10();
    assert_eq!(rig.call(tenant).await.status, 400);
    assert_eq!(acme.seen().connections, 0);
}

#[tokio::test]
async fn a_known_path_with_the_wrong_verb_names_the_right_ones() {
    let (acme, _globex, rig) = two_tenants().await;
    for (method, target, allow) in [
        ("GET", "message:send", "POST"),
        ("PUT", "message:stream", "POST"),
        ("GET", "tasks/t1:cancel", "POST"),
        ("DELETE", "tasks/t1", "GET"),
        ("PUT", "tasks/t1:subscribe", "GET, POST"),
        ("PATCH", "tasks/t1/pushNotificationConfigs/c1", "DELETE, GET"),
    ] {
        let heard = rig.call(Ask::new(method, &format!("/a2a/acme/echo/{target}")).key(P1).v10()).await;
        assert_eq!((heard.status, heard.header("allow").as_deref()), (405, Some(allow)), "{method} {target}");
    }
    let unknown = rig.call(Ask::get("/a2a/acme/echo/nothing/here").key(P1).v10()).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(acme.seen().connections, 0);
}

/// T-ROUTE-2
#[tokio::test]
async fn the_agent_hears_the_configured_colon() {
    for (colon, line) in [
        (a2a::dialect::Colon::Percent, "POST /base/message%3Asend HTTP/1.1"),
        (a2a::dialect::Colon::Literal, "POST /base/message:send HTTP/1.1"),
    ] {
        let agent = start(Behaviour::Honest).await.unwrap();
        for dialect in [Dialect::R1, Dialect::PathRpc] {
            let mut spec = CardSpec::of(&format!("{}/base", agent.url()), dialect);
            spec.colon = colon;
            let rig = Plan::echo(spec).start().await;
            assert_eq!(rig.call(rest(SEND)).await.status, 200);
        }
        assert_eq!(agent.requests().into_iter().map(|request| request.line).collect::<Vec<_>>(), [line, line]);
    }
}
