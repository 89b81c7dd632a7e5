//! The operator's rules: what may be dialled, judged for URLs and for addresses.
//!
//! Takes allow entries (`CIDR`, `address`, `host:port`), our own listeners, and the name of the setting they came from. Gives `Ok` or a
//! [`Denied`] that says why and which setting would open it. Resolves nothing and connects to nothing: a name that passes
//! [`Rules::judge_url`] is judged again, address by address, when it is dialled.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use url::{Host, Url};

use crate::address::{self, Class};

mod allow;
pub use allow::{AllowEntry, BadEntry, parse_allow};

/// Something of ours that no list can open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Own {
    /// A bound listener or a database. An unspecified address means every address of this machine on that port.
    Address(SocketAddr),
    /// A name of ours, such as the host of a public URL or of the database.
    Name {
        /// Lower-case host name.
        host: String,
        /// Its port.
        port: u16,
    },
}

/// Whether `http://` may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plaintext {
    /// Where an allow entry covers the destination.
    #[default]
    Listed,
    /// Nowhere.
    Never,
}

/// The two schemes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// As written in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port when a URL names none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// Where a URL leads: what credentials and pools are bound to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Scheme.
    pub scheme: Scheme,
    /// Host, names in lower-case ASCII.
    pub host: Host<String>,
    /// Port, never zero.
    pub port: u16,
}

impl Target {
    /// `scheme://host:port`, the port always written: two targets are the same origin when these are equal.
    pub fn origin(&self) -> String {
        format!("{}://{}:{}", self.scheme.as_str(), self.host, self.port)
    }

    /// The name to look up, or `None` for a literal address.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }

    pub(crate) fn literal(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Domain(_) => None,
            Host::Ipv4(v4) => Some(IpAddr::V4(*v4)),
            Host::Ipv6(v6) => Some(IpAddr::V6(*v6)),
        }
    }
}

/// Why a destination is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The address is not on the public internet.
    Address {
        /// The refused address.
        address: IpAddr,
        /// Its class.
        class: Class,
    },
    /// Not a URL, or one that different readers read differently.
    Malformed,
    /// A listener, a database or a name of this gateway.
    Own,
    /// `http://` where no allow entry covers the destination.
    Plaintext,
    /// A port that belongs to another protocol, or zero.
    Port(u16),
    /// Neither `http` nor `https`.
    Scheme,
    /// The destination is not among those that this caller may reach.
    Unlisted,
    /// The URL carries a user name or a password.
    UserInfo,
}

/// A refused destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Why.
    pub why: Why,
    /// The setting that would open it; `None` where nothing can.
    pub key: Option<&'static str>,
}

impl Denied {
    fn openable(why: Why, key: &'static str) -> Denied {
        Denied { why, key: Some(key) }
    }

    fn always(why: Why) -> Denied {
        Denied { why, key: None }
    }
}

impl std::error::Error for Denied {}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Address { address, class } => write!(f, "address {address} is in the {}", class.describe())?,
            Why::Malformed => f.write_str("the address is not a plain http or https URL")?,
            Why::Own => f.write_str("the address is one of this gateway's own")?,
            Why::Plaintext => f.write_str("http without TLS is allowed only for listed destinations")?,
            Why::Port(port) => write!(f, "port {port} belongs to another protocol")?,
            Why::Scheme => f.write_str("the scheme is neither https nor http")?,
            Why::Unlisted => f.write_str("the destination is not on the tenant's list")?,
            Why::UserInfo => f.write_str("the URL carries a user name or password")?,
        }
        match self.key {
            Some(key) => write!(f, "; an operator can allow it with {key}"),
            None => f.write_str("; no setting allows it"),
        }
    }
}

/// The rules of one purpose: agents of cards have one set, webhooks and fetched documents another.
#[derive(Clone, Debug)]
pub struct Rules {
    allow: Vec<AllowEntry>,
    own: Vec<Own>,
    plaintext: Plaintext,
    key: &'static str,
    /// Where nothing else may be reached: the entries, and the setting they came from.
    only: Option<(Vec<AllowEntry>, &'static str)>,
}

/// Whether an allow entry covers a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Yes,
    No,
}

impl Rules {
    /// Rules whose entries come from the setting `key`, for example `egress.allow`.
    pub fn new(allow: Vec<AllowEntry>, own: Vec<Own>, plaintext: Plaintext, key: &'static str) -> Rules {
        Rules { allow, own, plaintext, key, only: None }
    }

    /// The same, for one who may reach these destinations and no other, the public ones included. They come from the
    /// setting `key`, and what they name is opened to that one as an allow entry would.
    #[must_use]
    pub fn only(mut self, entries: Vec<AllowEntry>, key: &'static str) -> Rules {
        self.allow.extend_from_slice(&entries);
        self.only = Some((entries, key));
        self
    }

    /// The public internet over https and nothing else.
    pub fn public_only(key: &'static str) -> Rules {
        Rules::new(Vec::new(), Vec::new(), Plaintext::Listed, key)
    }

    /// Whether this address may be dialled, no name being known for it.
    pub fn judge_ip(&self, address: IpAddr, port: u16) -> Result<(), Denied> {
        self.listed(None, SocketAddr::new(address, port)).map(drop)
    }

    /// Whether this URL may be called. A name passes here when nothing about the URL itself is refused; its addresses are judged when
    /// it is dialled.
    pub fn judge_url(&self, text: &str) -> Result<Target, Denied> {
        let target = parse(text)?;
        self.judge_target(&target)?;
        Ok(target)
    }

    /// The part of the judgement that needs no name lookup.
    pub(crate) fn judge_target(&self, target: &Target) -> Result<(), Denied> {
        if let Some(address) = target.literal() {
            return self.judge_dial(target, SocketAddr::new(address, target.port));
        }
        let name = target.name().unwrap_or_default();
        if self.is_own_name(name, target.port) {
            return Err(Denied::always(Why::Own));
        }
        if let Some((only, key)) = &self.only
            && !only.iter().any(|entry| matches!(entry, AllowEntry::Net { .. }) || entry.is_name(name, target.port))
        {
            return Err(Denied::openable(Why::Unlisted, key));
        }
        let named = self.names(name, target.port);
        if named == Listed::No {
            self.judge_port(target.port)?;
        }
        // A CIDR entry can still cover what the name resolves to; that is seen when it is dialled.
        let by_address = self.allow.iter().any(|entry| matches!(entry, AllowEntry::Net { .. }));
        let listed = if by_address { Listed::Yes } else { named };
        self.judge_scheme(target.scheme, listed)
    }

    /// The whole judgement for one address of a target, made right before it is dialled.
    pub(crate) fn judge_dial(&self, target: &Target, address: SocketAddr) -> Result<(), Denied> {
        let listed = self.listed(target.name(), address)?;
        self.judge_scheme(target.scheme, listed)
    }

    /// Whether a connection that exists leads back to a listener of ours: an unspecified listener is reachable on every address of
    /// this machine, and only the connection shows that both ends are this machine.
    pub(crate) fn judge_connected(&self, local: SocketAddr, peer: SocketAddr) -> Result<(), Denied> {
        let same_machine = local.ip().to_canonical() == peer.ip().to_canonical();
        let ours = self.own.iter().any(|own| match own {
            Own::Address(own) => own.ip().is_unspecified() && own.port() == peer.port(),
            Own::Name { .. } => false,
        });
        if same_machine && ours { Err(Denied::always(Why::Own)) } else { Ok(()) }
    }

    fn judge_scheme(&self, scheme: Scheme, listed: Listed) -> Result<(), Denied> {
        match (scheme, self.plaintext, listed) {
            (Scheme::Https, _, _) | (Scheme::Http, Plaintext::Listed, Listed::Yes) => Ok(()),
            (Scheme::Http, Plaintext::Listed, Listed::No) => Err(Denied::openable(Why::Plaintext, self.key)),
            (Scheme::Http, Plaintext::Never, _) => Err(Denied::always(Why::Plaintext)),
        }
    }

    fn judge_port(&self, port: u16) -> Result<(), Denied> {
        if FOREIGN_PORTS.contains(&port) { Err(Denied::openable(Why::Port(port), self.key)) } else { Ok(()) }
    }

    fn listed(&self, name: Option<&str>, to: SocketAddr) -> Result<Listed, Denied> {
        if to.port() == 0 {
            return Err(Denied::always(Why::Port(0)));
        }
        if self.is_own_address(to) || name.is_some_and(|name| self.is_own_name(name, to.port())) {
            return Err(Denied::always(Why::Own));
        }
        let class = address::classify(to.ip());
        if let Some((only, key)) = &self.only
            && !only.iter().any(|entry| entry.opens(name, to, class))
        {
            return Err(Denied::openable(Why::Unlisted, key));
        }
        if self.allow.iter().any(|entry| entry.opens(name, to, class)) {
            return Ok(Listed::Yes);
        }
        if class != Class::Public {
            let why = Why::Address { address: to.ip(), class };
            return Err(if openable(class) { Denied::openable(why, self.key) } else { Denied::always(why) });
        }
        self.judge_port(to.port())?;
        Ok(Listed::No)
    }

    fn names(&self, name: &str, port: u16) -> Listed {
        if self.allow.iter().any(|entry| entry.is_name(name, port)) { Listed::Yes } else { Listed::No }
    }

    fn is_own_address(&self, to: SocketAddr) -> bool {
        let forms = forms(to.ip());
        self.own.iter().any(|own| match own {
            Own::Address(own) if own.port() != to.port() => false,
            Own::Address(own) if own.ip().is_unspecified() => {
                matches!(address::classify(to.ip()), Class::Loopback | Class::Unspecified)
            }
            Own::Address(own) => {
                let own = own.ip().to_canonical();
                forms.contains(&own) || (own.is_loopback() && address::classify(to.ip()) == Class::Unspecified)
            }
            Own::Name { .. } => false,
        })
    }

    fn is_own_name(&self, name: &str, port: u16) -> bool {
        let name = without_root(name);
        self.own.iter().any(|own| match own {
            Own::Address(_) => false,
            Own::Name { host, port: own } => *own == port && without_root(host).eq_ignore_ascii_case(name),
        })
    }
}

/// Classes that an allow entry can open at all: nobody runs an agent on a multicast or unspecified address.
fn openable(class: Class) -> bool {
    !matches!(class, Class::Multicast | Class::Unspecified)
}

/// An address as written and as the IPv4 address it leads to: lists and own listeners match either.
fn forms(address: IpAddr) -> [IpAddr; 2] {
    let inner = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => address::embedded_v4(v6),
    };
    [address, inner.map_or(address, IpAddr::V4)]
}

/// `localhost.` and `localhost` are one name.
fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Reads a URL the way both readers of this program do: `url` judges it, `http` sends it. Where they differ it is refused.
fn parse(text: &str) -> Result<Target, Denied> {
    let malformed = || Denied::always(Why::Malformed);
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\' || !byte.is_ascii();
    if !text.bytes().all(plain) {
        return Err(malformed());
    }
    let url = Url::parse(text).map_err(|_| malformed())?;
    let scheme = match url.scheme() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return Err(Denied::always(Why::Scheme)),
    };
    if !url.username().is_empty() || url.password().is_some() || authority(text).contains('@') {
        return Err(Denied::always(Why::UserInfo));
    }
    let host = url.host().ok_or_else(malformed)?.to_owned();
    let port = url.port().unwrap_or_else(|| scheme.default_port());
    if port == 0 {
        return Err(Denied::always(Why::Port(0)));
    }
    let target = Target { scheme, host, port };
    match text.parse::<http::Uri>() {
        Ok(uri) if of_uri(&uri).as_ref() == Ok(&target) => Ok(target),
        // Names outside ASCII are legal in a URL and not in a request; they travel in their ASCII form.
        Err(_) if !text.is_ascii() => Ok(target),
        Ok(_) | Err(_) => Err(malformed()),
    }
}

/// The text between `://` and the path.
fn authority(text: &str) -> &str {
    let after = text.split_once("://").map_or(text, |(_, rest)| rest);
    after.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The target of a request about to be sent; odd spellings of addresses come out as the address.
pub(crate) fn of_uri(uri: &http::Uri) -> Result<Target, Denied> {
    let malformed = || Denied::always(Why::Malformed);
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(_) | None => return Err(Denied::always(Why::Scheme)),
    };
    let authority = uri.authority().ok_or_else(malformed)?;
    if authority.as_str().contains('@') {
        return Err(Denied::always(Why::UserInfo));
    }
    let host = Host::parse(authority.host()).map_err(|_| malformed())?;
    let port = match authority.as_str().get(authority.host().len()..).and_then(|rest| rest.strip_prefix(':')) {
        None | Some("") => scheme.default_port(),
        Some(digits) => digits.parse().map_err(|_| malformed())?,
    };
    Ok(Target { scheme, host, port })
}

/// Ports of protocols in which an HTTP request could be read as commands (WHATWG Fetch, "bad port"), and databases.
const FOREIGN_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
    532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3306, 3659, 4045, 4190,
    5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
];

/// Whether a network lies wholly inside link-local space: only then was metadata meant.
fn inside_link_local(net: &IpNet) -> bool {
    address::classify(net.network()) == Class::LinkLocal && address::classify(net.broadcast()) == Class::LinkLocal
}

#[cfg(test)]
mod tests;
