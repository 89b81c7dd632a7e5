//! Delivery: one courier a configuration follows its task to the end and delivers every event, in order.
//!
//! An attempt that failed for a reason that may pass is repeated after a pause; a refusal is not. A courier that falls behind
//! delivers the whole task in place of what it missed. Nothing is delivered after the configuration was deleted.

use std::sync::Arc;

use a2a::dialect::Voice;
use a2a::{Answer, Dialect, OperationKind, Version};
use bytes::Bytes;
use egress::EgressError;
use http::{HeaderMap, Method, Request, StatusCode};
use json::Json;
use tokio_util::sync::CancellationToken;

use super::{Config, Post};
use crate::subscription::Subscription;

/// What became of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Delivered,
    /// It may work later.
    Failed,
    /// It will not work.
    Refused,
}

impl Post {
    /// Delivers the events of a subscription until it ends or `stop`.
    pub(crate) fn follow(self: &Arc<Self>, config: Config, mut events: Subscription, stop: CancellationToken) {
        let post = Arc::clone(self);
        self.couriers.spawn(async move {
            let work = async {
                while let Some(event) = events.next().await {
                    let body = match config.version {
                        Version::V10 => Some(json::write(&event)),
                        Version::V03 => events.task().await.map(whole_task),
                    };
                    if let Some(body) = body {
                        post.deliver(&config, body.into()).await;
                    }
                }
            };
            tokio::select! {
                () = work => {}
                () = stop.cancelled() => {}
            }
        });
    }

    /// Lets couriers finish what they have.
    pub(crate) async fn drain(&self) {
        self.couriers.close();
        self.couriers.wait().await;
    }

    async fn deliver(&self, config: &Config, body: Bytes) {
        let Some(headers) = config.headers() else { return };
        if let (Some(name), Some(local)) = (&config.local, &self.local) {
            (local.deliver)(name, headers, body);
            return;
        }
        let mut pauses = self.pauses.iter();
        loop {
            match self.attempt(config.url(), &headers, &body).await {
                Attempt::Delivered => return,
                Attempt::Refused => break,
                Attempt::Failed => match pauses.next() {
                    Some(pause) => tokio::time::sleep(*pause).await,
                    None => break,
                },
            }
        }
        tracing::warn!(config = config.id(), "a push notification was not delivered");
    }

    async fn attempt(&self, url: &str, headers: &HeaderMap, body: &Bytes) -> Attempt {
        // What was registered may come from a store, and the rules from a later start.
        if let Err(why) = self.judge(url) {
            tracing::warn!(why, "a push notification is refused");
            return Attempt::Refused;
        }
        let Ok(uri) = url.parse::<http::Uri>() else { return Attempt::Refused };
        let Ok(_turn) = self.attempts.acquire().await else { return Attempt::Refused };
        let mut request = Request::new(body.clone());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers.clone();
        match self.client.request_within(request, self.patience).await {
            Ok(response) if response.status().is_success() => Attempt::Delivered,
            Ok(response) if may_pass(response.status()) => Attempt::Failed,
            Ok(_) | Err(EgressError::Denied(_)) => Attempt::Refused,
            Err(EgressError::Connect(_) | EgressError::Sent(_) | EgressError::Timeout) => Attempt::Failed,
        }
    }
}

fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::REQUEST_TIMEOUT
}

/// Clients of v0.3 are told the whole task each time.
fn whole_task(task: Json) -> Vec<u8> {
    let voice = Voice { dialect: Dialect::PathRpc, ..Voice::unknown() };
    voice.answer(OperationKind::GetTask, Answer { body: task, origin: Version::V10 }).body
}
