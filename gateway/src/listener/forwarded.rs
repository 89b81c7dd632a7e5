//! Who really calls, behind reverse proxies, and by which name.
//!
//! Takes the peer of the connection and the headers. `Forwarded` (RFC 7239) and `X-Forwarded-*` count only when the
//! peer is a trusted proxy, and of a list only the right-most hop that is not one. What they say selects among the
//! configured public URLs and names the source in records; it never proves anything and never appears in an answer.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

use crate::config::{Public, PublicUrl};

/// The address that counts as the caller's; its port is known (not 0) only without a proxy between.
#[must_use]
pub fn source(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> SocketAddr {
    let caller = caller(peer, headers, trusted);
    let port = if caller == peer.ip().to_canonical() { peer.port() } else { 0 };
    SocketAddr::new(caller, port)
}

fn caller(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut source = peer.ip().to_canonical();
    if !is_trusted(source, trusted) {
        return source;
    }
    let hops = hops(headers);
    for hop in hops.iter().rev() {
        match hop {
            Some(address) => source = *address,
            // What stands left of something unreadable was not said by a proxy of ours.
            None => return source,
        }
        if !is_trusted(source, trusted) {
            return source;
        }
    }
    source
}

/// The public URL that the caller used, else the default one.
#[must_use]
pub fn public_url<'a>(
    peer: SocketAddr,
    request: &http::request::Parts,
    public: &'a Public,
) -> Option<(usize, &'a PublicUrl)> {
    let said = by_proxy(peer, &request.headers, public).or_else(|| {
        let host = match request.uri.authority() {
            Some(authority) => authority.as_str(),
            None => single(&request.headers, "host")?,
        };
        Some(Said { host: Some(host.to_owned()), proto: None })
    });
    let fits = |url: &PublicUrl| {
        said.as_ref().is_some_and(|said| {
            said.host.as_ref().is_none_or(|host| host.eq_ignore_ascii_case(url.authority()))
                && said.proto.as_ref().is_none_or(|proto| proto.eq_ignore_ascii_case(url.scheme()))
        })
    };
    let mut urls = public.urls.iter().enumerate();
    urls.clone().find(|(_, url)| fits(url)).or_else(|| urls.next())
}

struct Said {
    host: Option<String>,
    proto: Option<String>,
}

fn by_proxy(peer: SocketAddr, headers: &HeaderMap, public: &Public) -> Option<Said> {
    if !is_trusted(peer.ip().to_canonical(), &public.trusted_proxies) {
        return None;
    }
    let said = match single(headers, "forwarded") {
        Some(forwarded) => {
            let last = forwarded.rsplit(',').next().unwrap_or_default();
            Said { host: parameter(last, "host"), proto: parameter(last, "proto") }
        }
        None => Said { host: last(headers, "x-forwarded-host"), proto: last(headers, "x-forwarded-proto") },
    };
    let host = said.host.or_else(|| single(headers, "host").map(str::to_owned));
    Some(Said { host, ..said })
}

fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&address))
}

/// Every hop that was named, left to right; `None` for what is no address.
fn hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    if headers.contains_key("forwarded") {
        let elements = list(headers, "forwarded");
        return elements.iter().map(|element| address(&parameter(element, "for")?)).collect();
    }
    list(headers, "x-forwarded-for").iter().map(|text| address(text)).collect()
}

fn list(headers: &HeaderMap, name: &str) -> Vec<String> {
    let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
    values.flat_map(|value| value.split(',')).map(|item| item.trim().to_owned()).take(64).collect()
}

fn last(headers: &HeaderMap, name: &str) -> Option<String> {
    list(headers, name).pop().filter(|item| !item.is_empty())
}

fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(only), None) => only.to_str().ok(),
        (None | Some(_), _) => None,
    }
}

/// The value of one `name=value` of a `Forwarded` element.
fn parameter(element: &str, name: &str) -> Option<String> {
    element.split(';').find_map(|pair| {
        let (key, value) = pair.trim().split_once('=')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim_matches('"').to_owned())
    })
}

/// `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]`, `[2001:db8::1]:80`, `2001:db8::1`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let plain = || text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    plain().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip())).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CorsOrigins, HttpUrls};

    fn public() -> Public {
        let url = |text| PublicUrl::parse(text).unwrap();
        Public {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            urls: vec![url("https://gw.test"), url("https://other.test:8443"), url("http://gw.test")],
            http_urls: HttpUrls::Anywhere,
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            cors: CorsOrigins::Any,
            default_card: None,
            grpc: crate::config::Grpc::Off,
            tls: None,
        }
    }

    fn parts(headers: &[(&str, &str)]) -> http::request::Parts {
        let mut builder = http::Request::get("/x");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap().into_parts().0
    }

    fn chosen(peer: &str, headers: &[(&str, &str)]) -> String {
        let public = public();
        public_url(peer.parse().unwrap(), &parts(headers), &public).unwrap().1.as_str().to_owned()
    }

    /// F24, T-HDR-3
    #[test]
    fn host_selects_among_the_configured_urls_and_nothing_else() {
        assert_eq!(chosen("192.0.2.1:1", &[("host", "OTHER.test:8443")]), "https://other.test:8443");
        for host in ["evil.test", "gw.test.evil.test", "other.test", "other.test:1", "gw.test@evil.test", ""] {
            assert_eq!(chosen("192.0.2.1:1", &[("host", host)]), "https://gw.test", "{host}");
        }
        assert_eq!(chosen("192.0.2.1:1", &[]), "https://gw.test");
    }

    /// T-HDR-3
    #[test]
    fn forwarding_headers_count_from_trusted_proxies_only() {
        let said = [("host", "gw.test"), ("x-forwarded-host", "other.test:8443")];
        assert_eq!(chosen("192.0.2.1:1", &said), "https://gw.test");
        assert_eq!(chosen("10.0.0.1:1", &said), "https://other.test:8443");
        let standard = [("host", "x"), ("forwarded", "for=1.2.3.4;host=other.test:8443;proto=https")];
        assert_eq!(chosen("10.0.0.1:1", &standard), "https://other.test:8443");
        let forged = [("host", "gw.test"), ("forwarded", "host=evil.test;proto=http")];
        assert_eq!(chosen("10.0.0.1:1", &forged), "https://gw.test");
        assert_eq!(chosen("10.0.0.1:1", &[("host", "gw.test"), ("x-forwarded-proto", "http")]), "http://gw.test");
        assert_eq!(chosen("192.0.2.1:1", &[("host", "gw.test"), ("x-forwarded-proto", "http")]), "https://gw.test");
    }

    /// T-HDR-3
    #[test]
    fn source_is_the_right_most_untrusted_hop() {
        let public = public();
        let of = |peer: &str, headers: &[(&str, &str)]| {
            source(peer.parse().unwrap(), &parts(headers).headers, &public.trusted_proxies).ip().to_string()
        };
        assert_eq!(of("192.0.2.1:1", &[("x-forwarded-for", "1.1.1.1")]), "192.0.2.1");
        assert_eq!(of("10.0.0.1:1", &[("x-forwarded-for", "1.1.1.1, 2.2.2.2, 10.0.0.9")]), "2.2.2.2");
        assert_eq!(of("10.0.0.1:1", &[("forwarded", "for=1.1.1.1, for=\"[2001:db8::7]:9\"")]), "2001:db8::7");
        assert_eq!(of("10.0.0.1:1", &[("x-forwarded-for", "1.1.1.1, nonsense")]), "10.0.0.1");
        assert_eq!(of("10.0.0.1:1", &[]), "10.0.0.1");
        assert_eq!(of("[::ffff:10.0.0.1]:1", &[("x-forwarded-for", "3.3.3.3")]), "3.3.3.3");
    }
}
