//! The webhook sink: takes any notification for any name and shows what came. Bounded in number, size and time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use a2a_agent::Body;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};
use json::{Json, Limits, Object};
use time::{Duration, OffsetDateTime};
use tokio::sync::Notify;

use crate::origin::{self, Forwarding};
use crate::reply;

/// Below which path the sinks are.
pub(crate) const PATH: &str = "/a2a/webhook-sink/";

/// Largest notification.
pub(crate) const BODY_LIMIT: usize = 1024 * 1024;

/// How many there can be.
pub const SINKS: usize = 500;
/// How many there can be on the open internet.
pub const PUBLIC_SINKS: usize = 100;
const NOTIFICATIONS: usize = 50;
/// All bodies together.
const BYTES: usize = 64 * 1024 * 1024;
const KEPT: Duration = Duration::HOUR;

/// All sinks.
#[derive(Debug)]
pub struct Sinks {
    shelf: Mutex<Shelf>,
    arrived: Notify,
}

#[derive(Debug)]
struct Shelf {
    /// Most sinks.
    limit: usize,
    sinks: HashMap<String, Sink>,
    bytes: usize,
}

#[derive(Debug)]
struct Sink {
    notifications: VecDeque<Notification>,
    last: OffsetDateTime,
}

#[derive(Debug)]
struct Notification {
    headers: Vec<(String, String)>,
    body: Bytes,
    at: OffsetDateTime,
}

impl Sinks {
    /// No sinks yet, and never more than `limit`.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        let shelf = Shelf { limit, sinks: HashMap::new(), bytes: 0 };
        Arc::new(Self { shelf: Mutex::new(shelf), arrived: Notify::new() })
    }

    /// Takes a notification.
    pub fn put(&self, name: &str, headers: &HeaderMap, body: Bytes) {
        if !is_name(name) || body.len() > BODY_LIMIT {
            return;
        }
        let now = OffsetDateTime::now_utc();
        let headers = headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let notification = Notification { headers: headers.collect(), body, at: now };
        self.shelf().put(name, notification, now);
        self.arrived.notify_waiters();
    }

    /// Waits until a notification for this name has come whose body contains `text`.
    pub async fn wait_for(&self, name: &str, text: &str) {
        loop {
            let arrived = self.arrived.notified();
            let found = |sink: &Sink| {
                let mut bodies = sink.notifications.iter().map(|notification| &notification.body);
                bodies.any(|body| String::from_utf8_lossy(body).contains(text))
            };
            if self.shelf().sinks.get(name).is_some_and(found) {
                return;
            }
            arrived.await;
        }
    }

    /// Answers a request for one sink.
    pub(crate) fn answer(&self, head: &Parts, name: &str, body: Bytes) -> Response<Body> {
        if !is_name(name) {
            return reply::error(StatusCode::BAD_REQUEST, "a sink's id is 1 to 64 of A-Z a-z 0-9 . _ -");
        }
        match head.method {
            Method::GET => reply::document(StatusCode::OK, &self.shown(name)),
            Method::DELETE => {
                self.shelf().remove(name);
                reply::document(StatusCode::OK, &[("cleared", true)].into())
            }
            Method::POST => {
                self.put(name, &head.headers, body);
                reply::document(StatusCode::OK, &[("received", true)].into())
            }
            _ => reply::method_not_allowed("GET, POST, DELETE"),
        }
    }

    fn shown(&self, name: &str) -> Json {
        let shelf = self.shelf();
        let notifications = shelf.sinks.get(name).into_iter().flat_map(|sink| &sink.notifications);
        let notifications: Vec<Json> = notifications.map(Notification::shown).collect();
        Json::from([("id", Json::from(name)), ("notifications", notifications.into())])
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn put(&mut self, name: &str, notification: Notification, now: OffsetDateTime) {
        let old: Vec<String> =
            self.sinks.iter().filter(|(_, sink)| sink.last + KEPT < now).map(|(name, _)| name.clone()).collect();
        old.iter().for_each(|name| self.remove(name));
        let more = notification.body.len();
        while !self.sinks.is_empty()
            && (self.bytes + more > BYTES || (self.sinks.len() >= self.limit && !self.sinks.contains_key(name)))
        {
            let oldest = self.sinks.iter().min_by_key(|(_, sink)| sink.last).map(|(name, _)| name.clone());
            self.remove(&oldest.unwrap_or_default());
        }
        let sink = self.sinks.entry(name.to_owned());
        let sink = sink.or_insert_with(|| Sink { notifications: VecDeque::new(), last: now });
        sink.last = now;
        sink.notifications.push_back(notification);
        self.bytes += more;
        if sink.notifications.len() > NOTIFICATIONS
            && let Some(first) = sink.notifications.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(first.body.len());
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(sink) = self.sinks.remove(name) {
            let freed: usize = sink.notifications.iter().map(|notification| notification.body.len()).sum();
            self.bytes = self.bytes.saturating_sub(freed);
        }
    }
}

impl Notification {
    fn shown(&self) -> Json {
        let headers: Object = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let body = json::read(&self.body, &Limits::default());
        let body = body.unwrap_or_else(|_| String::from_utf8_lossy(&self.body).into_owned().into());
        let at = self.at.unix_timestamp_nanos() / 1_000_000;
        let at = Json::from(i64::try_from(at).unwrap_or_default());
        Json::from([("receivedAtMs", at), ("headers", headers.into()), ("body", body)])
    }
}

/// The sink that a webhook URL names: by its path alone, or on the host that the request came to.
pub(crate) fn claimed(head: &Parts, url: &str, forwarding: Forwarding) -> Option<String> {
    let origin = origin::of(head, forwarding);
    let path = if url.starts_with('/') { url } else { url.strip_prefix(origin.as_str())? };
    path.strip_prefix(PATH).filter(|name| is_name(name)).map(str::to_owned)
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(sinks: &Sinks, name: &str, body: &str) {
        sinks.put(name, &HeaderMap::new(), Bytes::from(body.to_owned()));
    }

    fn count(sinks: &Sinks, name: &str) -> usize {
        sinks.shown(name).get("notifications").and_then(Json::as_array).unwrap().len()
    }

    #[test]
    fn sinks_are_bounded_and_the_oldest_go() {
        let sinks = Sinks::new(SINKS);
        for at in 0..60 {
            put(&sinks, "one", &at.to_string());
        }
        assert_eq!(count(&sinks, "one"), NOTIFICATIONS);
        assert_eq!(sinks.shown("one").pointer("/notifications/0/body"), Some(&10.into()));
        for at in 0..SINKS {
            put(&sinks, &format!("s{at}"), "x");
        }
        assert_eq!((count(&sinks, "one"), count(&sinks, "s0")), (0, 1));
        assert_eq!(sinks.shelf().sinks.len(), SINKS);
        let large = "x".repeat(BODY_LIMIT);
        for at in 0..100 {
            put(&sinks, &format!("l{at}"), &large);
        }
        assert!(sinks.shelf().bytes <= BYTES);
        put(&sinks, "too-large", &"x".repeat(BODY_LIMIT + 1));
        put(&sinks, "no/name", "x");
        assert_eq!((count(&sinks, "too-large"), count(&sinks, "no/name")), (0, 0));
        for at in 0..SINKS {
            sinks.shelf().remove(&format!("l{at}"));
            sinks.shelf().remove(&format!("s{at}"));
        }
        let shelf = sinks.shelf();
        assert_eq!((shelf.bytes, shelf.sinks.len()), (0, 0));
    }
}
