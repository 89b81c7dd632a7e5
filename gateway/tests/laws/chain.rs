//! A chain holds only as it was signed, for the agent it was given to, and for a while; and what it says is what its
//! headers say.

use super::request;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chancery::clock::Micros;
use chancery::config::{MasterKey, MasterKeys};
use chancery::pipeline::delegation::{Chain, Hop, Ids, Keys, Names, Presented, Signed, Written, verify};
use chancery::seal::Seal;
use std::sync::Arc;

/// That of the published vectors, which are among the corpus.
const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const NOW: Micros = 1_764_504_005_000_000;
const SECOND: Micros = 1_000_000;
const TENANT: &str = "acme";
const PRESENTER: &str = "prn-01A";

/// Headers → a chain, or none (T-DEL-1).
pub(crate) fn header_chain(bytes: &[u8]) {
    let parts = request(bytes);
    let is_said = parts.headers.keys().any(|name| name.as_str().starts_with("x-brutor-delegation-"));
    let written = match Names::new("x-brutor-").read(&parts.headers) {
        Presented::Absent => return assert!(!is_said, "something is said, and counts as nothing"),
        Presented::Incomplete => return assert!(is_said, "nothing is said, and counts as something"),
        Presented::Written(written) => *written,
    };
    assert!(is_said);
    let current = MasterKey::parse(MASTER_KEY).expect("a key");
    let keys = Keys::new(Arc::new(Seal::new(&MasterKeys { current, previous: Vec::new() }).expect("a seal")));
    let written = proven_where_asked(written, &keys);
    if let Ok(chain) = verify(&written, (TENANT, PRESENTER), &keys, NOW) {
        says_what_is_written(&chain, &written);
        holds_here_and_now_alone(&written, &keys);
        goes_on(&chain, &keys);
    }
}

/// `v2.KEY.ISSUED.AUDIENCE.CREDENTIALS.MAC`: `KEY` and `MAC` stand for the true ones, so that what lies behind the proof is
/// tried out too.
fn proven_where_asked(written: Written, keys: &Keys) -> Written {
    let parts: Vec<&str> = written.sig.split('.').collect();
    let (version, issued_at, audience, credentials) = match parts.as_slice() {
        [version @ "v2", "KEY", issued_at, audience, credentials, "MAC"] => {
            (version, issued_at, audience, Some(*credentials))
        }
        [version @ "v1", "KEY", issued_at, audience, "MAC"] => (version, issued_at, audience, None),
        _ => return written,
    };
    let key = keys.current(TENANT, NOW);
    let signed = Signed { key: key.id(), tenant: TENANT, written: &written, audience, issued_at, credentials };
    let Some(text) = signed.text() else { return written };
    let mac = URL_SAFE_NO_PAD.encode(key.sign(&text));
    let between = credentials.map(|text| format!("{text}.")).unwrap_or_default();
    let sig = format!("{version}.{}.{issued_at}.{audience}.{between}{mac}", key.id());
    Written { sig, ..written }
}

fn says_what_is_written(chain: &Chain, written: &Written) {
    assert!((1..=8).contains(&chain.depth()), "{}", chain.depth());
    assert_eq!((chain.root(), chain.parent(), chain.actor()), (&*written.root, &*written.parent, &*written.actor));
    assert_eq!(chain.subject(), written.subject.as_ref().unwrap_or(&written.actor));
    assert_eq!((chain.depth().to_string(), chain.text()), (written.depth.clone(), written.chain.clone()));
    let called = |hop: Option<&Hop>| hop.map(|hop| format!("agent:{}", hop.principal));
    assert_eq!(called(chain.hops().first()).as_deref(), Some(chain.subject()));
    assert_eq!(called(chain.hops().last()).as_deref(), Some(chain.actor()));
}

/// Another tenant, another agent, another time, or one letter more in any field: it does not hold.
fn holds_here_and_now_alone(written: &Written, keys: &Keys) {
    let holds = |written: &Written, whose, now| verify(written, whose, keys, now).is_ok();
    assert!(holds(written, (TENANT, PRESENTER), NOW));
    assert!(!holds(written, ("globex", PRESENTER), NOW), "at another tenant");
    assert!(!holds(written, (TENANT, "prn-01B"), NOW), "stolen");
    assert!(!holds(written, (TENANT, PRESENTER), NOW + 1_000 * SECOND), "too late");
    assert!(!holds(written, (TENANT, PRESENTER), NOW - 1_000 * SECOND), "too early");
    let fields: [fn(&mut Written) -> &mut String; 7] = [
        |written| &mut written.root,
        |written| &mut written.parent,
        |written| &mut written.depth,
        |written| &mut written.actor,
        |written| written.subject.get_or_insert_default(),
        |written| &mut written.chain,
        |written| &mut written.sig,
    ];
    for (at, field) in fields.into_iter().enumerate() {
        let mut changed = written.clone();
        field(&mut changed).push('A');
        assert!(!holds(&changed, (TENANT, PRESENTER), NOW), "field {at}");
    }
}

/// Written anew it is the same chain, and the next one holds unless it is too long.
fn goes_on(chain: &Chain, keys: &Keys) {
    let key = keys.current(TENANT, NOW);
    let again = |chain: &Chain| {
        let written = chain.written(TENANT, PRESENTER, &key, NOW).expect("what was read can be written");
        verify(&written, (TENANT, PRESENTER), keys, NOW).ok()
    };
    assert_eq!(again(chain).as_ref(), Some(chain));
    let hop = Hop { principal: PRESENTER.to_owned(), card: "next".to_owned(), credential: Some("key-01A".to_owned()) };
    let next = Chain::next(Some(chain), hop, Ids { root: "never", call: "call-9" });
    assert_eq!(again(&next).is_some(), chain.depth() < 8, "{} hops", next.depth());
    assert_eq!((next.root(), next.subject(), next.parent()), (chain.root(), chain.subject(), "call-9"));
}
