//! The facts of one call that conditions are asked about. Takes them from whoever has proven or decoded them; holds
//! them as its own, so that an open stream can be judged again. Never holds message text.

use super::Metadata;
use crate::clock::Micros;
use a2a::{Call, OperationKind};
use json::{Json, Object};
use std::net::IpAddr;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The principal's name.
    pub principal: String,
    /// The groups it is in, those that a token names too.
    pub groups: Vec<String>,
    /// How it was proven.
    pub scheme: &'static str,
    /// The card's name.
    pub card: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// `inbound` or `outbound`.
    pub direction: &'static str,
    /// The version that the agent's card states.
    pub release: Option<String>,
    /// The version of the card in the registry.
    pub revision: i64,
    /// What is to be done.
    pub operation: OperationKind,
    /// When it began.
    pub now: Micros,
    /// Where it comes from.
    pub source: IpAddr,
    /// What it declares.
    pub extensions: Vec<String>,
    /// On whose behalf.
    pub delegation: Option<Behind>,
    /// Of the request.
    pub metadata: Metadata,
    /// The message, where one is sent.
    pub message: Option<AskedMessage>,
}

/// The chain behind a call. It has at least one hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The id of the first call.
    pub root: String,
    /// Who called which card, the first one first: the principal's name, its groups, the card. Conditions are asked of each.
    pub hops: Vec<(String, Vec<String>, String)>,
}

/// What conditions may know of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedMessage {
    /// Its metadata.
    pub metadata: Metadata,
    /// Extensions that it names.
    pub extensions: Vec<String>,
    /// How many parts it has.
    pub parts: usize,
    /// Whether it continues a task.
    pub follow_up: bool,
}

impl AskedMessage {
    /// What a call sends.
    #[must_use]
    pub fn of(call: &Call) -> Option<Self> {
        let message = call.message()?;
        Some(Self {
            metadata: Metadata::of(message.get("metadata")),
            extensions: texts(message, "extensions"),
            parts: message.get("parts").and_then(Json::as_array).map_or(0, <[Json]>::len),
            follow_up: call.task_id().is_some(),
        })
    }
}

fn texts(object: &Object, key: &str) -> Vec<String> {
    let all = object.get(key).and_then(Json::as_array).unwrap_or_default();
    all.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}
