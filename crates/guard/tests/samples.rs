//! The ready-made policies compile, and do what their first lines say.

use guard::{Options, Outcome, Pipeline, Surface};
use json::{Json, Limits, read};

/// Just enough of YAML for these files is not ours to write: they are read by the gateway's tests. Here, the folder
/// must not be empty, and each file must name what it is.
#[test]
fn every_sample_names_its_kind() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/policies");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with('#') && text.contains("kind: Policy") && text.contains("detectors:"), "{path:?}");
            path.file_stem().unwrap().to_str().unwrap().to_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names, ["baseline", "finance", "healthcare", "strict-egress"]);
}

#[test]
fn a_policy_with_everything_on_leaves_harmless_text_alone() {
    let document = r#"{"surfaces":["a2a_inbound"],"detectors":[{"id":"secret","action":"block"},{"id":"pii","action":"block"},
        {"id":"injection","action":"block"},{"id":"text.hidden","action":"block"},{"id":"encoding.nested","action":"block"}]}"#;
    let document = read(document.as_bytes(), &Limits::default()).unwrap();
    let pipeline = Pipeline::compile(&document, &Options { key: b"k", policy: "p", version: 1 }).unwrap();
    for text in [
        "Please ignore my previous email, the correct order number is 5591.",
        "The build took 12.5 s at 2024-05-01 10:20:30; see issue #1234 and commit 3f2a9c1d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39.",
        "UUID 123e4567-e89b-12d3-a456-426614174000, version 1.2.3.4-rc1, ISBN 978-3-16-148410-0",
        "Act as a friendly tutor and explain how recursion works to a beginner.",
        "می\u{200c}خواهم 👨\u{200d}👩\u{200d}👧 naïve １２３ Привет, как дела? Это сор.",
        "password: <your password>, token = os.environ[\"TOKEN\"], api_key=YOUR_API_KEY",
    ] {
        let mut json = Json::from(vec![Json::from(text)]);
        let verdict = pipeline.inspect(Surface::Inbound, &mut json, &|_| false);
        assert_eq!(verdict.outcome, Outcome::Allowed, "{text}: {:?}", verdict.findings);
    }
}
