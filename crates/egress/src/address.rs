//! The deny table: which addresses are not the public internet.
//!
//! Takes an IP address, gives its [`Class`]. IPv6 forms that carry an IPv4 address are judged by that address. Knows nothing of lists,
//! ports or names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of address it is. Only [`Class::Public`] passes without an entry in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Benchmark networks, 198.18.0.0/15.
    Benchmark,
    /// Addresses that stand in examples only.
    Documentation,
    /// Link-local, where cloud metadata lives: 169.254.0.0/16, fe80::/10.
    LinkLocal,
    /// This machine: 127.0.0.0/8, ::1.
    Loopback,
    /// One sender, many receivers.
    Multicast,
    /// RFC 1918.
    Private,
    /// The public internet.
    Public,
    /// Set aside, unassigned, broadcast.
    Reserved,
    /// Carrier-grade NAT, 100.64.0.0/10.
    Shared,
    /// The old IPv6 private range, fec0::/10.
    SiteLocal,
    /// Tunnels and translation that hide the true destination: Teredo, 6to4 relays, local NAT64, segment routing, discard.
    Tunnel,
    /// IPv6 private range, fc00::/7.
    UniqueLocal,
    /// 0.0.0.0/8 and ::, which reach this machine on many systems.
    Unspecified,
}

impl Class {
    /// For people.
    pub fn describe(self) -> &'static str {
        match self {
            Class::Benchmark => "benchmark range",
            Class::Documentation => "documentation range",
            Class::LinkLocal => "link-local range (cloud metadata)",
            Class::Loopback => "loopback range",
            Class::Multicast => "multicast range",
            Class::Private => "private range",
            Class::Public => "public address",
            Class::Reserved => "reserved range",
            Class::Shared => "carrier-grade NAT range",
            Class::SiteLocal => "site-local range",
            Class::Tunnel => "tunnel or translation range",
            Class::UniqueLocal => "unique-local range",
            Class::Unspecified => "unspecified range",
        }
    }
}

/// The class of an address, an IPv4 address inside an IPv6 form counting as itself.
pub fn classify(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => match embedded_v4(v6) {
            Some(v4) => classify_v4(v4),
            None => classify_v6(v6),
        },
    }
}

/// The address an IPv6 form leads to: mapped, compatible, NAT64 and 6to4 forms carry an IPv4 address. `::` and `::1` carry none.
pub fn embedded_v4(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = v6.segments();
    let low = || Some(from_segments(segments[6], segments[7]));
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] => low(),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => low(),
        [0x2002, high, next, ..] => Some(from_segments(high, next)),
        _ => None,
    }
}

fn from_segments(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

fn classify_v4(v4: Ipv4Addr) -> Class {
    match v4.octets() {
        [0, ..] => Class::Unspecified,
        [10, ..] => Class::Private,
        [100, 64..=127, ..] => Class::Shared,
        [127, ..] => Class::Loopback,
        [169, 254, ..] => Class::LinkLocal,
        [172, 16..=31, ..] => Class::Private,
        [192, 0, 0, _] => Class::Reserved,
        [192, 0, 2, _] => Class::Documentation,
        [192, 88, 99, _] => Class::Tunnel,
        [192, 168, ..] => Class::Private,
        [198, 18 | 19, ..] => Class::Benchmark,
        [198, 51, 100, _] | [203, 0, 113, _] => Class::Documentation,
        [224..=239, ..] => Class::Multicast,
        [240..=255, ..] => Class::Reserved,
        _ => Class::Public,
    }
}

fn classify_v6(v6: Ipv6Addr) -> Class {
    match v6.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Class::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => Class::Loopback,
        [0x64, 0xff9b, 1, ..] | [0x100, 0, 0, 0, ..] | [0x2001, 0, ..] | [0x5f00, ..] => Class::Tunnel,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Class::Documentation,
        [0xfc00..=0xfdff, ..] => Class::UniqueLocal,
        [0xfe80..=0xfebf, ..] => Class::LinkLocal,
        [0xfec0..=0xfeff, ..] => Class::SiteLocal,
        [0xff00..=0xffff, ..] => Class::Multicast,
        // Nothing outside 2000::/3 is assigned as global unicast (RFC 4291 §2.4, IANA registry).
        [0x2000..=0x3fff, ..] => Class::Public,
        _ => Class::Reserved,
    }
}

#[cfg(test)]
mod tests;
