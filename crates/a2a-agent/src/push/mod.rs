//! Push notifications: where callers may have a task's events sent.
//!
//! URLs come from callers, so each is judged twice: when it is registered, and when it is called, then also address by address, so
//! that a name that leads elsewhere by then is refused. Redirects are never followed. Credentials are kept to be used and never given
//! back.
//!
//! | module | holds |
//! |---|---|
//! | `config` | one configuration: read, kept, shown |
//! | `courier` | delivery: in order, with retries |

mod config;
mod courier;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use a2a::{Fault, Version};
use bytes::Bytes;
use egress::{Client, ClientSettings, Connector, ConnectorSettings, Net, Rules};
use http::HeaderMap;
use http::request::Parts;
use json::Object;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use url::Url;

pub(crate) use config::Config;

/// Most configurations of one task.
pub(crate) const CONFIG_LIMIT: usize = 10;

/// Which URLs callers may register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every URL that the rules allow.
    Rules,
    /// Those of them that begin with one of these: the same origin, and a path below.
    Prefixes(Vec<String>),
    /// Those of them that are on one of these hosts; without a port, on any.
    Hosts(Vec<(String, Option<u16>)>),
}

/// How push notifications are done.
#[derive(Debug)]
pub struct PushSettings {
    /// Which URLs callers may register.
    pub reach: Reach,
    /// Where connections may go at all.
    pub rules: Rules,
    /// What refusals name as the setting that would allow a URL.
    pub setting: &'static str,
    /// The pauses between attempts; one attempt more than pauses.
    pub pauses: Vec<Duration>,
    /// How long one attempt may take.
    pub patience: Duration,
    /// Destinations inside this process.
    pub local: Option<Local>,
    /// The network.
    pub net: Net,
}

impl Default for PushSettings {
    /// Any public https URL; three attempts.
    fn default() -> Self {
        Self {
            reach: Reach::Rules,
            rules: Rules::public_only("the agent's push settings"),
            setting: "the agent's push settings",
            pauses: vec![Duration::from_millis(500), Duration::from_secs(2)],
            patience: Duration::from_secs(10),
            local: None,
            net: Net::System,
        }
    }
}

/// Destinations inside this process, which no connection is made for.
#[derive(Clone)]
pub struct Local {
    /// Whether a URL is such a destination.
    pub claims: Claims,
    /// Takes a notification.
    pub deliver: Deliver,
}

/// The name of the destination that a URL means, seen from the request that registers it.
pub type Claims = Arc<dyn Fn(&Parts, &str) -> Option<String> + Send + Sync>;

/// Takes headers and body of a notification for the destination of this name.
pub type Deliver = Arc<dyn Fn(&str, HeaderMap, Bytes) + Send + Sync>;

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Local")
    }
}

/// Push notifications cannot be done with these settings.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// A prefix is no URL.
    #[error("{0:?} is no http or https URL")]
    BadPrefix(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] egress::ConnectError),
}

/// Push notifications, ready to be used by any number of agents.
#[derive(Clone)]
pub struct Push(Arc<Post>);

/// Judges URLs and delivers to them.
pub(crate) struct Post {
    reach: Known,
    setting: &'static str,
    pauses: Vec<Duration>,
    patience: Duration,
    local: Option<Local>,
    client: Client,
    couriers: TaskTracker,
    /// So that many tasks don't open many connections at once.
    attempts: Semaphore,
}

/// [`Reach`], read.
enum Known {
    Rules,
    Prefixes(Vec<Url>),
    Hosts(Vec<(String, Option<u16>)>),
}

/// Deliveries that are attempted at the same time.
const ATTEMPTS: usize = 64;

impl Push {
    /// Push notifications with these settings.
    ///
    /// # Errors
    /// When a prefix is no URL, or TLS cannot be set up.
    pub fn new(settings: PushSettings) -> Result<Self, PushError> {
        let PushSettings { reach, rules, setting, pauses, patience, local, net } = settings;
        let reach = match reach {
            Reach::Rules => Known::Rules,
            Reach::Hosts(hosts) => Known::Hosts(hosts),
            Reach::Prefixes(prefixes) => {
                let read = |text: String| {
                    let url = Url::parse(&text).ok().filter(|url| url.host().is_some());
                    url.ok_or(PushError::BadPrefix(text))
                };
                Known::Prefixes(prefixes.into_iter().map(read).collect::<Result<_, _>>()?)
            }
        };
        let connector = ConnectorSettings { net, ..ConnectorSettings::default() };
        let connector = Connector::new(Arc::new(rules), connector)
            .map_err(|error| PushError::Tls(egress::ConnectError::Tls(error.to_string())))?;
        let client = Client::new(connector, &ClientSettings::default());
        let (couriers, attempts) = (TaskTracker::new(), Semaphore::new(ATTEMPTS));
        Ok(Self(Arc::new(Post { reach, setting, pauses, patience, local, client, couriers, attempts })))
    }

    /// Push notifications to URLs that begin with one of these.
    ///
    /// # Errors
    /// As [`Push::new`].
    pub fn to<P: Into<String>>(prefixes: impl IntoIterator<Item = P>) -> Result<Self, PushError> {
        let reach = Reach::Prefixes(prefixes.into_iter().map(Into::into).collect());
        Self::new(PushSettings { reach, ..PushSettings::default() })
    }

    pub(crate) fn post(&self) -> &Arc<Post> {
        &self.0
    }
}

impl fmt::Debug for Push {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push").field("setting", &self.0.setting).finish_non_exhaustive()
    }
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").finish_non_exhaustive()
    }
}

impl Post {
    /// Reads and judges a configuration that came with the request `head`.
    pub(crate) fn admit(&self, params: &Object, head: &Parts, version: Version) -> Result<Config, Fault> {
        let mut config = Config::of_request(params, version)?;
        if let Some(local) = &self.local {
            config.local = (local.claims)(head, config.url());
        }
        if config.local.is_none() {
            self.judge(config.url()).map_err(|why| {
                Fault::invalid_params(format!("the URL of the push notification configuration is refused: {why}"))
            })?;
        }
        Ok(config)
    }

    fn judge(&self, text: &str) -> Result<(), String> {
        let target = self.client.rules().judge_url(text).map_err(|denied| {
            // Not every refusal names the setting; a caller who may not know why still learns where to ask.
            format!("{denied} ({})", self.setting)
        })?;
        let (host, port) = (target.host.to_string(), target.port);
        let listed = match &self.reach {
            Known::Rules => true,
            Known::Hosts(hosts) => {
                hosts.iter().any(|(known, at)| known.eq_ignore_ascii_case(&host) && at.is_none_or(|at| at == port))
            }
            Known::Prefixes(prefixes) => {
                Url::parse(text).is_ok_and(|url| prefixes.iter().any(|prefix| is_below(prefix, &url)))
            }
        };
        if listed { Ok(()) } else { Err(format!("its host is not one that {} lists", self.setting)) }
    }
}

fn is_below(prefix: &Url, url: &Url) -> bool {
    prefix.origin() == url.origin() && url.path().starts_with(prefix.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_prefixes_are_taken() {
        let push = Push::to(["https://hooks.example/a2a/"]).unwrap();
        assert_eq!(push.0.judge("https://hooks.example/a2a/x?y=1"), Ok(()));
        for url in [
            "https://hooks.example/other",
            "https://hooks.example/a2a/../other",
            "https://hooks.example/a2a/%2e%2e/other",
            "https://hooks.example.attacker.test/a2a/",
            "https://hooks.example@attacker.test/a2a/",
            "https://hooks.example:444/a2a/",
            "http://hooks.example/a2a/",
            "ftp://hooks.example/a2a/",
            "/a2a/x",
        ] {
            assert!(push.0.judge(url).is_err(), "{url}");
        }
        assert!(matches!(Push::to(["nonsense"]), Err(PushError::BadPrefix(_))));
    }

    #[test]
    fn addresses_inside_are_refused_however_they_are_written() {
        let push = Push::new(PushSettings::default()).unwrap();
        assert_eq!(push.0.judge("https://hooks.example/"), Ok(()));
        for host in ["169.254.169.254", "127.1", "[::ffff:10.0.0.1]", "0x7f000001", "localhost", "10.0.0.1", "[::1]"] {
            for scheme in ["http", "https"] {
                let judged = push.0.judge(&format!("{scheme}://{host}/latest/meta-data"));
                // A name is judged by its addresses, when it is called.
                assert!(judged.is_err() || (host, scheme) == ("localhost", "https"), "{scheme}://{host}");
            }
        }
    }
}
