//! A caller's body → [`Call`], in two steps: first what is asked for, then (once that is permitted) with what.
//!
//! Takes the target, the head and the body; gives the operation, the voice to answer in, then the call. Refuses
//! everything that two readers might understand differently. Never guesses a version that was named.

use json::{Json, Limits, Object, ReadError};

use crate::{
    Call, Dialect, Fault, FaultKind, OperationKind, Version,
    dialect::{
        R3Bytes, RequestFacts, Target, VersionMode, Voice,
        detect::{self, Claim},
        jsonrpc::{self, Request},
        proto_v03, query, v03, v10,
    },
    grpc, path, shape,
};

/// A request whose operation is known and whose parameters are unread.
#[derive(Clone, Debug)]
pub struct Envelope {
    kind: OperationKind,
    voice: Voice,
    /// The generation the parameters are written in.
    version: Version,
    params: Json,
    query: Option<String>,
    address: Address,
    /// A notification: refused, but only after what it asks for was found right.
    unanswerable: Option<Fault>,
}

/// What the path says about the parameters.
#[derive(Clone, Debug, Default)]
struct Address {
    task: Option<String>,
    config: Option<String>,
}

/// A refusal, and the voice to tell it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// How to answer.
    pub voice: Voice,
    /// What to answer.
    pub fault: Fault,
}

impl Envelope {
    /// Reads the body (empty for requests without one) as far as the operation.
    ///
    /// # Errors
    /// A [`Refusal`] in the sharpest voice known when it failed.
    pub fn open(
        target: &Target,
        facts: &RequestFacts<'_>,
        mode: VersionMode,
        body: &[u8],
        limits: &Limits,
    ) -> Result<Self, Box<Refusal>> {
        let voice = Voice::detect(target, facts);
        let refuse = |fault| Box::new(Refusal { voice: voice.clone(), fault });
        let claim = facts.claim().map_err(refuse)?;
        match target {
            Target::Rpc => {
                let body = read_body(facts, body, limits).map_err(refuse)?;
                Self::rpc(body, claim, mode, voice)
            }
            Target::Http { operation, task, config, under_v1 } => {
                let address = Address { task: task.clone(), config: config.clone() };
                let body = if body.is_empty() || !detect::takes_body(*operation) {
                    Json::Null
                } else {
                    read_body(facts, body, limits).map_err(refuse)?
                };
                let mut opened = if *under_v1 && matches!(claim, Claim::Absent | Claim::Known(Version::V03)) {
                    Self::proto_v03(*operation, body, voice)?
                } else if jsonrpc::is_envelope(&body) {
                    Self::path_rpc(*operation, body, claim, mode, voice)?
                } else {
                    Self::bare(*operation, body, claim, mode, voice)?
                };
                opened.query = facts.query.map(str::to_owned);
                opened.address = address;
                Ok(opened)
            }
            Target::Grpc(kind) => {
                claim.admit(Version::V10, mode).map_err(refuse)?;
                let params = grpc::params(*kind, body, limits).map_err(refuse)?;
                Ok(Self::unread(*kind, voice, Version::V10, params.into()))
            }
            Target::Card => Err(refuse(Fault::of(FaultKind::PathNotFound))),
        }
    }

    /// What is asked for.
    #[must_use]
    pub const fn kind(&self) -> OperationKind {
        self.kind
    }

    /// How to answer.
    #[must_use]
    pub const fn voice(&self) -> &Voice {
        &self.voice
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// The fault to answer with, in [`Envelope::voice`].
    pub fn call(self) -> Result<Call, Fault> {
        let mut params = Request::object(self.params)?;
        // Path RPC callers may write a configuration flat, as v1.0 does.
        let flat = self.kind == OperationKind::CreatePushConfig && !self.voice.enveloped && params.contains("url");
        let origin = if flat { Version::V10 } else { self.version };
        match origin {
            Version::V03 if self.voice.dialect == Dialect::R3 => {
                proto_v03::read_params(self.kind, &mut params, self.voice.r3_bytes)
            }
            Version::V03 => v03::read_params(self.kind, &mut params),
            Version::V10 => v10::read_params(self.kind, &mut params),
        }
        .map_err(|flaw| Fault::invalid_params(flaw.to_string()))?;
        params.remove("tenant");
        if let Some(Json::Object(inline)) = params
            .get_mut("configuration")
            .and_then(Json::as_object_mut)
            .and_then(|it| it.get_mut("taskPushNotificationConfig"))
        {
            inline.remove("tenant");
        }
        if !detect::takes_body(self.kind) && (self.query.is_some() || self.address.task.is_some()) {
            merge_query(&mut params, self.query.as_deref(), self.kind)?;
        }
        if self.voice.dialect == Dialect::R3 {
            proto_v03::drop_zero_history(&mut params);
        }
        self.address.merge(&mut params, self.kind)?;
        check(self.kind, &params, origin, self.voice.dialect)?;
        match self.unanswerable {
            Some(fault) => Err(fault),
            None => Ok(Call { kind: self.kind, params, origin }),
        }
    }

    /// A JSON-RPC request at the agent's URL.
    fn rpc(body: Json, claim: Claim, mode: VersionMode, mut voice: Voice) -> Result<Self, Box<Refusal>> {
        let request = open_request(body, &mut voice)?;
        let Some((kind, version)) = jsonrpc::operation(&request.method) else {
            return Err(refusal(voice, Fault::of(FaultKind::MethodNotFound)));
        };
        voice.streaming = kind.is_streaming();
        match claim.admit(version, mode) {
            Ok(()) => {
                Ok(Self { unanswerable: request.unanswerable, ..Self::unread(kind, voice, version, request.params) })
            }
            Err(fault) => Err(refusal(voice, fault)),
        }
    }

    /// A JSON-RPC request at the path of an operation, which it must name (D14).
    fn path_rpc(
        addressed: OperationKind,
        body: Json,
        claim: Claim,
        mode: VersionMode,
        mut voice: Voice,
    ) -> Result<Self, Box<Refusal>> {
        let request = open_request(body, &mut voice)?;
        let version = match jsonrpc::operation(&request.method) {
            Some((kind, version)) if kind == addressed => version,
            Some(_) | None => {
                let fault = Fault::new(FaultKind::InvalidRequest, "the method is not the one of this path");
                return Err(refusal(voice, fault));
            }
        };
        if version == Version::V03 {
            voice.dialect = Dialect::PathRpc;
        }
        match claim.admit(version, mode) {
            Ok(()) => {
                let unread = Self::unread(addressed, voice, version, request.params);
                Ok(Self { unanswerable: request.unanswerable, ..unread })
            }
            Err(fault) => Err(refusal(voice, fault)),
        }
    }

    /// A request at the path of an operation whose body, if any, is the parameters themselves.
    fn bare(
        kind: OperationKind,
        body: Json,
        claim: Claim,
        mode: VersionMode,
        mut voice: Voice,
    ) -> Result<Self, Box<Refusal>> {
        let message = matches!(kind, OperationKind::SendMessage | OperationKind::SendStreamingMessage);
        // Bare messages are v1.0 whoever sends them; of the rest, path RPC has the same paths and words.
        let version = if message || voice.dialect == Dialect::R1 { Version::V10 } else { Version::V03 };
        if message {
            voice.dialect = Dialect::R1;
            if body.get("params").is_some() {
                return Err(refusal(
                    voice,
                    Fault::new(FaultKind::InvalidRequest, "params belong into a JSON-RPC request"),
                ));
            }
        }
        voice.enveloped = false;
        let admitted = match body {
            Json::Object(_) => claim.admit(version, mode),
            Json::Null if !message => claim.admit(version, mode),
            Json::Null => Err(Fault::of(FaultKind::Parse)),
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(Fault::new(FaultKind::InvalidRequest, "a request is an object"))
            }
        };
        match admitted {
            Ok(()) => Ok(Self::unread(kind, voice, version, body)),
            Err(fault) => Err(refusal(voice, fault)),
        }
    }

    /// A request at a path of v0.3's HTTP+JSON.
    fn proto_v03(kind: OperationKind, body: Json, mut voice: Voice) -> Result<Self, Box<Refusal>> {
        let message = matches!(kind, OperationKind::SendMessage | OperationKind::SendStreamingMessage);
        voice.enveloped = false;
        if writes_like_python(&body) {
            voice.r3_bytes = R3Bytes::Double;
        }
        let problem = match &body {
            Json::Object(_) if jsonrpc::is_envelope(&body) || body.get("params").is_some() => {
                "JSON-RPC requests belong to the agent's URL, without a path"
            }
            Json::Object(_) => return Ok(Self::unread(kind, voice, Version::V03, body)),
            Json::Null if !message => return Ok(Self::unread(kind, voice, Version::V03, body)),
            Json::Null => return Err(refusal(voice, Fault::of(FaultKind::Parse))),
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => "a request is an object",
        };
        Err(refusal(voice, Fault::new(FaultKind::InvalidRequest, problem)))
    }

    fn unread(kind: OperationKind, voice: Voice, version: Version, params: Json) -> Self {
        Self { kind, voice, version, params, query: None, address: Address::default(), unanswerable: None }
    }
}

impl Address {
    /// Puts the ids of the path into the parameters; a body may repeat them, not contradict them.
    fn merge(self, params: &mut Object, kind: OperationKind) -> Result<(), Fault> {
        let task_member = match kind {
            OperationKind::GetTask | OperationKind::CancelTask | OperationKind::SubscribeToTask => "id",
            OperationKind::CreatePushConfig
            | OperationKind::GetPushConfig
            | OperationKind::ListPushConfigs
            | OperationKind::DeletePushConfig => "taskId",
            OperationKind::SendMessage
            | OperationKind::SendStreamingMessage
            | OperationKind::ListTasks
            | OperationKind::GetExtendedCard => return Ok(()),
        };
        for (member, id) in [(task_member, self.task), ("id", self.config)] {
            let Some(id) = id else { continue };
            if params.str(member).is_some_and(|repeated| repeated != id) {
                return Err(Fault::invalid_params(format!("{member}: is not the one of the path")));
            }
            params.insert(member, id);
        }
        Ok(())
    }
}

/// The Python SDKs write the proto's own names (protocol 8 #4).
fn writes_like_python(body: &Json) -> bool {
    let message = ["request", "message"].into_iter().find_map(|name| body.get(name));
    body.get("request").is_some() || message.is_some_and(|message| message.get("message_id").is_some())
}

fn refusal(voice: Voice, fault: Fault) -> Box<Refusal> {
    Box::new(Refusal { voice, fault })
}

fn read_body(facts: &RequestFacts<'_>, body: &[u8], limits: &Limits) -> Result<Json, Fault> {
    facts.check_content_type()?;
    json::read(body, limits).map_err(|error| match error {
        ReadError::Syntax { .. } => Fault::of(FaultKind::Parse),
        ReadError::RepeatedKey => Fault::new(FaultKind::Parse, "a key occurs twice in one object"),
        ReadError::TooDeep { .. }
        | ReadError::TooManyNodes { .. }
        | ReadError::KeyTooLong { .. }
        | ReadError::NumberTooLong { .. } => Fault::invalid_params(error.to_string()),
    })
}

/// Opens an envelope; the voice learns its id and, from the method's style, its generation.
fn open_request(body: Json, voice: &mut Voice) -> Result<Request, Box<Refusal>> {
    let opened = Request::open(body);
    let (id, method) = match &opened {
        Ok(request) => (request.id.clone(), Some(request.method.as_str())),
        Err(unread) => (unread.id.clone(), unread.method.as_deref()),
    };
    voice.rpc_id = id;
    voice.enveloped = true;
    voice.dialect = match method {
        Some(method) if method.contains('/') => Dialect::J3,
        Some(method) if method.starts_with(|first: char| first.is_ascii_uppercase()) => Dialect::J1,
        Some(_) | None if voice.dialect == Dialect::R1 => Dialect::J1,
        Some(_) | None => voice.dialect,
    };
    opened.map_err(|unread| refusal(voice.clone(), unread.fault))
}

fn merge_query(params: &mut Object, query: Option<&str>, kind: OperationKind) -> Result<(), Fault> {
    let mut asked = query::read(query, kind)?;
    v10::read_params(kind, &mut asked).map_err(|flaw| Fault::invalid_params(flaw.to_string()))?;
    asked.remove("tenant");
    for (key, value) in asked {
        params.insert(key, value);
    }
    Ok(())
}

/// What must be there.
fn check(kind: OperationKind, params: &Object, origin: Version, dialect: Dialect) -> Result<(), Fault> {
    let missing = |member: &str| Fault::invalid_params(format!("{member}: is missing"));
    match kind {
        OperationKind::SendMessage | OperationKind::SendStreamingMessage => {
            let message = params.get("message").and_then(Json::as_object).ok_or_else(|| missing("message"))?;
            // In the protobuf JSON of 0.3 what is not set is the default, and its agents take it.
            if !message.contains("role") && dialect != Dialect::R3 {
                return Err(missing("role"));
            }
            if message.get("parts").and_then(Json::as_array).is_none_or(<[Json]>::is_empty) {
                return Err(missing("parts"));
            }
            // Callers of path RPC send none.
            if !message.contains("messageId") && !matches!(dialect, Dialect::R3 | Dialect::PathRpc) {
                return Err(missing("messageId"));
            }
            let references = message.get("referenceTaskIds").and_then(Json::as_array).unwrap_or_default();
            message.str("taskId").map_or(Ok(()), lookup_id)?;
            references.iter().filter_map(Json::as_str).try_for_each(lookup_id)
        }
        OperationKind::GetTask | OperationKind::CancelTask | OperationKind::SubscribeToTask => {
            lookup_id(params.str("id").ok_or_else(|| missing("id"))?)
        }
        OperationKind::ListTasks => check_list(params),
        OperationKind::CreatePushConfig => {
            lookup_id(params.str("taskId").ok_or_else(|| missing("taskId"))?)?;
            if params.str("url").is_none_or(str::is_empty) {
                return Err(missing("url"));
            }
            match params.str("id") {
                Some(id) if lookup_id(id).is_err() => {
                    Err(Fault::invalid_params("id: only letters, digits and ._:- are taken, at most 128"))
                }
                Some(_) | None => Ok(()),
            }
        }
        OperationKind::GetPushConfig | OperationKind::DeletePushConfig => {
            lookup_id(params.str("taskId").ok_or_else(|| missing("taskId"))?)?;
            match params.str("id") {
                Some(id) => lookup_id(id),
                // v0.3 may ask for the only configuration of a task.
                None if origin == Version::V03 && kind == OperationKind::GetPushConfig => Ok(()),
                None => Err(missing("id")),
            }
        }
        OperationKind::ListPushConfigs => lookup_id(params.str("taskId").ok_or_else(|| missing("taskId"))?),
        OperationKind::GetExtendedCard => Ok(()),
    }
}

fn check_list(params: &Object) -> Result<(), Fault> {
    let size = params.get("pageSize").and_then(shape::whole_number);
    if size.is_some_and(|size| !(1..=100).contains(&size)) {
        return Err(Fault::invalid_params("pageSize: is not between 1 and 100"));
    }
    if params.str("statusTimestampAfter").is_some_and(|time| !v10::is_timestamp(time)) {
        return Err(Fault::invalid_params("statusTimestampAfter: is not an RFC 3339 time with a zone"));
    }
    Ok(())
}

/// Ids that can be looked up at all (threat model, Annex B); any other belongs to no task.
fn lookup_id(id: &str) -> Result<(), Fault> {
    if path::is_task_id(id) { Ok(()) } else { Err(Fault::of(FaultKind::TaskNotFound)) }
}
