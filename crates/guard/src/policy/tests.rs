//! What a policy document may say, and that everything wrong with one is named at once.

use super::*;
use json::{Limits, read};

const OPTIONS: Options<'_> = Options { key: b"key", policy: "p", version: 1 };

fn problems(source: &str) -> Vec<(String, String)> {
    let document = read(source.as_bytes(), &Limits::default()).unwrap();
    let problems = compile(&document, &OPTIONS).err().map(|error| error.problems).unwrap_or_default();
    problems.into_iter().map(|problem| (problem.path, problem.problem)).collect()
}

fn detector_problems(detector: &str) -> Vec<(String, String)> {
    problems(&format!(r#"{{"surfaces":["card"],"detectors":[{detector}]}}"#))
}

#[test]
fn a_full_policy_compiles() {
    let source = r#"{"surfaces":["a2a_inbound","a2a_outbound"],"mode":"shadow","on_error":"allow","on_unscannable":"block",
        "detectors":[
            {"id":"words","name":"code-names","words":["Blue Heron","x"],"whole_word":true,"case_sensitive":false,"action":"block"},
            {"id":"pattern","name":"aws-key","pattern":"AKIA[0-9A-Z]{16}","max_length":20,"action":"redact"},
            {"id":"pattern","pattern":"off","action":"allow"}]}"#;
    let pipeline = compile(&read(source.as_bytes(), &Limits::default()).unwrap(), &OPTIONS).ok().unwrap();
    assert!(pipeline.guards(Surface::Inbound) && pipeline.guards(Surface::Outbound) && !pipeline.guards(Surface::Card));
    assert_eq!(pipeline.mode, Mode::Shadow);
    assert_eq!((pipeline.on_error, pipeline.on_unscannable), (OnError::Allow, OnUnscannable::Block));
    let rules: Vec<(&str, Action, bool)> =
        pipeline.rules.iter().map(|rule| (&*rule.name, rule.action, matches!(rule.looks, Looks::Custom))).collect();
    assert_eq!(rules, [("code-names", Action::Block, true), ("aws-key", Action::Redact, true)]);
}

#[test]
fn what_is_left_out_has_the_safe_value() {
    let source = r#"{"surfaces":["card"],"detectors":[{"id":"words","words":["x"],"action":"block"}]}"#;
    let pipeline = compile(&read(source.as_bytes(), &Limits::default()).unwrap(), &OPTIONS).ok().unwrap();
    assert_eq!(pipeline.mode, Mode::Enforce);
    assert_eq!((pipeline.on_error, pipeline.on_unscannable), (OnError::Block, OnUnscannable::Flag));
    assert_eq!(pipeline.rules.first().map(|rule| &*rule.name), Some("words"));
}

#[test]
fn every_problem_is_named_at_once() {
    let source = r#"{"surfaces":["a2a_inbound","inbound","a2a_inbound"],"mode":"audit","on_error":true,"on_unscannable":"skip","extra/member":1,
        "detectors":[
            {"id":"pii.cards","action":"redact"},
            {"id":"words","words":["ok",""," padded",7],"action":"delete","whole_word":"yes"},
            {"id":"pattern","pattern":"[","max_length":0,"action":"block","flags":"i"},
            {"name":"has space","action":"block"},
            "words",
            {"id":"pattern","name":"a","pattern":"ab","action":"block"},
            {"id":"pattern","name":"a","pattern":"cd","action":"block"},
            {"id":"words","name":"empty","words":[],"action":"block"},
            {"id":"pattern","name":"none","action":"block"},
            {"id":"pattern","name":"no-action","pattern":"ab"}]}"#;
    let paths: Vec<String> = problems(source).into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        paths,
        [
            "/extra~1member",
            "/surfaces/1",
            "/surfaces/2",
            "/mode",
            "/detectors/0/id",
            "/detectors/1/action",
            "/detectors/1/whole_word",
            "/detectors/1/words/1",
            "/detectors/1/words/2",
            "/detectors/1/words/3",
            "/detectors/2/flags",
            "/detectors/2/max_length",
            "/detectors/2/pattern",
            "/detectors/3/name",
            "/detectors/3/id",
            "/detectors/4",
            "/detectors/6/name",
            "/detectors/7/words",
            "/detectors/8/pattern",
            "/detectors/9/action",
            "/on_error",
            "/on_unscannable",
        ]
    );
}

#[test]
fn a_document_that_is_no_policy_is_refused() {
    for source in
        ["null", "[]", "{}", "\"x\"", r#"{"surfaces":[],"detectors":[]}"#, r#"{"surfaces":"card","detectors":[]}"#]
    {
        assert!(!problems(source).is_empty(), "{source}");
    }
    assert!(problems(r#"{"surfaces":["card"],"detectors":[]}"#).is_empty());
}

#[test]
fn unknown_names_are_named() {
    let [(_, problem)] = &detector_problems(r#"{"id":"pii.cards","action":"block"}"#)[..] else { panic!() };
    assert!(problem.contains("'pii.cards'") && problem.contains("words, pattern"), "{problem}");
}

#[test]
fn hostile_patterns_are_refused_when_the_policy_is_compiled() {
    for (pattern, reason) in [
        ("(a|aa)+$", "no longest match"),
        (r"\\w{1,1000}{1,1000}", "1000000 characters"),
        ("(?=x)y", "look-around"),
        (r"(\\w)\\1", "backreferences"),
        ("[", "unclosed"),
        ("", "empty text"),
        ("(?s).*", "empty text"),
    ] {
        let found = detector_problems(&format!(r#"{{"id":"pattern","pattern":"{pattern}","action":"block"}}"#));
        let [(path, problem)] = &found[..] else { panic!("{pattern}: {found:?}") };
        assert_eq!(path, "/detectors/0/pattern");
        assert!(problem.contains(reason), "{pattern}: {problem}");
    }
}

#[test]
fn a_pattern_may_not_exceed_its_authors_bound() {
    let found = detector_problems(r#"{"id":"pattern","pattern":"a{1,30}","max_length":20,"action":"block"}"#);
    assert_eq!(
        found,
        [("/detectors/0/pattern".to_owned(), "the pattern can match 30 characters, more than 20".to_owned())]
    );
}

#[test]
fn a_policy_of_five_hundred_patterns_is_refused() {
    let patterns: Vec<String> =
        (0..500).map(|at| format!(r#"{{"id":"pattern","name":"n{at}","pattern":"ab","action":"block"}}"#)).collect();
    assert_eq!(
        detector_problems(&patterns.join(",")),
        [("/detectors".to_owned(), "more than 100 detectors".to_owned())]
    );
}

#[test]
fn a_list_of_words_has_a_size() {
    let words = |count: usize, length: usize| {
        let words = vec![format!("\"{}\"", "w".repeat(length)); count].join(",");
        detector_problems(&format!(r#"{{"id":"words","words":[{words}],"action":"block"}}"#)).len()
    };
    assert_eq!(
        [words(1_000, 256), words(1_100, 256), words(10_000, 5), words(10_001, 5), words(1, 257)],
        [0, 1, 0, 1, 1]
    );
}

#[test]
fn a_replacement_text_that_is_a_finding_is_refused() {
    let found = detector_problems(r#"{"id":"words","name":"n","words":["redacted"],"action":"redact"}"#);
    assert!(found[0].1.contains("[REDACTED:n]"), "{found:?}");
    let two = r#"{"id":"pattern","name":"digits","pattern":"[0-9]","action":"redact"},{"id":"words","name":"w","words":["digits"],"action":"block"}"#;
    assert_eq!(detector_problems(two).len(), 1);
    let monitored = r#"{"id":"pattern","name":"digits","pattern":"[0-9]","action":"redact"},{"id":"words","name":"w","words":["digits"],"action":"monitor"}"#;
    assert!(detector_problems(monitored).is_empty());
}

#[test]
fn every_detector_of_ours_can_be_named() {
    let source = r##"{"surfaces":["card"],"hold":"message","description":"all","detectors":[
        {"id":"secret","action":"redact"},{"id":"secret.github","action":"block"},{"id":"pii","action":"mask"},{"id":"pii.uk_nhs","action":"tokenise"},
        {"id":"injection","threshold":50,"action":"block"},
        {"id":"url","deny":["evil.test"],"schemes":["https"],"action":"redact"},
        {"id":"file","allow":["image/*"],"max_bytes":1000,"action":"block"},
        {"id":"size","max_parts":10,"action":"block"},
        {"id":"schema","schema":{"type":"object"},"action":"block"},
        {"id":"text.hidden","action":"block"},{"id":"encoding.nested","action":"monitor"},
        {"id":"external","url":"https://guard.test/check","format":"openai","timeout_ms":200,"on_error":"allow","action":"block"}]}"##;
    let pipeline = compile(&read(source.as_bytes(), &Limits::default()).unwrap(), &OPTIONS).unwrap();
    assert_eq!((pipeline.rules.len(), pipeline.externals.len()), (11, 1));
    assert_eq!(pipeline.externals[0].passes_on_error, Some(true));
}

#[test]
fn what_has_no_span_cannot_be_redacted() {
    for detector in [
        r#"{"id":"injection","action":"redact"}"#,
        r#"{"id":"file","action":"mask"}"#,
        r#"{"id":"size","max_parts":1,"action":"tokenise"}"#,
        r#"{"id":"text.hidden","action":"redact"}"#,
    ] {
        assert_eq!(detector_problems(detector)[0].0, "/detectors/0/action", "{detector}");
    }
}

#[test]
fn wrong_settings_of_our_detectors_are_named() {
    for (detector, path) in [
        (r#"{"id":"injection","threshold":0,"action":"block"}"#, "/detectors/0/threshold"),
        (r#"{"id":"url","deny":["a b"],"action":"block"}"#, "/detectors/0/deny/0"),
        (r#"{"id":"size","action":"block"}"#, "/detectors/0"),
        (r#"{"id":"schema","schema":{"format":"email"},"action":"block"}"#, "/detectors/0/schema/format"),
        (r#"{"id":"external","url":"ftp://x","action":"block"}"#, "/detectors/0/url"),
        (r#"{"id":"external","url":"https://a","timeout_ms":9000,"action":"block"}"#, "/detectors/0/timeout_ms"),
        (r#"{"id":"secret","words":[],"action":"block"}"#, "/detectors/0/words"),
    ] {
        assert_eq!(detector_problems(detector).first().map(|(path, _)| path.as_str()), Some(path), "{detector}");
    }
}
