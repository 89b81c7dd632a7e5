//! What policies say to calls, and what is said of documents that are wrong.

#![cfg(feature = "cedar")]

use super::*;
use a2a::OperationKind;
use serde_json::json;

fn metadata(text: &str) -> Metadata {
    Metadata::of(Some(&::json::read(text.as_bytes(), &::json::Limits::default()).unwrap()))
}

/// Monday the 30th of November 2026, 19:54 UTC.
const EVENING: i64 = 1_796_068_440_000_000;

fn asked() -> Asked {
    Asked {
        principal: "ann".to_owned(),
        groups: vec!["finance".to_owned()],
        scheme: "api_key",
        card: "books".to_owned(),
        tags: vec!["internal".to_owned()],
        direction: "inbound",
        release: Some("2.1.0".to_owned()),
        revision: 7,
        operation: OperationKind::SendMessage,
        now: EVENING,
        source: "10.1.2.3".parse().unwrap(),
        extensions: vec!["https://e.test/v1".to_owned()],
        delegation: None,
        metadata: metadata(r#"{"run":"r1"}"#),
        message: Some(AskedMessage {
            metadata: metadata(r#"{"customer":"acme","level":3,"urgent":true,"to":["eu","us"],"in":{"region":"eu"}}"#),
            extensions: vec!["https://m.test/v1".to_owned()],
            parts: 2,
            follow_up: false,
        }),
    }
}

fn compile(document: &serde_json::Value) -> Result<Conditions, Vec<Problem>> {
    Conditions::compile("house", (3, 9), document.to_string().as_bytes())
}

fn forbid(when: &str) -> Conditions {
    let text = format!("@id(\"rule\")\nforbid(principal, action, resource) when {{ {when} }};");
    compile(&json!({"policies": text})).unwrap_or_else(|problems| panic!("{when}: {problems:?}"))
}

fn denied(why: Why, policies: &[&str]) -> Ruling {
    let policies = policies.iter().map(|id| (*id).to_owned()).collect();
    Ruling::Denied(Cause { conditions: "house".to_owned(), version: 3, why, policies, earlier: None })
}

/// The same, said of somebody earlier in the chain.
fn of_earlier(ruling: Ruling, hop: u32, principal: &str) -> Ruling {
    let earlier = Some(Earlier { hop, principal: principal.to_owned() });
    match ruling {
        Ruling::Denied(cause) => Ruling::Denied(Cause { earlier, ..cause }),
        Ruling::WouldDeny(cause) => Ruling::WouldDeny(Cause { earlier, ..cause }),
        Ruling::Allowed => Ruling::Allowed,
    }
}

fn tried(ruling: Ruling) -> Ruling {
    match ruling {
        Ruling::Denied(cause) => Ruling::WouldDeny(cause),
        other @ (Ruling::Allowed | Ruling::WouldDeny(_)) => other,
    }
}

/// `eve` has asked `planner`, which has asked `ann`, who calls now.
fn delegated() -> Asked {
    let hop = |name: &str, group: &str, card: &str| (name.to_owned(), vec![group.to_owned()], card.to_owned());
    let hops = vec![hop("eve", "guests", "planner"), hop("planner", "agents", "echo")];
    Asked { delegation: Some(Behind { root: "r".to_owned(), hops }), ..asked() }
}

#[test]
fn every_fact_of_a_call_can_be_asked_for() {
    let true_of_it = [
        r#"principal == Principal::"ann" && principal.name like "a*""#,
        r#"principal in Group::"finance""#,
        r#"resource == Card::"books" && resource.name == "books""#,
        r#"resource in Tag::"internal""#,
        r#"resource.direction == Direction::"inbound" && resource.revision == 7"#,
        r#"resource has release && resource.release like "2.*""#,
        r#"action == Action::"send" && action in Action::"write""#,
        r#"context.time.weekday == Weekday::"monday" && context.time.clock == 1954 && context.time.date == 20261130"#,
        r#"context.time.epoch == 1796068440 && context.time.now < datetime("2026-12-01")"#,
        r#"context.source.isInRange(ip("10.0.0.0/8")) && !context.source.isLoopback()"#,
        r#"context.scheme == Scheme::"api_key""#,
        r#"context.extensions.contains("https://e.test/v1")"#,
        r#"!(context has delegation)"#,
        r#"context.metadata.text.hasTag("run") && context.metadata.text.getTag("run") == "r1""#,
        r#"context has message && context.message.parts == 2 && !context.message.follow_up"#,
        r#"context has message && context.message.extensions.contains("https://m.test/v1")"#,
        r#"context has message && context.message.metadata.text.hasTag("customer") && context.message.metadata.text.getTag("customer") == "acme""#,
        r#"context has message && context.message.metadata.number.hasTag("level") && context.message.metadata.number.getTag("level") > 2"#,
        r#"context has message && context.message.metadata.flag.hasTag("urgent") && context.message.metadata.flag.getTag("urgent")"#,
        r#"context has message && context.message.metadata.list.hasTag("to") && context.message.metadata.list.getTag("to").contains("eu")"#,
        r#"context has message && context.message.metadata.text.hasTag("/in/region") && context.message.metadata.keys.contains("in")"#,
    ];
    for when in true_of_it {
        assert_eq!(forbid(when).judge(&asked()), denied(Why::Forbidden, &["rule"]), "{when}");
        assert_eq!(forbid(&format!("!({when})")).judge(&asked()), Ruling::Allowed, "not {when}");
    }
}

#[test]
fn a_chain_names_its_first_and_last_caller_and_its_cards() {
    for when in [
        r#"context has delegation && context.delegation.depth == 2 && context.delegation.root == "r""#,
        r#"context has delegation && context.delegation.first in Group::"guests""#,
        r#"context has delegation && context.delegation.last == Principal::"planner""#,
        r#"context has delegation && context.delegation.cards.contains("echo")"#,
    ] {
        assert_eq!(forbid(when).judge(&delegated()), denied(Why::Forbidden, &["rule"]), "{when}");
        assert_eq!(forbid(when).judge(&asked()), Ruling::Allowed, "{when}");
    }
}

#[test]
fn each_earlier_caller_is_asked_about_and_who_is_denied_denies_the_call() {
    let rule = || denied(Why::Forbidden, &["rule"]);
    for (when, told) in [
        (r#"principal == Principal::"eve" && principal in Group::"guests""#, of_earlier(rule(), 1, "eve")),
        (r#"principal == Principal::"planner" && principal.name == "planner""#, of_earlier(rule(), 2, "planner")),
        (r#"principal in [Group::"agents", Group::"guests"]"#, of_earlier(rule(), 1, "eve")),
        (r#"principal in [Group::"agents", Group::"finance"]"#, rule()),
        // Everything else is that of the call itself.
        (r#"principal == Principal::"eve" && context.delegation.depth == 2"#, of_earlier(rule(), 1, "eve")),
        (r#"principal == Principal::"eve" && resource == Card::"planner""#, Ruling::Allowed),
    ] {
        let text =
            format!("@id(\"rule\")\nforbid(principal, action, resource) when {{ context has delegation && {when} }};");
        let conditions = compile(&json!({"policies": text})).unwrap();
        assert_eq!(conditions.judge(&delegated()), told, "{when}");
        assert_eq!(conditions.judge(&asked()), Ruling::Allowed, "{when}");
    }
    // A list of who may: everybody in the chain must be on it.
    let listed = |groups: &str| {
        let text = format!("@id(\"listed\") permit(principal, action, resource) when {{ principal in [{groups}] }};");
        compile(&json!({"otherwise": "deny", "policies": text})).unwrap().judge(&delegated())
    };
    let all = r#"Group::"finance", Group::"guests", Group::"agents""#;
    assert_eq!(listed(all), Ruling::Allowed);
    let none = |hop, name| of_earlier(denied(Why::NotPermitted, &[]), hop, name);
    assert_eq!(listed(r#"Group::"finance", Group::"agents""#), none(1, "eve"));
    assert_eq!(listed(r#"Group::"finance", Group::"guests""#), none(2, "planner"));
    assert_eq!(listed(r#"Group::"guests", Group::"agents""#), denied(Why::NotPermitted, &[]));
    // What counts is asked of everybody before what is only tried.
    let text = r#"
        @id("tried") @mode("shadow") forbid(principal, action, resource)
            when { principal in [Group::"finance", Group::"guests"] };
        @id("counts") forbid(principal == Principal::"planner", action == Action::"send", resource);"#;
    let both = compile(&json!({"policies": text})).unwrap();
    assert_eq!(both.judge(&delegated()), of_earlier(denied(Why::Forbidden, &["counts"]), 2, "planner"));
    let streamed = Asked { operation: OperationKind::SendStreamingMessage, groups: Vec::new(), ..delegated() };
    assert_eq!(both.judge(&streamed), of_earlier(tried(denied(Why::Forbidden, &["tried"])), 1, "eve"));
    let said = of_earlier(rule(), 1, "eve");
    let Ruling::Denied(cause) = said else { panic!("{said:?}") };
    assert_eq!(cause.to_string(), "rule of conditions house forbids it for eve, who called before (hop 1)");
}

/// The caller may be in the chain, too: now with the groups of its token, before with those that are stored.
#[test]
fn a_caller_that_is_in_its_own_chain_is_asked_about_as_both() {
    let hops = vec![("ann".to_owned(), vec!["guests".to_owned()], "planner".to_owned())];
    let own = Asked { delegation: Some(Behind { root: "r".to_owned(), hops }), ..asked() };
    let rule = denied(Why::Forbidden, &["rule"]);
    assert_eq!(forbid(r#"principal in Group::"finance""#).judge(&own), rule);
    assert_eq!(forbid(r#"principal in Group::"guests""#).judge(&own), of_earlier(rule, 1, "ann"));
    let both = r#"principal in Group::"guests" && principal in Group::"finance""#;
    assert_eq!(forbid(both).judge(&own), Ruling::Allowed, "never as one with all of them");
}

#[test]
fn every_operation_is_an_action_in_one_group_or_two() {
    for kind in OperationKind::ALL {
        let asked = Asked { operation: kind, ..asked() };
        let one = forbid(&format!("action == Action::\"{}\"", kind.name()));
        assert_eq!(one.judge(&asked), denied(Why::Forbidden, &["rule"]), "{kind:?}");
        let any = forbid(r#"action in [Action::"read", Action::"write"]"#);
        assert_eq!(any.judge(&asked), denied(Why::Forbidden, &["rule"]), "{kind:?}");
    }
}

#[test]
fn otherwise_deny_needs_a_permit_and_a_forbid_still_wins() {
    let text = r#"
        @id("staff") permit(principal in Group::"finance", action, resource);
        @id("no-books") forbid(principal, action == Action::"stream", resource == Card::"books");"#;
    let listed = compile(&json!({"otherwise": "deny", "policies": text})).unwrap();
    assert_eq!(listed.judge(&asked()), Ruling::Allowed);
    assert_eq!(listed.judge(&Asked { groups: Vec::new(), ..asked() }), denied(Why::NotPermitted, &[]));
    let streamed = Asked { operation: OperationKind::SendStreamingMessage, ..asked() };
    assert_eq!(listed.judge(&streamed), denied(Why::Forbidden, &["no-books"]));
}

#[test]
fn what_fails_denies_whatever_else_holds() {
    let overflow = "context.time.epoch * 9223372036854775807 > 0";
    assert_eq!(forbid(overflow).judge(&asked()), denied(Why::Failed, &["rule"]));
    let text = format!(
        "@id(\"all\") permit(principal, action, resource); @id(\"some\") permit(principal, action, resource) when {{ {overflow} }};"
    );
    let both = compile(&json!({"otherwise": "deny", "policies": text})).unwrap();
    assert_eq!(both.judge(&asked()), denied(Why::Failed, &["some"]));
}

#[test]
fn shadow_refuses_nothing_and_says_what_it_would() {
    let would = |ids: &[&str]| tried(denied(Why::Forbidden, ids));
    let all = "@id(\"a\") forbid(principal, action, resource);";
    assert_eq!(compile(&json!({"mode": "shadow", "policies": all})).unwrap().judge(&asked()), would(&["a"]));
    assert_eq!(compile(&json!({"mode": "off", "policies": all})).unwrap().judge(&asked()), Ruling::Allowed);
    // One policy is tried beside others that count.
    let text = r#"
        @id("counts") forbid(principal, action == Action::"list", resource);
        @id("tried") @mode("shadow") forbid(principal, action in Action::"write", resource);"#;
    let some = compile(&json!({"policies": text})).unwrap();
    assert_eq!(some.judge(&asked()), would(&["tried"]));
    let listed = Asked { operation: OperationKind::ListTasks, message: None, ..asked() };
    assert_eq!(some.judge(&listed), denied(Why::Forbidden, &["counts"]));
}

#[test]
fn too_much_metadata_denies_where_it_is_read_and_only_there() {
    let excessive = Asked { metadata: Metadata { excess: true, ..Metadata::default() }, ..asked() };
    // Also when the name is written in disguise.
    let reads = forbid(r#"context["meta\u{64}ata"].keys.contains("x")"#);
    assert_eq!(reads.judge(&excessive), denied(Why::TooMuchMetadata, &[]));
    assert_eq!(forbid(r#"context.scheme == Scheme::"certificate""#).judge(&excessive), Ruling::Allowed);
}

#[test]
fn what_cannot_be_read_denies() {
    let lost = Conditions::unreadable("house", 9);
    assert!(matches!(lost.judge(&asked()), Ruling::Denied(Cause { why: Why::Unreadable, .. })));
}

#[test]
fn every_mistake_is_named_with_its_line() {
    let problems = |document: serde_json::Value| -> String {
        let told = compile(&document).expect_err("it has mistakes");
        told.iter().map(|one| format!("{}: {}\n", one.path, one.problem)).collect()
    };
    let of = |text: &str| problems(json!({"policies": text}));
    let named = |rest: &str| of(&format!("@id(\"a\")\nforbid(principal, action, resource)\n{rest}"));
    for (told, parts) in [
        (named("when { contxt.source };"), vec!["/policies", "line 3"]),
        (named("when { context.sauce.isLoopback() };"), vec!["/policies", "line 3, column 8", "sauce"]),
        (named("when { context.scheme == \"api_key\" };"), vec!["line 3"]),
        (named("when { context.time.weekday == Weekday::\"satruday\" };"), vec!["line 3", "satruday"]),
        (named("when { context.message.parts > 1 };"), vec!["line 3", "message"]),
        (named("when { context.source.isInRange(ip(\"10.0.0.0/99\")) };"), vec!["line 3"]),
        (named("when { context.metadata.text.getTag(\"x\") == \"y\" };"), vec!["line 3"]),
        (of("\n\nforbid(principal, action == Action::\"fly\", resource);"), vec!["line 3", "needs a name", "@id"]),
        (of("@id(\"b\") forbid(principal, action == Action::\"fly\", resource);"), vec!["fly"]),
        (of("@id(\"b\") @when(\"x\") forbid(principal, action, resource);"), vec!["line 1", "@when is unknown"]),
        (of("@id(\"b\") @mode(\"try\") forbid(principal, action, resource);"), vec!["@mode is enforce or shadow"]),
        (of("@id(\"B b\") forbid(principal, action, resource);"), vec!["@id \"B b\""]),
        (of("@id(\"b\") forbid(principal == ?principal, action, resource);"), vec!["slot"]),
        (of("@id(\"b\") permit(principal, action, resource);"), vec!["otherwise to deny"]),
        (
            problems(json!({"otherwise": "deny", "policies": "@id(\"b\") forbid(principal, action, resource);"})),
            vec!["nobody could call"],
        ),
        (problems(json!({"mode": "try", "policies": "", "extra": 1})), vec!["/mode", "/extra"]),
        (of(&"x".repeat(MOST_BYTES + 1)), vec!["at most 65536"]),
    ] {
        for part in parts {
            assert!(told.contains(part), "{part} is not in: {told}");
        }
    }
    let two = of(
        "@id(\"a\") forbid(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource) when { context.source == 1 };",
    );
    assert!(two.contains("line 2") && two.contains("is taken"), "{two}");
    let many: String =
        (0..=MOST_POLICIES).map(|at| format!("@id(\"p{at}\") forbid(principal, action, resource);\n")).collect();
    assert!(of(&many).contains("at most 200"));
}

/// Whoever writes a document must not be able to end the process with it.
#[test]
fn deep_nesting_is_refused_or_read_and_nothing_worse() {
    let nested = [
        ("(", "true", ")"),
        ("!", "true", ""),
        ("[", "1", "]"),
        ("if true then true else ", "true", ""),
        ("true && ", "true", ""),
        ("1 + ", "1 > 0", ""),
        ("{a:", "1", "}"),
        ("principal.name == ", "principal.name", ""),
    ];
    for (open, inner, close) in nested {
        for deep in [20, 120, 195, 390, 12_000] {
            let deep = deep.min(MOST_BYTES / (open.len() + close.len()) - 100);
            let when = format!("{}{inner}{}", open.repeat(deep), close.repeat(deep));
            let text = format!("@id(\"a\") forbid(principal, action, resource) when {{ {when} }};");
            if let Ok(read) = compile(&json!({"policies": text})) {
                assert_ne!(read.judge(&asked()), Ruling::Allowed, "{open}: it holds, or it fails");
            }
        }
    }
}

/// The values that are made for a call are those that the schema promises to whoever writes policies.
#[test]
fn requests_fit_the_schema() {
    for kind in OperationKind::ALL {
        let bare = Asked { operation: kind, release: None, message: None, ..asked() };
        for asked in [bare, Asked { operation: kind, ..asked() }, Asked { operation: kind, ..delegated() }] {
            cedar::fits_schema(&asked).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        }
    }
}
