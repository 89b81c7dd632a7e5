//! How a PostgreSQL server is spoken to. Elsewhere than on this machine that is TLS, and the certificate must be the
//! server's own, unless the address itself says otherwise (T-TLS-1).
//!
//! Takes an address, gives connect options. Never connects.

use crate::{Error, Result};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use std::net::IpAddr;

/// The options that an address stands for.
pub(crate) fn postgres(url: &str) -> Result<PgConnectOptions> {
    let options: PgConnectOptions = url.parse().map_err(|_| Error::UnknownAddress)?;
    Ok(if says_how(url) || is_here(&options) { options } else { options.ssl_mode(PgSslMode::VerifyFull) })
}

/// Whether nobody on the way to the store can read along or stand in for it: it is on this machine, or its certificate is
/// verified. An address that is none cannot be reached at all.
#[must_use]
pub fn is_safe_on_the_way(url: &str) -> bool {
    let verifies = |options: &PgConnectOptions| match options.get_ssl_mode() {
        PgSslMode::VerifyCa | PgSslMode::VerifyFull => true,
        PgSslMode::Allow | PgSslMode::Disable | PgSslMode::Prefer | PgSslMode::Require => false,
    };
    url.starts_with("sqlite:") || postgres(url).is_ok_and(|options| is_here(&options) || verifies(&options))
}

/// By a name that the library does not know under another spelling: what is missed here is verified.
fn says_how(url: &str) -> bool {
    let mut pairs = url.split_once('?').map_or("", |(_, query)| query).split('&');
    pairs.any(|pair| matches!(pair.split('=').next(), Some("sslmode" | "ssl-mode")))
}

/// Over a socket of the file system, or the loopback interface.
fn is_here(options: &PgConnectOptions) -> bool {
    let host = options.get_host().trim_start_matches('[').trim_end_matches(']');
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    options.get_socket().is_some() || host.starts_with('/') || host.eq_ignore_ascii_case("localhost") || is_loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_elsewhere_is_verified_unless_the_address_says_otherwise() {
        for (url, mode, is_safe) in [
            ("postgres://u:p@db.example.com/chancery", PgSslMode::VerifyFull, true),
            ("postgresql://u@10.1.2.3:6432/chancery?application_name=x", PgSslMode::VerifyFull, true),
            ("postgres://u@[2001:db8::1]/chancery", PgSslMode::VerifyFull, true),
            ("postgres://u@localhost.example.com/chancery", PgSslMode::VerifyFull, true),
            ("postgres://u@db/chancery?%73slmode=disable", PgSslMode::VerifyFull, true),
            ("postgres://u@db/chancery?sslmode=verify-ca&sslrootcert=/ca.pem", PgSslMode::VerifyCa, true),
            ("postgres://u@db/chancery?sslmode=require", PgSslMode::Require, false),
            ("postgres://u@db/chancery?ssl-mode=prefer", PgSslMode::Prefer, false),
            ("postgres://u@db/chancery?sslmode=disable", PgSslMode::Disable, false),
        ] {
            let options = postgres(url).unwrap();
            assert_eq!(format!("{:?}", options.get_ssl_mode()), format!("{mode:?}"), "{url}");
            assert_eq!(is_safe_on_the_way(url), is_safe, "{url}");
        }
        for url in [
            "postgres://u@localhost/chancery",
            "postgres://u@127.0.0.1:5433/chancery?sslmode=disable",
            "postgres://u@[::1]/chancery",
            "postgres://u@%2Fvar%2Frun%2Fpostgresql/chancery",
            "sqlite://data/chancery.db",
        ] {
            assert!(is_safe_on_the_way(url), "{url}");
        }
        assert!(!is_safe_on_the_way("postgres://u@db:port/chancery"));
    }
}
