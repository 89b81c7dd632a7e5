//! What the laws share: messages out of raw bytes, requests that arrive where they were sent, strings that nobody may
//! send unseen.

use std::collections::HashSet;

use a2a::{
    Call, Dialect, Envelope, Fault, Voice,
    dialect::{
        AgentAddress, Colon, Minted, Outgoing, PathBody, R3Bytes, R3Objects, RequestFacts, SubscribeVerb, VersionMode,
        encode_call, target,
    },
    grpc, path,
};
use http::Method;
use json::{Json, Leaf, Limits};

pub(crate) const OWN_DOMAIN: &str = "gw.test";
pub(crate) const BASE: &str = "http://up.test/a";
pub(crate) const MINTED: Minted<'static> = Minted { rpc_id: "rpc-1", message_id: "minted-1" };

/// Translation may nest a few levels deeper and add members; our own limits are for what comes from outside.
pub(crate) const ROOMY: Limits = Limits { depth: 100, nodes: 200_000, key: 512, digits: 40 };

/// Raw bytes as a message: words of the first line, headers, body.
pub(crate) struct Message<'a> {
    pub(crate) words: Vec<&'a str>,
    headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: &'a [u8],
}

impl<'a> Message<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let (head, body) = (bytes.get(..end)?, bytes.get(end + 2..)?);
        let mut lines = std::str::from_utf8(head).ok()?.lines();
        let words = lines.next()?.split(' ').collect();
        let headers = lines.filter_map(|line| line.split_once(": ")).collect();
        Some(Self { words, headers, body })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers(name).next()
    }

    pub(crate) fn headers(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(key, _)| *key == name).map(|(_, value)| *value)
    }
}

/// A request below an agent's URL.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) facts: RequestFacts<'a>,
    pub(crate) mode: VersionMode,
    pub(crate) body: &'a [u8],
}

impl<'a> Request<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let message = Message::read(bytes)?;
        let [method, target] = message.words.as_slice() else { return None };
        let (path, query) = cut(target);
        let facts = RequestFacts {
            versions: message.headers("a2a-version").collect(),
            query,
            content_type: message.header("content-type"),
            user_agent: message.header("user-agent"),
            accept: message.header("accept"),
        };
        let mode = if message.header("strict").is_some() { VersionMode::Strict } else { VersionMode::Lenient };
        Some(Self { method: method.parse().ok()?, path, facts, mode, body: message.body })
    }

    /// What a gateway makes of it; nothing where the path is nobody's.
    pub(crate) fn open(&self, limits: &Limits) -> Option<Result<(Voice, Call), (Voice, Fault)>> {
        let target = match grpc::target(&self.method, self.path) {
            Some(found) => found.ok()?,
            None => target(&self.method, &path::split(self.path).ok()?).ok()?,
        };
        Some(match Envelope::open(&target, &self.facts, self.mode, self.body, limits) {
            Err(refusal) => Err((refusal.voice, refusal.fault)),
            Ok(envelope) => {
                let voice = envelope.voice().clone();
                envelope.call().map(|call| (voice.clone(), call)).map_err(|fault| (voice, fault))
            }
        })
    }
}

fn cut(target: &str) -> (&str, Option<&str>) {
    target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)))
}

/// The request to an agent in `dialect`, if the dialect can say it.
pub(crate) fn sent(dialect: Dialect, call: &Call) -> Option<Outgoing> {
    let address = AgentAddress {
        base: BASE.to_owned(),
        tenant: None,
        colon: Colon::Percent,
        path_body: PathBody::Envelope,
        r3_bytes: R3Bytes::Auto,
        r3_objects: R3Objects::Proto,
    };
    encode_call(dialect, call, &address, MINTED, SubscribeVerb::Post).ok()
}

/// What a gateway in the agent's place makes of it.
pub(crate) fn delivered(outgoing: &Outgoing) -> Call {
    let (path, query) = cut(outgoing.url.strip_prefix(BASE).expect("nothing leads away from the agent"));
    let header = |name| outgoing.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let request = Request {
        method: outgoing.method.clone(),
        path: if path.is_empty() { "/" } else { path },
        facts: RequestFacts {
            versions: header("a2a-version").into_iter().collect(),
            query,
            content_type: header("content-type"),
            user_agent: None,
            accept: header("accept"),
        },
        mode: VersionMode::Strict,
        body: outgoing.body.as_deref().unwrap_or_default(),
    };
    match request.open(&ROOMY) {
        Some(Ok((_, call))) => call,
        Some(Err((_, fault))) => panic!("our own request is refused: {fault:?}: {outgoing:?}"),
        None => panic!("our own request addresses nothing: {outgoing:?}"),
    }
}

/// Every string and key that a guard is shown.
pub(crate) fn shown(json: &Json) -> HashSet<String> {
    let mut seen = HashSet::new();
    json::walk(json, &mut |_, leaf| match leaf {
        Leaf::Text(text) | Leaf::Key(text) => {
            seen.insert(text.to_owned());
        }
        Leaf::Number(_) => {}
    });
    seen
}

/// Whether a string can be content: neither a word of the protocol, nor base64, nor an address of ours.
pub(crate) fn is_content(text: &str) -> bool {
    !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.:".contains(&byte))
}

/// Nothing that can be content is in `document` unless a guard was shown it.
pub(crate) fn nothing_unseen(document: &Json, seen: &HashSet<String>, place: &str) {
    let unseen = |text: &str| is_content(text) && !seen.contains(text);
    for text in shown(document) {
        // `tasks/T/pushNotificationConfigs/C`, the name that 0.3's proto makes of two ids.
        let ids = text.strip_prefix("tasks/").and_then(|ids| ids.split_once("/pushNotificationConfigs/"));
        let named = ids.is_some_and(|(task, config)| !unseen(task) && !unseen(config));
        // Messages without an id get one of their task's.
        let task = text.strip_suffix("-status").or_else(|| text.rsplit_once("-history-").map(|(task, _)| task));
        let named = named || task.is_some_and(|task| !unseen(task));
        assert!(named || !unseen(&text), "{text:?} is in {place} and was never shown to a guard");
    }
}
