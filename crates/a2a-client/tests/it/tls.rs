//! TLS: only certificates that the caller believes.

#![expect(clippy::disallowed_methods, reason = "the agents of these tests have no task list to be drained with")]

use std::sync::Arc;

use a2a_client::{ConnectError, Options, connect};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::server::{JSON, answer, card};

#[tokio::test]
async fn a_certificate_is_believed_only_if_the_caller_says_so() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let served = answer(200, JSON, &card("A", &base));
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::task::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(tcp).await else { continue };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { break };
                head.push(byte);
            }
            let _ = stream.write_all(served.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    let refused = connect(&base).await.unwrap_err().to_string();
    assert!(refused.contains("the TLS handshake failed"), "{refused}");
    let options = Options::new().extra_roots(made.cert.pem().as_bytes()).unwrap();
    assert_eq!(options.connect(&base).await.unwrap().card().name(), "A");
    assert!(matches!(Options::new().extra_roots(b"no certificate"), Err(ConnectError::BadRoots)));
    assert!(Options::new().system_roots().connect(&base).await.is_err());
}
