//! (b) The bare reverse proxy: hyper's server and hyper-util's pooled client, bodies streamed, nothing else.
//!
//! The least that anything between caller and agent costs on this machine; Chancery is measured against it.

use crate::serve::serve;
use http::uri::{Authority, Scheme};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::net::SocketAddr;

type Body = UnsyncBoxBody<bytes::Bytes, hyper::Error>;

pub(crate) async fn run(upstream: SocketAddr) -> anyhow::Result<()> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<HttpConnector, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let authority: Authority = upstream.to_string().parse()?;
    serve(move |request| pass(client.clone(), authority.clone(), request)).await
}

async fn pass(
    client: Client<HttpConnector, Incoming>,
    to: Authority,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(to);
    let answered = match Uri::from_parts(parts) {
        Ok(uri) => {
            *request.uri_mut() = uri;
            client.request(request).await.ok()
        }
        Err(_) => None,
    };
    match answered {
        Some(response) => response.map(|body| body.boxed_unsync()),
        None => {
            let mut response = Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        }
    }
}
