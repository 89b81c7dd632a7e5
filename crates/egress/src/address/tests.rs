//! The deny table against the networks of its specification, written a second time as CIDRs.

use ipnet::{Ipv4Net, Ipv6Net};
use proptest::prelude::*;

use super::*;

const DENIED_V4: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

const DENIED_V6: &[&str] = &[
    "::/128",
    "::1/128",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

fn denied_v4(v4: Ipv4Addr) -> bool {
    DENIED_V4.iter().any(|net| net.parse::<Ipv4Net>().unwrap().contains(&v4))
}

fn denied_v6(v6: Ipv6Addr) -> bool {
    DENIED_V6.iter().any(|net| net.parse::<Ipv6Net>().unwrap().contains(&v6))
}

fn is_denied(address: IpAddr) -> bool {
    classify(address) != Class::Public
}

#[test]
fn both_edges_of_every_denied_network_are_denied_and_their_neighbours_follow_the_table() {
    for net in DENIED_V4.iter().map(|net| net.parse::<Ipv4Net>().unwrap()) {
        for v4 in [net.network(), net.broadcast()] {
            assert!(is_denied(IpAddr::V4(v4)), "{v4}");
        }
        for bits in [net.network().to_bits().wrapping_sub(1), net.broadcast().to_bits().wrapping_add(1)] {
            let v4 = Ipv4Addr::from_bits(bits);
            assert_eq!(is_denied(IpAddr::V4(v4)), denied_v4(v4), "{v4}");
        }
    }
    for net in DENIED_V6.iter().map(|net| net.parse::<Ipv6Net>().unwrap()) {
        for v6 in [net.network(), net.broadcast()] {
            assert!(is_denied(IpAddr::V6(v6)), "{v6}");
        }
    }
}

#[test]
fn carried_v4_addresses_are_judged() {
    for (text, carried) in [
        ("::ffff:127.0.0.1", Some("127.0.0.1")),
        ("::127.0.0.1", Some("127.0.0.1")),
        ("64:ff9b::10.0.0.1", Some("10.0.0.1")),
        ("2002:a9fe:a9fe::1", Some("169.254.169.254")),
        ("::ffff:8.8.8.8", Some("8.8.8.8")),
        ("::", None),
        ("::1", None),
        ("2606:4700::1111", None),
        ("64:ff9b:1::8.8.8.8", None),
    ] {
        assert_eq!(embedded_v4(text.parse().unwrap()), carried.map(|v4| v4.parse().unwrap()), "{text}");
    }
}

#[test]
fn every_second_octet_of_every_first_octet_follows_the_table() {
    for high in 0..=u16::MAX {
        let [a, b] = high.to_be_bytes();
        for v4 in [Ipv4Addr::new(a, b, 0, 1), Ipv4Addr::new(a, b, 100, 7), Ipv4Addr::new(a, b, 255, 255)] {
            assert_eq!(is_denied(IpAddr::V4(v4)), denied_v4(v4), "{v4}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// All 256 first octets in every case, with random rests, in every form that carries them.
    #[test]
    fn any_v4_in_any_form_follows_the_table(rest in any::<[u8; 3]>(), tail in any::<u64>()) {
        for first in 0..=255u8 {
            let v4 = Ipv4Addr::new(first, rest[0], rest[1], rest[2]);
            let expected = denied_v4(v4);
            prop_assert_eq!(is_denied(IpAddr::V4(v4)), expected, "{}", v4);
            let bits = u128::from(v4.to_bits());
            let six_to_four = Ipv6Addr::from_bits(0x2002 << 112 | bits << 80 | u128::from(tail));
            for v6 in [v4.to_ipv6_mapped(), Ipv6Addr::from_bits(0x64_ff9b << 96 | bits), six_to_four] {
                prop_assert_eq!(is_denied(IpAddr::V6(v6)), expected, "{}", v6);
            }
            if bits > 1 {
                let compatible = Ipv6Addr::from_bits(bits);
                prop_assert_eq!(is_denied(IpAddr::V6(compatible)), expected, "{}", compatible);
            }
        }
    }

    /// All 256 first bytes in every case: outside 2000::/3 nothing passes, inside it the table decides.
    #[test]
    fn any_v6_follows_the_table(rest in any::<u128>()) {
        for first in 0..=255u128 {
            let v6 = Ipv6Addr::from_bits(first << 120 | rest >> 8);
            if embedded_v4(v6).is_none() {
                let expected = denied_v6(v6) || (v6.segments()[0] >> 13) != 1;
                prop_assert_eq!(is_denied(IpAddr::V6(v6)), expected, "{}", v6);
            }
        }
    }
}
