//! What a wrong configuration says, and what a right one means.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use super::load::{DEFAULTS, load, load_store, show};
use super::{Problem, PublicUrl, Source};

const KEY: &str = "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA=";

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn enough(more: &[(&str, &str)]) -> Source {
    let mut environment =
        variables(&[("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test"), ("CHANCERY__SECRETS__MASTER_KEY", KEY)]);
    environment.extend(variables(more));
    Source { file: None, environment }
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn keys(problems: &[Problem]) -> Vec<&str> {
    problems.iter().map(|problem| problem.key.as_str()).collect()
}

#[test]
fn defaults_are_complete_and_alone_lack_only_what_must_be_chosen() {
    let problems = load(&Source::default()).unwrap_err().0;
    assert_eq!(keys(&problems), ["public.public_urls", "secrets.master_key_file"]);
}

#[test]
fn defaults_are_those_of_the_contract() {
    let settings = load(&enough(&[])).unwrap();
    assert_eq!(settings.public.listen.to_string(), "0.0.0.0:8100");
    assert_eq!(settings.admin.listen.to_string(), "127.0.0.1:8101");
    assert_eq!(settings.limits.body.request_bytes, 4 << 20);
    assert_eq!(settings.limits.body.response_bytes, 16 << 20);
    assert_eq!(settings.limits.body.event_bytes, 1 << 20);
    assert_eq!(settings.limits.body.json_depth, 64);
    assert_eq!(settings.limits.body.parts, 256);
    assert_eq!(settings.limits.connection.header_bytes, 32 << 10);
    assert_eq!(settings.limits.connection.header_fields, 100);
    assert_eq!(settings.limits.upstream.connect, Duration::from_secs(5));
    assert_eq!(settings.limits.upstream.unary, Duration::from_secs(300));
    assert_eq!(settings.limits.upstream.stream_idle, Duration::from_secs(300));
    assert_eq!(settings.limits.upstream.stream_total, Duration::from_secs(86_400));
    assert_eq!(settings.limits.upstream.idle, Duration::from_secs(4));
    assert_eq!(settings.limits.streams, 10_000);
    assert_eq!(settings.relaxed(), Vec::<&str>::new());
}

#[test]
fn every_problem_is_named_at_once_with_file_and_key() {
    let file = file(
        "[public]\nlisten = \"nowhere\"\nsurprise = 1\n[limits]\nrequest_bytes = \"a lot\"\nparts = \"many\"\n\
         [admin]\nlisten = \"0.0.0.0:8101\"\n[nonsense]\nx = 1\n",
    );
    let source = Source {
        file: Some(file.path().to_owned()),
        environment: variables(&[("CHANCERY__AUDIT__FSYNC", "sometimes"), ("CHANCERY__LIMITS__NOPE", "1")]),
    };
    let problems = load(&source).unwrap_err().0;
    let mut found = keys(&problems);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "admin.listen",
            "audit.fsync",
            "limits.nope",
            "limits.parts",
            "limits.request_bytes",
            "nonsense.x",
            "public.listen",
            "public.public_urls",
            "public.surprise",
            "secrets.master_key_file",
        ]
    );
    let path = file.path().display().to_string();
    let origin = |key: &str| problems.iter().find(|problem| problem.key == key).unwrap().origin.clone();
    assert_eq!(origin("public.listen"), path);
    assert_eq!(origin("public.surprise"), path);
    assert_eq!(origin("audit.fsync"), "CHANCERY__AUDIT__FSYNC");
}

#[test]
fn broken_file_names_its_line() {
    let file = file("[public]\nlisten = \n");
    let problems = load(&Source { file: Some(file.path().to_owned()), ..enough(&[]) }).unwrap_err().0;
    assert!(problems.iter().any(|problem| problem.problem.starts_with("line 2")), "{problems:?}");
}

#[test]
fn environment_wins_over_file_and_reads_every_type() {
    let file = file("[limits]\nparts = 10\n[headers]\nprefix = \"x-file-\"\n");
    let source = Source {
        file: Some(file.path().to_owned()),
        ..enough(&[
            ("CHANCERY__LIMITS__PARTS", "20"),
            ("CHANCERY__LIMITS__REQUEST_BYTES", "8MiB"),
            ("CHANCERY__LIMITS__EVENT_BYTES", "4096"),
            ("CHANCERY__PUBLIC__TRUSTED_PROXIES", "10.0.0.0/8, 192.168.1.1"),
            ("CHANCERY__PUBLIC__UNSAFE_HTTP_URLS", "true"),
        ])
    };
    let settings = load(&source).unwrap();
    assert_eq!(settings.limits.body.parts, 20);
    assert_eq!(settings.limits.body.request_bytes, 8 << 20);
    assert_eq!(settings.limits.body.event_bytes, 4096);
    assert_eq!(settings.public.trusted_proxies.len(), 2);
    assert_eq!(settings.headers.prefix, "x-file-");
    assert_eq!(settings.relaxed(), ["public.unsafe_http_urls"]);
}

#[test]
fn plain_http_needs_loopback_or_the_unsafe_option() {
    let refused = enough(&[("CHANCERY__PUBLIC__PUBLIC_URLS", "http://gw.test")]);
    assert_eq!(keys(&load(&refused).unwrap_err().0), ["public.public_urls"]);
    let loopback = enough(&[("CHANCERY__PUBLIC__PUBLIC_URLS", "http://localhost:8100/,https://gw.test")]);
    let urls = load(&loopback).unwrap().public.urls;
    assert_eq!(urls.iter().map(PublicUrl::as_str).collect::<Vec<_>>(), ["http://localhost:8100", "https://gw.test"]);
}

/// T-SEC-2
#[test]
fn weak_master_keys_are_refused() {
    let weak = [
        "c2hvcnQ=",
        "changeme-changeme-changeme-changeme-changeme",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "not a key at all!",
    ];
    for text in weak {
        let source = enough(&[("CHANCERY__SECRETS__MASTER_KEY", text)]);
        assert_eq!(keys(&load(&source).unwrap_err().0), ["secrets.master_key"], "{text}");
    }
}

/// T-SEC-2
#[test]
fn key_file_that_everybody_may_read_is_refused() {
    let file = file(KEY);
    let path = file.path().display().to_string();
    let source = Source {
        file: None,
        environment: variables(&[
            ("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test"),
            ("CHANCERY__SECRETS__MASTER_KEY_FILE", &path),
        ]),
    };
    for (mode, accepted) in [(0o644, false), (0o602, false), (0o640, true), (0o600, true)] {
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(load(&source).is_ok(), accepted, "{mode:o}");
    }
}

/// T-SEC-2
#[test]
fn master_key_in_a_file_of_settings_is_refused() {
    let file = file(&format!("[secrets]\nmaster_key = \"{KEY}\"\n"));
    let problems = load(&Source { file: Some(file.path().to_owned()), ..enough(&[]) }).unwrap_err().0;
    assert_eq!(keys(&problems), ["secrets.master_key"]);
}

/// T-ADM-4
/// A session's cookie over plain HTTP is one that a neighbour may have set: browsers are not let in by it.
#[test]
fn admin_origins_without_tls_are_on_this_machine() {
    for refused in ["http://admin.example.com", "http://10.0.0.5:8101", "http://localhost.example.com:8101"] {
        let problems = load(&enough(&[("CHANCERY__ADMIN__ORIGINS", refused)])).unwrap_err().0;
        assert_eq!(keys(&problems), ["admin.origins"], "{refused}");
        assert!(problems[0].problem.contains("https://"), "{}", problems[0].problem);
    }
    for fine in ["http://localhost:8101", "http://127.0.0.1:8101", "http://[::1]:8101", "https://admin.example.com"] {
        assert!(load(&enough(&[("CHANCERY__ADMIN__ORIGINS", fine)])).is_ok(), "{fine}");
    }
}

#[test]
fn admin_beyond_loopback_needs_named_origins() {
    let open = enough(&[("CHANCERY__ADMIN__LISTEN", "0.0.0.0:8101")]);
    assert_eq!(keys(&load(&open).unwrap_err().0), ["admin.listen"]);
    let named = enough(&[
        ("CHANCERY__ADMIN__LISTEN", "0.0.0.0:8101"),
        ("CHANCERY__ADMIN__ORIGINS", "https://admin.example.com"),
    ]);
    assert!(load(&named).is_ok());
}

#[test]
fn store_alone_needs_nothing_else() {
    assert!(load_store(&Source::default()).is_ok());
    let file = file("postgres://u:p@h/d\n");
    let path = file.path().display().to_string();
    let from_file = Source { file: None, environment: variables(&[("CHANCERY__STORE__URL_FILE", &path)]) };
    use secrecy::ExposeSecret as _;
    assert_eq!(load_store(&from_file).unwrap().url.expose_secret(), "postgres://u:p@h/d");
    let wrong = Source { file: None, environment: variables(&[("CHANCERY__STORE__URL", "mysql://x")]) };
    assert_eq!(keys(&load_store(&wrong).unwrap_err().0), ["store.url"]);
}

#[test]
fn a_database_that_does_not_prove_itself_is_told() {
    let relaxed = |url: &str| load(&enough(&[("CHANCERY__STORE__URL", url)])).unwrap().relaxed();
    assert_eq!(relaxed("postgres://user@db/chancery"), Vec::<&str>::new());
    assert_eq!(relaxed("postgres://user@db/chancery?sslmode=require"), ["store.url"]);
}

#[test]
fn shown_settings_hold_no_secret_and_load_again() {
    let source = enough(&[("CHANCERY__STORE__URL", "postgres://user:hunter2@db/chancery")]);
    let text = show(&source).unwrap();
    assert!(!text.contains("hunter2") && !text.contains(KEY), "{text}");
    assert!(text.contains("public_urls"));
}

#[test]
fn embedded_defaults_parse() {
    assert!(DEFAULTS.parse::<toml::Table>().is_ok());
}

/// As an operator writes it, with the secret and one key from the environment.
#[test]
fn single_sign_on_is_read_from_file_and_environment_key_by_key() {
    let file = file(
        "[public]\npublic_urls = [\"https://gw.test\"]\n[admin]\norigins = [\"https://admin.test\"]\n\
         [admin.oidc]\nissuer = \"https://idp.test\"\nclient_id = \"from the file\"\nallowed_domains = [\"Example.com\"]\n\
         [admin.oidc.roles]\nadmins = [\"platform_admin\"]\n\"acme ops\" = [\"operator@acme\", \"auditor@other\"]\n",
    );
    let more = [
        ("CHANCERY__SECRETS__MASTER_KEY", KEY),
        ("CHANCERY__ADMIN__OIDC__CLIENT_ID", "chancery"),
        ("CHANCERY__ADMIN__OIDC__CLIENT_SECRET", "a secret"),
        ("CHANCERY__ADMIN__OIDC__PASSWORDS", "false"),
    ];
    let source = Source { file: Some(file.path().to_owned()), environment: variables(&more) };
    let settings = load(&source).unwrap();
    let oidc = settings.admin.oidc.as_ref().unwrap();
    assert_eq!((oidc.issuer.as_str(), oidc.client_id.as_str()), ("https://idp.test", "chancery"));
    assert_eq!(oidc.scopes, ["openid", "profile", "email"], "the defaults stay under what is written");
    assert_eq!((oidc.session, oidc.passwords), (Duration::from_secs(8 * 3_600), super::Passwords::Refused));
    assert_eq!(oidc.allowed_domains, ["example.com"]);
    assert_eq!((oidc.roles["admins"].0.len(), oidc.roles["acme ops"].0[0].tenant.as_str()), (1, "acme"));
    assert!(oidc.client_secret.is_some() && !format!("{settings:?}").contains("a secret"));
    let shown = show(&source).unwrap();
    assert!(shown.contains("client_secret = \"***\"") && !shown.contains("a secret"), "{shown}");
    assert!(load(&enough(&[])).unwrap().admin.oidc.is_none());
}

#[test]
fn every_problem_of_single_sign_on_is_named() {
    let wrong = [
        ("CHANCERY__ADMIN__OIDC__ISSUER", "https://idp.test/?tenant=x"),
        ("CHANCERY__ADMIN__OIDC__SCOPES", "profile"),
        ("CHANCERY__ADMIN__OIDC__ACCOUNT_CLAIM", ""),
        ("CHANCERY__ADMIN__OIDC__ROLES", r#"{"a" = ["platform_admin@acme"], "b" = ["king"], "c" = []}"#),
        ("CHANCERY__ADMIN__OIDC__ALLOWED_DOMAINS", "a@example.com"),
        ("CHANCERY__ADMIN__OIDC__SESSION", "13h"),
        ("CHANCERY__ADMIN__OIDC__CLIENT_SECRET_FILE", "/does/not/exist"),
        ("CHANCERY__ADMIN__OIDC__SURPRISE", "1"),
    ];
    let problems = load(&enough(&wrong)).unwrap_err().0;
    let mut found = keys(&problems);
    found.sort_unstable();
    let oidc = |key: &str| format!("admin.oidc.{key}");
    let wanted = [
        "account_claim",
        "allowed_domains",
        "client_id",
        "client_secret_file",
        "issuer",
        "roles",
        "roles",
        "roles",
        "scopes",
        "session",
        "surprise",
    ];
    assert_eq!(found, wanted.map(oidc));
    let alone = load(&enough(&[("CHANCERY__ADMIN__OIDC__PASSWORDS", "false")])).unwrap_err().0;
    assert_eq!(keys(&alone), ["admin.oidc.issuer"], "nobody could sign in");
    let in_file = file("[admin.oidc]\nclient_secret = \"x\"\n");
    let source = Source { file: Some(in_file.path().to_owned()), ..enough(&[]) };
    assert_eq!(keys(&load(&source).unwrap_err().0), ["admin.oidc.client_secret"]);
}
