//! Scheme and host that a request came to, so that cards point where their reader is.
//!
//! `Forwarded` and `X-Forwarded-*` count only when the proxy in front is trusted: anybody can write them.

use http::request::Parts;

/// Whether what a proxy says about the request is believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Forwarding {
    /// Nobody is believed.
    #[default]
    Ignored,
    /// `Forwarded` and `X-Forwarded-Proto`, `-Host`, `-Port` are.
    Trusted,
}

/// `http://host`, as the sender of the request sees it.
pub(crate) fn of(head: &Parts, forwarding: Forwarding) -> String {
    let (mut scheme, mut host) = ("http".to_owned(), a2a_agent::host(head).unwrap_or("localhost").to_owned());
    if forwarding == Forwarding::Trusted {
        let first = |name: &str| {
            let value = head.headers.get(name)?.to_str().ok()?;
            Some(value.split(',').next().unwrap_or_default().trim().to_owned())
        };
        let forwarded = first("forwarded");
        let said = |key: &str| forwarded.as_deref().and_then(|text| pair(text, key));
        if let Some(said) = said("proto").or_else(|| first("x-forwarded-proto"))
            && ["http", "https"].contains(&said.as_str())
        {
            scheme = said;
        }
        if let Some(said) = said("host").or_else(|| first("x-forwarded-host"))
            && is_authority(&said)
        {
            host = said;
        }
        if let Some(port) = first("x-forwarded-port").and_then(|port| port.parse::<u16>().ok()) {
            let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(&*host, |it| it.0);
            let usual = [("http", 80), ("https", 443)].contains(&(scheme.as_str(), port));
            host = if usual { name.to_owned() } else { format!("{name}:{port}") };
        }
    }
    format!("{scheme}://{host}")
}

/// The value of a pair in one element of `Forwarded` (RFC 7239).
fn pair(element: &str, key: &str) -> Option<String> {
    element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case(key).then(|| value.trim().trim_matches('"').to_owned())
    })
}

fn is_authority(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']');
    !text.is_empty() && text.len() <= 255 && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn seen(headers: &[(&str, &str)], forwarding: Forwarding) -> String {
        let mut request = Request::get("/").header("host", "inside:9100");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        of(&request.body(()).unwrap().into_parts().0, forwarding)
    }

    #[test]
    fn a_proxy_counts_only_when_it_is_trusted() {
        let forged = [("forwarded", "for=1.2.3.4;proto=https;host=\"gw.example\", for=9"), ("x-forwarded-host", "no")];
        assert_eq!(seen(&forged, Forwarding::Ignored), "http://inside:9100");
        assert_eq!(seen(&forged, Forwarding::Trusted), "https://gw.example");
        let plain = [("x-forwarded-proto", "https"), ("x-forwarded-host", "gw.example"), ("x-forwarded-port", "8443")];
        assert_eq!(seen(&plain, Forwarding::Trusted), "https://gw.example:8443");
        let usual = [("x-forwarded-proto", "https"), ("x-forwarded-port", "443")];
        assert_eq!(seen(&usual, Forwarding::Trusted), "https://inside");
        let nonsense = [("x-forwarded-proto", "javascript"), ("x-forwarded-host", "a/b?c")];
        assert_eq!(seen(&nonsense, Forwarding::Trusted), "http://inside:9100");
    }
}
