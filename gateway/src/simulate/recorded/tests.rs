//! That recorded findings are weighed by what is known of them, and that nothing more is claimed.

use super::*;
use serde_json::json;

fn written(name: &str, version: i64, document: &Value) -> Written {
    let tree = json::read(document.to_string().as_bytes(), &json::Limits::default()).unwrap();
    let options = guard::Options { key: b"key", policy: name, version };
    Written { pipeline: Pipeline::compile(&tree, &options).unwrap(), document: document.clone() }
}

fn policy(detectors: &Value) -> Value {
    json!({"surfaces": ["a2a_inbound", "a2a_outbound"], "detectors": detectors})
}

fn finding(detector: &str, action: &str, by: &str) -> FindingFact {
    FindingFact {
        detector: detector.to_owned(),
        surface: "a2a_inbound".to_owned(),
        action: action.to_owned(),
        count: 1,
        by: Some(by.to_owned()),
        ..FindingFact::default()
    }
}

fn exchange(outcome: &str, findings: Vec<FindingFact>) -> Exchange {
    Exchange {
        id: "w-1".to_owned(),
        opened_at: "2027-01-01T00:00:00Z".to_owned(),
        card: Some("echo".to_owned()),
        outcome: outcome.to_owned(),
        policies: vec!["floor@1".to_owned(), "ours@3".to_owned()],
        findings,
    }
}

/// What was in force: a floor that blocks secrets, and a policy of ours.
fn known() -> BTreeMap<String, Written> {
    let floor = policy(&json!([{"id": "secret", "action": "block"}]));
    let ours = policy(&json!([{"id": "pii.email", "action": "monitor"}, {"id": "pii.card", "action": "mask"},
        {"id": "injection", "threshold": 40, "action": "monitor"},
        {"id": "words", "name": "birds", "words": ["heron"], "action": "monitor"}]));
    BTreeMap::from([
        ("floor@1".to_owned(), written("floor", 1, &floor)),
        ("ours@3".to_owned(), written("ours", 3, &ours)),
    ])
}

fn weigh(draft: &Value, exchanges: &[Exchange]) -> Replayed {
    replay("ours", &written("ours", 0, &policy(draft)), &known(), exchanges, false)
}

fn fates(replayed: &Replayed) -> Vec<(Fate, Fate, usize)> {
    replayed.fates.iter().map(|one| (one.was, one.would, one.exchanges)).collect()
}

#[test]
fn findings_become_what_the_draft_asks_for() {
    let mail = || finding("pii.email:pii.email", "monitor/enforce", "ours@3");
    let exchanges = [
        exchange("ok", vec![mail(), mail()]),
        exchange("ok", vec![]),
        exchange("ok", vec![finding("pii.card:pii.card", "mask/enforce", "ours@3")]),
    ];
    let told = weigh(&json!([{"id": "pii.email", "action": "block"}]), &exchanges);
    assert_eq!(
        fates(&told),
        [(Fate::Passed, Fate::Passed, 1), (Fate::Passed, Fate::Blocked, 1), (Fate::Changed, Fate::Passed, 1)]
    );
    let mails = told.findings.iter().find(|one| one.detector == "pii.email").unwrap();
    assert_eq!((mails.was.as_str(), mails.would.as_str()), ("monitor/enforce", "block/enforce"));
    assert_eq!((mails.findings, mails.exchanges), (2, 1));
    assert_eq!(told.examples.len(), 2);
    assert_eq!(told.examples[0].rule.as_deref(), Some("pii.email"));
    assert!(told.not_looked_for.is_empty() && told.undecided == 0, "{told:?}");
}

#[test]
fn what_other_policies_did_stays() {
    let key = finding("secret.github:secret", "block/enforce", "floor@1");
    let told = weigh(&json!([]), &[exchange("blocked", vec![key])]);
    assert_eq!(fates(&told), [(Fate::Blocked, Fate::Blocked, 1)]);
    assert!(told.examples.is_empty());
}

#[test]
fn what_was_stopped_and_would_go_on_is_said_to_be_half_known() {
    let card = finding("pii.card:pii.card", "block/enforce", "ours@3");
    let told = weigh(&json!([{"id": "pii.card", "action": "monitor"}]), &[exchange("blocked", vec![card])]);
    assert_eq!(fates(&told), [(Fate::Blocked, Fate::Passed, 1)]);
    assert!(told.unknown.iter().any(|said| said.contains("nobody knows")), "{:?}", told.unknown);
}

#[test]
fn what_could_not_be_replaced_is_blocked_again() {
    // The rule of then masks; it was blocked all the same, so it stood where nothing can be replaced.
    let card = finding("pii.card:pii.card", "block/enforce", "ours@3");
    let told = weigh(&json!([{"id": "pii.card", "action": "redact"}]), &[exchange("blocked", vec![card])]);
    assert_eq!(fates(&told), [(Fate::Blocked, Fate::Blocked, 1)]);
}

#[test]
fn a_rule_in_other_words_is_undecided_and_the_same_rule_is_not() {
    let bird = || finding("words:birds", "monitor/enforce", "ours@3");
    let same = json!([{"id": "words", "name": "birds", "words": ["heron"], "action": "redact"}]);
    assert_eq!(fates(&weigh(&same, &[exchange("ok", vec![bird()])])), [(Fate::Passed, Fate::Changed, 1)]);
    let other = json!([{"id": "words", "name": "birds", "words": ["heron", "owl"], "action": "redact"}]);
    let told = weigh(&other, &[exchange("ok", vec![bird()])]);
    assert_eq!((told.undecided, told.findings[0].would.as_str()), (1, "undecided"));
    let unseen: Vec<&str> = told.not_looked_for.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(unseen, ["birds", "birds"], "on both surfaces");
}

#[test]
fn injection_is_weighed_by_its_score() {
    let attempt = |score| FindingFact { score, ..finding("injection:injection", "monitor/enforce", "ours@3") };
    let draft = json!([{"id": "injection", "threshold": 70, "action": "block"}]);
    let told = weigh(
        &draft,
        &[
            exchange("ok", vec![attempt(Some(85))]),
            exchange("ok", vec![attempt(Some(50))]),
            exchange("ok", vec![attempt(None)]),
        ],
    );
    assert_eq!(fates(&told), [(Fate::Passed, Fate::Passed, 2), (Fate::Passed, Fate::Blocked, 1)]);
    assert_eq!(told.undecided, 1);
    assert!(told.unknown.iter().any(|said| said.contains("score was not recorded")), "{:?}", told.unknown);
    // What was minded from 40 on says nothing about what lies below.
    let lower = weigh(&json!([{"id": "injection", "threshold": 20, "action": "block"}]), &[exchange("ok", vec![])]);
    assert_eq!(lower.not_looked_for.len(), 2, "{:?}", lower.not_looked_for);
}

#[test]
fn what_nobody_looked_for_is_named() {
    let told = weigh(&json!([{"id": "pii", "action": "redact"}]), &[exchange("ok", vec![])]);
    let (what, count) = (&told.not_looked_for[0].what, told.not_looked_for[0].exchanges);
    assert!(what.starts_with("pii.* ("), "{what}");
    assert_eq!(count, 1);
    assert!(
        told.unknown.iter().any(|said| said.starts_with("In 1 exchange the draft looks for")),
        "{:?}",
        told.unknown
    );
    let unjudged = Exchange { policies: Vec::new(), ..exchange("ok", vec![]) };
    let told = weigh(&json!([{"id": "pii.email", "action": "redact"}]), &[unjudged]);
    assert_eq!(told.not_looked_for.len(), 2, "nobody judged it");
}

#[test]
fn shadow_changes_nothing_and_cut_lists_are_told() {
    let document = json!({"surfaces": ["a2a_inbound"], "mode": "shadow",
        "detectors": [{"id": "pii.email", "action": "block"}]});
    let more = FindingFact { detector: "more".to_owned(), count: 3, ..FindingFact::default() };
    let denied = finding("authz:grant", "deny/shadow", "ours@3");
    let mail = finding("pii.email:pii.email", "monitor/enforce", "ours@3");
    let exchanges = [exchange("ok", vec![mail, denied, more])];
    let told = replay("ours", &written("ours", 0, &document), &known(), &exchanges, true);
    assert_eq!(fates(&told), [(Fate::Passed, Fate::Passed, 1)]);
    assert_eq!(told.findings.iter().map(|one| one.would.as_str()).collect::<Vec<_>>(), ["block/shadow"]);
    assert!(told.more && told.unknown.iter().any(|said| said.contains("than a record lists")));
}
