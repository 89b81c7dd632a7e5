//! Entries of an allow list.
//!
//! Takes the operator's texts, gives entries, or every bad one with what is wrong with it. What an entry opens is decided here:
//! a network opens what it covers, a name opens private ranges it resolves to, neither ever opens multicast or unspecified addresses,
//! and link-local (cloud metadata) is opened only by a network that lies inside it.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use url::Host;

use super::{forms, inside_link_local, openable, without_root};
use crate::address::Class;

/// One entry of an allow list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowEntry {
    /// `host:port`: that name on that port, wherever in public, private or loopback space it resolves to.
    Name {
        /// Lower-case ASCII name without final dot.
        host: String,
        /// The port.
        port: u16,
    },
    /// `10.0.0.0/8`, `10.1.2.3`, `127.0.0.1:9100`: addresses, on one port or on all.
    Net {
        /// The addresses.
        net: IpNet,
        /// The port, where the entry names one.
        port: Option<u16>,
    },
}

/// An entry that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {index} ({text:?}): {problem}")]
pub struct BadEntry {
    /// Position in the list, from 0.
    pub index: usize,
    /// The entry as given.
    pub text: String,
    /// What is wrong, and what to write instead.
    pub problem: &'static str,
}

/// Reads a whole list; on failure names every bad entry.
pub fn parse_allow<T: AsRef<str>>(texts: &[T]) -> Result<Vec<AllowEntry>, Vec<BadEntry>> {
    let mut entries = Vec::with_capacity(texts.len());
    let mut bad = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        match AllowEntry::parse(text.as_ref()) {
            Ok(entry) => entries.push(entry),
            Err(problem) => bad.push(BadEntry { index, text: text.as_ref().to_owned(), problem }),
        }
    }
    if bad.is_empty() { Ok(entries) } else { Err(bad) }
}

impl AllowEntry {
    /// Reads one entry.
    pub fn parse(text: &str) -> Result<AllowEntry, &'static str> {
        if text.contains("//") {
            return Err("is a URL; write host:port or a CIDR");
        }
        if text.contains('*') {
            return Err("wildcards are not supported; write host:port or a CIDR");
        }
        if text.contains('/') {
            return parse_net(text);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(AllowEntry::Net { net: IpNet::from(address), port: None });
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            let port = nonzero(address.port())?;
            return Ok(AllowEntry::Net { net: IpNet::from(address.ip()), port: Some(port) });
        }
        parse_name(text)
    }

    /// Whether this entry lets `to` be dialled, reached by `name` if it has one.
    pub(super) fn opens(&self, name: Option<&str>, to: SocketAddr, class: Class) -> bool {
        match self {
            AllowEntry::Name { .. } => name.is_some_and(|name| self.is_name(name, to.port())) && opened_by_name(class),
            AllowEntry::Net { net, port } => {
                port.is_none_or(|port| port == to.port())
                    && forms(to.ip()).iter().any(|form| net.contains(form))
                    && openable(class)
                    && (class != Class::LinkLocal || inside_link_local(net))
            }
        }
    }

    pub(super) fn is_name(&self, name: &str, port: u16) -> bool {
        match self {
            AllowEntry::Name { host, port: listed } => *listed == port && without_root(name).eq_ignore_ascii_case(host),
            AllowEntry::Net { .. } => false,
        }
    }
}

fn opened_by_name(class: Class) -> bool {
    match class {
        Class::Loopback | Class::Private | Class::Public | Class::Shared | Class::UniqueLocal => true,
        Class::Benchmark
        | Class::Documentation
        | Class::LinkLocal
        | Class::Multicast
        | Class::Reserved
        | Class::SiteLocal
        | Class::Tunnel
        | Class::Unspecified => false,
    }
}

fn parse_net(text: &str) -> Result<AllowEntry, &'static str> {
    let net: IpNet = text.parse().map_err(|_| "is not a CIDR such as 10.0.0.0/8")?;
    if net.addr() != net.network() {
        return Err("has bits set after its prefix; write the network address");
    }
    Ok(AllowEntry::Net { net, port: None })
}

fn parse_name(text: &str) -> Result<AllowEntry, &'static str> {
    let (host, port) = text.rsplit_once(':').ok_or("has no port; write host:port")?;
    let port: u16 = port.parse().map_err(|_| "its port is not a number from 1 to 65535")?;
    let port = nonzero(port)?;
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_')) {
        return Err("its host is not a name; write it in ASCII form");
    }
    match Host::parse(host) {
        Ok(Host::Domain(name)) => Ok(AllowEntry::Name { host: without_root(&name).to_owned(), port }),
        Ok(Host::Ipv4(_) | Host::Ipv6(_)) => Err("is an address in an odd spelling; write it in its usual form"),
        Err(_) => Err("its host is not a name"),
    }
}

fn nonzero(port: u16) -> Result<u16, &'static str> {
    if port == 0 { Err("its port is not a number from 1 to 65535") } else { Ok(port) }
}
