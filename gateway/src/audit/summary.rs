//! Refusals before a principal is proven: counted by tenant, reason and source in windows of ten seconds (product.md D19).
//!
//! Takes one refusal at a time, gives sums of finished windows. The table is bounded: what finds no place is counted under the reason
//! `overflow`. IPv6 sources count as their /64, for one host has all of it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::record::clean;
use super::spool::lock;
use crate::clock::Micros;

/// Length of a window.
const WINDOW: Micros = 10_000_000;
/// Most sums of one window.
const MOST: usize = 4096;
/// Longest tenant name that is kept; it may be invented.
const TENANT: usize = 64;

/// One sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) tenant: String,
    pub(crate) reason: String,
    pub(crate) source: String,
    pub(crate) window_us: Micros,
    pub(crate) count: u64,
}

/// Which windows to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Windows {
    /// Also those still running: the process is stopping.
    All,
    /// Those that ended before this time.
    Before(Micros),
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    sums: HashMap<Key, u64>,
    /// Windows before this one were given out; a late refusal counts here instead.
    next_window: Micros,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    window: Micros,
    tenant: Box<str>,
    reason: &'static str,
    source: Option<IpAddr>,
}

impl Refusals {
    pub(crate) fn count(&self, tenant: &str, reason: &'static str, source: IpAddr, at_us: Micros) {
        let mut table = lock(&self.table);
        let window = (at_us - at_us.rem_euclid(WINDOW)).max(table.next_window);
        let tenant = if tenant.len() <= TENANT { tenant } else { "" };
        let key = Key { window, tenant: tenant.into(), reason, source: Some(network(source)) };
        let key = if table.sums.len() < MOST || table.sums.contains_key(&key) {
            key
        } else {
            Key { window, tenant: "".into(), reason: "overflow", source: None }
        };
        *table.sums.entry(key).or_default() += 1;
    }

    /// Takes the sums of finished windows.
    pub(crate) fn take(&self, windows: Windows) -> Vec<Sum> {
        let mut table = lock(&self.table);
        let until = match windows {
            Windows::Before(now) => now - now.rem_euclid(WINDOW),
            Windows::All => table.sums.keys().map(|key| key.window + WINDOW).max().unwrap_or_default(),
        };
        table.next_window = table.next_window.max(until);
        let mut sums: Vec<Sum> =
            table.sums.extract_if(|key, _| key.window < until).map(|(key, count)| sum(&key, count)).collect();
        sums.sort_by(|a, b| {
            (a.window_us, &a.tenant, &a.reason, &a.source).cmp(&(b.window_us, &b.tenant, &b.reason, &b.source))
        });
        sums
    }
}

fn sum(key: &Key, count: u64) -> Sum {
    Sum {
        tenant: clean(&key.tenant).into_owned(),
        reason: key.reason.to_owned(),
        source: key.source.map(|source| source.to_string()).unwrap_or_default(),
        window_us: key.window,
        count,
    }
}

/// The source as it counts: an IPv6 host has all of its /64.
pub(crate) fn network(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u32) -> IpAddr {
        IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0102_0000 + last))
    }

    #[test]
    fn refusals_are_summed_by_tenant_reason_source_and_window() {
        let refusals = Refusals::default();
        for at in [0, 1, 9_999_999] {
            refusals.count("acme", "no_credential", ip(1), at);
        }
        refusals.count("acme", "bad_credential", ip(1), 5);
        refusals.count("acme", "no_credential", ip(2), 5);
        refusals.count("acme", "no_credential", ip(1), 10_000_000);
        assert_eq!(refusals.take(Windows::Before(9_999_999)), []);
        let counts: Vec<u64> = refusals.take(Windows::Before(10_000_000)).iter().map(|sum| sum.count).collect();
        assert_eq!(counts, [1, 3, 1]);
        let rest = refusals.take(Windows::All);
        assert_eq!((rest.len(), rest[0].window_us, rest[0].count), (1, 10_000_000, 1));
        assert_eq!(refusals.take(Windows::All), []);
    }

    #[test]
    fn a_late_refusal_counts_in_the_next_window_never_twice_in_one() {
        let refusals = Refusals::default();
        refusals.count("acme", "no_credential", ip(1), 5);
        assert_eq!(refusals.take(Windows::Before(20_000_000))[0].window_us, 0);
        refusals.count("acme", "no_credential", ip(1), 6);
        assert_eq!(refusals.take(Windows::All)[0].window_us, 20_000_000);
    }

    #[test]
    fn a_flood_of_sources_stays_bounded_and_is_counted_whole() {
        let refusals = Refusals::default();
        for source in 0..10_000 {
            refusals.count("acme", "no_credential", ip(source), 5);
            refusals.count("acme", "no_credential", ip(0), 5);
        }
        let sums = refusals.take(Windows::All);
        assert_eq!(sums.len(), MOST + 1);
        assert_eq!(sums.iter().map(|sum| sum.count).sum::<u64>(), 20_000);
        assert_eq!(sums.iter().find(|sum| sum.source == ip(0).to_string()).unwrap().count, 10_001);
    }

    #[test]
    fn a_v6_host_is_one_source_and_an_invented_tenant_costs_nothing() {
        let refusals = Refusals::default();
        refusals.count("", "r", "2001:db8::1".parse().unwrap(), 5);
        refusals.count(&"x".repeat(1 << 20), "r", "2001:db8::ffff:1".parse().unwrap(), 5);
        let sums = refusals.take(Windows::All);
        assert_eq!((sums.len(), sums[0].count, sums[0].source.as_str()), (1, 2, "2001:db8::"));
    }
}
