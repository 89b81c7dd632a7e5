//! Spellings, lists and our own listeners.

use super::*;

const KEY: &str = "egress.allow";

fn rules(allow: &[&str]) -> Rules {
    Rules::new(parse_allow(allow).unwrap(), Vec::new(), Plaintext::Listed, KEY)
}

fn class_of(url: &str) -> Option<Class> {
    match rules(&[]).judge_url(url).unwrap_err().why {
        Why::Address { class, .. } => Some(class),
        Why::Malformed | Why::Own | Why::Plaintext | Why::Port(_) | Why::Scheme | Why::Unlisted | Why::UserInfo => None,
    }
}

/// Hosts that lead to refused addresses, by class.
const SPELLINGS: &[(Class, &[&str])] = &[
    (
        Class::Loopback,
        &[
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "127.0.1",
            "127.1.",
            "127.255.255.254",
            "127.0.0.2",
            "2130706433",
            "0x7f000001",
            "0X7F000001",
            "0x7f.1",
            "0x7f.0.0.1",
            "0x7f.0x0.0x0.0x1",
            "0177.0.0.1",
            "0177.0.0.01",
            "00177.1",
            "017700000001",
            "0x7F.00.0x0.01",
            "127.0x0.1",
            "127.000.000.001",
            "[::1]",
            "[0:0:0:0:0:0:0:1]",
            "[0000:0000:0000:0000:0000:0000:0000:0001]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::FFFF:7F00:0001]",
            "[0:0:0:0:0:ffff:127.0.0.1]",
            "[::127.0.0.1]",
            "[::7f00:1]",
            "[64:ff9b::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[2002:7f00:0001::1]",
            "[2002:7f01:203:4::5]",
            "１２７.0.0.1",
            "１２７．０．０．１",
            "①②⑦.0.0.1",
            "127。0。0。1",
            "127｡0｡0｡1",
            "127.⓪.0.1",
            "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
            "𝟙𝟚𝟟.1",
            "¹²⁷.0.0.1",
            "₁₂₇.0.0.1",
            "０x7f.1",
            "0ｘ7f000001",
            "２１３０７０６４３３",
            "12\u{ad}7.0.0.1",
            "127.0.0.\u{200b}1",
            "127.0.\u{2060}0.1",
        ],
    ),
    (
        Class::LinkLocal,
        &[
            "169.254.169.254",
            "169.254.169.254.",
            "169.254.43518",
            "169.16689662",
            "2852039166",
            "0xa9fea9fe",
            "0xA9.0xFE.0xA9.0xFE",
            "0251.0376.0251.0376",
            "0251.254.169.254",
            "0xa9.254.0251.254",
            "025177524776",
            "169.254.0.1",
            "169.254.255.255",
            "169.254.170.2",
            "[::ffff:169.254.169.254]",
            "[::ffff:a9fe:a9fe]",
            "[::a9fe:a9fe]",
            "[64:ff9b::a9fe:a9fe]",
            "[2002:a9fe:a9fe::]",
            "[fe80::1]",
            "[fe80:0:0:0:0:0:0:1]",
            "[febf:ffff::1]",
            "[fe90::a9fe:a9fe]",
            "１６９.２５４.１６９.２５４",
            "①⑥⑨.②⑤④.①⑥⑨.②⑤④",
            "169。254。169。254",
        ],
    ),
    (
        Class::Private,
        &[
            "10.0.0.0",
            "10.0.0.5",
            "10.255.255.255",
            "10.1",
            "10.0x1",
            "012.0.0.1",
            "0xa.0.0.1",
            "0x0a000001",
            "167772161",
            "01200000001",
            "１0.0.0.1",
            "172.16.0.1",
            "172.16.1",
            "172.31.255.255",
            "172.0x10.0.1",
            "0254.020.0.1",
            "0xac100001",
            "2886729729",
            "192.168.0.1",
            "192.168.1",
            "192.168.257",
            "192.168.255.255",
            "0300.0250.0.1",
            "0xc0.0xa8.0.1",
            "0xc0a80001",
            "3232235521",
            "[::ffff:10.0.0.5]",
            "[::ffff:a00:5]",
            "[::10.0.0.5]",
            "[::ffff:172.16.0.1]",
            "[::ffff:192.168.0.1]",
            "[::ffff:c0a8:1]",
            "[64:ff9b::10.0.0.5]",
            "[64:ff9b::c0a8:1]",
            "[64:ff9b::172.31.0.1]",
            "[2002:a00:5::]",
            "[2002:ac10:1::1]",
            "[2002:c0a8:1::1]",
        ],
    ),
    (
        Class::Unspecified,
        &[
            "0",
            "0.",
            "0x0",
            "00",
            "0.0",
            "0.0.0",
            "0.0.0.0",
            "0.0.0.0.",
            "0.1.2.3",
            "0.255.255.255",
            "16777215",
            "0x00000000",
            "[::]",
            "[0:0:0:0:0:0:0:0]",
            "[::ffff:0.0.0.0]",
            "[::ffff:0:0]",
            "[::0.0.0.2]",
            "[64:ff9b::]",
            "[2002::]",
            "⓪.0.0.0",
        ],
    ),
    (Class::Shared, &["100.64.0.1", "100.127.255.255", "0144.0100.0.1", "0x64400001", "[::ffff:100.64.0.1]"]),
    (Class::Benchmark, &["198.18.0.1", "198.19.255.255", "0xc6120001", "[::ffff:198.18.0.1]"]),
    (
        Class::Documentation,
        &["192.0.2.1", "198.51.100.1", "203.0.113.1", "3221225985", "[2001:db8::1]", "[3fff::1]", "[3fff:fff::1]"],
    ),
    (Class::Multicast, &["224.0.0.1", "239.255.255.255", "0xe0000001", "[ff02::1]", "[ff0e::1]", "[::ffff:224.0.0.1]"]),
    (
        Class::Reserved,
        &[
            "192.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "0xffffffff",
            "4294967295",
            "037777777777",
            "[4000::1]",
            "[::1:0:0:1]",
        ],
    ),
    (
        Class::Tunnel,
        &[
            "192.88.99.1",
            "[2001::1]",
            "[2001:0:53aa:64c::1]",
            "[64:ff9b:1::1]",
            "[64:ff9b:1::8.8.8.8]",
            "[100::1]",
            "[5f00::1]",
        ],
    ),
    (Class::SiteLocal, &["[fec0::1]", "[feff::1]"]),
    (Class::UniqueLocal, &["[fc00::1]", "[fd00::1]", "[fd00:ec2::254]", "[fdff:ffff::1]"]),
];

#[test]
fn no_spelling_of_a_refused_address_passes() {
    let mut count = 0;
    for (class, hosts) in SPELLINGS {
        for host in *hosts {
            for url in [format!("https://{host}/x"), format!("https://{host}:8443/x?y#z")] {
                assert_eq!(class_of(&url), Some(*class), "{url}");
            }
            count += 1;
        }
    }
    assert!(count >= 150, "only {count} spellings");
}

/// F28
#[test]
fn urls_that_hide_their_host_are_refused() {
    for (url, why) in [
        ("http://up.test:9100@attacker.test/", Why::UserInfo),
        ("https://user:secret@example.com/", Why::UserInfo),
        ("https://@example.com/", Why::UserInfo),
        ("https://:@example.com/", Why::UserInfo),
        ("https://example.com%40127.0.0.1/", Why::Malformed),
        ("https://example.com\\@127.0.0.1/", Why::Malformed),
        ("https:\\\\127.0.0.1/", Why::Malformed),
        ("https:/127.0.0.1/", Why::Malformed),
        ("https:127.0.0.1", Why::Malformed),
        ("https:////127.0.0.1/", Why::Malformed),
        (" https://example.com/", Why::Malformed),
        ("https://example.com/\n", Why::Malformed),
        ("https://exa\tmple.com/", Why::Malformed),
        ("https://%31%32%37.0.0.1/", Why::Malformed),
        ("https://[fe80::1%25eth0]/", Why::Malformed),
        ("https://[::1/", Why::Malformed),
        ("https://1.2.3.4.5/", Why::Malformed),
        ("https://256.256.256.256/", Why::Malformed),
        ("https://0x1ffffffff/", Why::Malformed),
        ("https://example.com:99999/", Why::Malformed),
        ("https://example.com:0/", Why::Port(0)),
        ("https://example.com:25/", Why::Port(25)),
        ("https://8.8.8.8:6379/", Why::Port(6379)),
        ("//example.com/", Why::Malformed),
        ("", Why::Malformed),
        ("file:///etc/passwd", Why::Scheme),
        ("gopher://example.com/", Why::Scheme),
        ("ftp://example.com/", Why::Scheme),
        ("data:text/plain,hello", Why::Scheme),
        ("http://example.com/", Why::Plaintext),
    ] {
        assert_eq!(rules(&[]).judge_url(url).unwrap_err().why, why, "{url}");
    }
}

#[test]
fn public_destinations_pass_with_their_origin() {
    for (url, origin) in [
        ("https://example.com/a2a/message%3Asend", "https://example.com:443"),
        ("https://EXAMPLE.com:8443", "https://example.com:8443"),
        ("https://bücher.example/", "https://xn--bcher-kva.example:443"),
        ("https://8.8.8.8/", "https://8.8.8.8:443"),
        ("https://[2606:4700::1111]:444/", "https://[2606:4700::1111]:444"),
        ("https://[::ffff:8.8.8.8]/", "https://[::ffff:808:808]:443"),
        ("https://agent_1.example.com:/", "https://agent_1.example.com:443"),
    ] {
        assert_eq!(rules(&[]).judge_url(url).unwrap().origin(), origin);
    }
}

#[test]
fn listed_networks_open_what_they_cover_over_http_too() {
    let rules = rules(&["10.1.0.0/16", "127.0.0.1:9100", "fd00::/8", "198.18.0.7"]);
    for url in [
        "http://10.1.2.3:8080/",
        "https://10.1.2.3/",
        "http://127.0.0.1:9100/",
        "http://[::ffff:127.0.0.1]:9100/",
        "http://0x7f.1:9100/",
        "https://[fd00::7]/",
        "http://198.18.0.7:1234/",
    ] {
        assert!(rules.judge_url(url).is_ok(), "{url}");
    }
    for url in ["http://10.2.0.1/", "http://127.0.0.1:9101/", "http://127.0.0.2:9100/", "http://8.8.8.8/"] {
        assert!(rules.judge_url(url).is_err(), "{url}");
    }
}

#[test]
fn a_listed_name_opens_private_addresses_but_not_metadata() {
    let rules = rules(&["agent.internal:8080"]);
    let target = rules.judge_url("http://AGENT.internal.:8080/").unwrap();
    let at = |ip: &str| rules.judge_dial(&target, SocketAddr::new(ip.parse().unwrap(), 8080));
    for ip in ["10.0.0.5", "127.0.0.1", "::1", "fd00::1", "100.64.0.1", "8.8.8.8"] {
        assert_eq!(at(ip), Ok(()), "{ip}");
    }
    for ip in ["169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "::ffff:169.254.169.254", "2001::1"] {
        assert!(at(ip).is_err(), "{ip}");
    }
    assert!(rules.judge_url("http://agent.internal:8081/").is_err());
    assert!(rules.judge_url("http://agent.internal.attacker.test:8080/").is_err());
}

#[test]
fn a_wide_network_does_not_open_metadata_or_multicast() {
    let wide = rules(&["0.0.0.0/0", "::/0"]);
    for ip in
        ["169.254.169.254", "224.0.0.1", "0.0.0.0", "fe80::1", "ff02::1", "::ffff:169.254.169.254", "2002:a9fe:a9fe::"]
    {
        assert!(wide.judge_ip(ip.parse().unwrap(), 80).is_err(), "{ip}");
    }
    assert_eq!(wide.judge_ip("10.0.0.1".parse().unwrap(), 80), Ok(()));
    let meant = rules(&["169.254.169.254/32"]);
    assert_eq!(meant.judge_ip("169.254.169.254".parse().unwrap(), 80), Ok(()));
}

#[test]
fn nothing_opens_our_own_listeners() {
    let own = vec![
        Own::Address("0.0.0.0:8100".parse().unwrap()),
        Own::Address("127.0.0.1:8101".parse().unwrap()),
        Own::Address("10.0.0.9:5432".parse().unwrap()),
        Own::Name { host: "gateway.example.com".to_owned(), port: 443 },
    ];
    let allow = ["0.0.0.0/0", "::/0", "localhost:8100", "localhost:8101", "gateway.example.com:443", "127.0.0.1:8100"];
    let rules = Rules::new(parse_allow(&allow).unwrap(), own, Plaintext::Listed, KEY);
    for url in [
        "http://127.0.0.1:8100/",
        "http://127.9.9.9:8100/",
        "http://[::1]:8100/",
        "http://0.0.0.0:8100/",
        "http://[::ffff:127.0.0.1]:8101/",
        "http://0:8101/",
        "http://127.1:8101/",
        "https://10.0.0.9:5432/",
        "https://[64:ff9b::10.0.0.9]:5432/",
        "https://gateway.example.com/",
        "https://GATEWAY.example.com./",
    ] {
        let denied = rules.judge_url(url).unwrap_err();
        assert_eq!(denied, Denied { why: Why::Own, key: None }, "{url}");
    }
    let target = rules.judge_url("http://localhost:8100/").unwrap();
    let denied = rules.judge_dial(&target, "127.0.0.1:8100".parse().unwrap()).unwrap_err();
    assert_eq!(denied.why, Why::Own);
    let here: SocketAddr = "10.7.7.7:40000".parse().unwrap();
    assert!(rules.judge_connected(here, "10.7.7.7:8100".parse().unwrap()).is_err());
    assert!(rules.judge_connected(here, "10.7.7.7:8200".parse().unwrap()).is_ok());
    assert!(rules.judge_connected(here, "10.7.7.8:8100".parse().unwrap()).is_ok());
}

#[test]
fn a_denial_names_the_setting() {
    let denied = rules(&[]).judge_url("https://10.0.0.5/").unwrap_err();
    assert_eq!(denied.key, Some(KEY));
    assert!(denied.to_string().contains("egress.allow"), "{denied}");
    let never = Rules::new(parse_allow(&["10.0.0.0/8"]).unwrap(), Vec::new(), Plaintext::Never, KEY);
    assert_eq!(never.judge_url("http://10.0.0.5/").unwrap_err(), Denied { why: Why::Plaintext, key: None });
}

#[test]
fn every_bad_entry_is_named() {
    let list = [
        "10.0.0.0/8",
        "10.0.0.1/8",
        "http://example.com",
        "*.example.com:80",
        "example.com",
        "example.com:0",
        "example.com:http",
        "127.0.0.1:0",
        "0x7f.1:80",
        "bücher.example:80",
        "",
        "10.0.0.0/33",
        "agent.internal:8080",
        "[::1]:9100",
    ];
    let bad = parse_allow(&list).unwrap_err();
    assert_eq!(bad.iter().map(|bad| bad.index).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert!(bad.iter().all(|bad| bad.text == list[bad.index] && bad.to_string().contains(bad.problem)));
}

/// Who has a list of its own reaches what is on it, and nothing else, however it is spelled or resolved.
#[test]
fn who_has_a_list_reaches_nothing_else() {
    let only = |entries: &[&str]| rules(&["10.0.0.0/8"]).only(parse_allow(entries).unwrap(), "egress.tenants");
    let why = |rules: &Rules, url: &str| rules.judge_url(url).err().map(|denied| (denied.why, denied.key));
    let unlisted = Some((Why::Unlisted, Some("egress.tenants")));
    let named = only(&["partner.example:443", "192.168.1.7:8080"]);
    assert_eq!(why(&named, "https://partner.example/a2a"), None);
    assert_eq!(why(&named, "http://192.168.1.7:8080/"), None, "its list opens private addresses to it");
    for other in ["http://192.168.1.7:8081/", "https://93.184.216.34/", "https://10.0.0.1/", "http://2886729729/"] {
        assert_eq!(why(&named, other), unlisted, "{other}");
    }
    // A network may cover what a name leads to; that is seen when it is dialled.
    let to = |name: &str, address: &str| {
        let target = named.judge_url(&format!("https://{name}/")).ok()?;
        named.judge_dial(&target, SocketAddr::new(address.parse().unwrap(), 443)).err()
    };
    assert_eq!(to("partner.example", "93.184.216.34"), None);
    assert_eq!(to("other.example", "93.184.216.34").map(|denied| denied.why), Some(Why::Unlisted));
    assert_eq!(why(&only(&["partner.example:443"]), "https://other.example/"), unlisted);
    assert_eq!(why(&only(&[]), "https://partner.example/"), unlisted);
    assert_eq!(why(&rules(&[]), "https://other.example/"), None);
}
