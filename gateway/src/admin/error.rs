//! What the admin API answers when it says no.
//!
//! One shape for every error (product.md §7): `{"code","message","fields":[{"path","problem"}],"correlation_id"}`.
//! Public text is written here; nothing from a database, an agent or an inner error reaches the answer.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

/// One thing wrong with what was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldProblem {
    /// Where: a dotted path or RFC 6901 pointer into what was sent.
    pub path: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

/// The body of every error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ApiError {
    #[serde(skip)]
    status: StatusCode,
    #[serde(skip)]
    retry_after: Option<u64>,
    /// A stable word for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// Every problem found, not only the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldProblem>,
    /// Names this answer in the log.
    pub correlation_id: String,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            retry_after: None,
            code,
            message: message.into(),
            fields: Vec::new(),
            correlation_id: ulid::Ulid::generate().to_string(),
        }
    }

    /// 400: what was sent can't be understood or isn't allowed; `fields` names every problem.
    #[must_use]
    pub fn invalid(fields: Vec<FieldProblem>) -> Self {
        let mut error = Self::new(StatusCode::BAD_REQUEST, "invalid", "what was sent has problems; see fields");
        error.fields = fields;
        error
    }

    /// 400 with one problem.
    #[must_use]
    pub fn invalid_field(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::invalid(vec![FieldProblem { path: path.into(), problem: problem.into() }])
    }

    /// 401: no or a wrong admin token.
    #[must_use]
    pub fn unauthenticated() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "send an admin token as `Authorization: Bearer …` (see [admin] token_file), or sign in",
        )
    }

    /// 401: a sign-in that failed, whatever the reason.
    #[must_use]
    pub fn not_signed_in() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "sign_in_failed", "the name or the password is wrong")
    }

    /// 403: known, but not allowed to do this.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "your role does not allow this; ask a tenant or platform admin")
    }

    /// 403: a token asks for another one.
    #[must_use]
    pub fn token_by_token() -> Self {
        let message = "a token makes no tokens; sign in, or use the token of admin.token_file";
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// 403: a write of a browser without the proof that our own page sent it.
    #[must_use]
    pub fn forged() -> Self {
        let message = "a write with a session needs its own origin and X-Chancery-CSRF (see GET /api/v1/me)";
        Self::new(StatusCode::FORBIDDEN, "csrf", message)
    }

    /// 429: too many wrong passwords.
    #[must_use]
    pub fn too_many_tries(wait: std::time::Duration) -> Self {
        let seconds = wait.as_secs().saturating_add(1);
        let message = format!("too many wrong passwords; try again in {seconds} s");
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_tries", message);
        error.retry_after = Some(seconds);
        error
    }

    /// 409: something is as it should not be for this.
    #[must_use]
    pub fn at_odds(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// 404.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("{what} does not exist"))
    }

    /// 409: the name is in use.
    #[must_use]
    pub fn name_taken(what: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "name_taken", format!("{what} exists already; update it instead"))
    }

    /// 412: somebody else changed it in between.
    #[must_use]
    pub fn conflict() -> Self {
        Self::new(
            StatusCode::PRECONDITION_FAILED,
            "revision_conflict",
            "it was changed since you read it; read it again and repeat your change",
        )
    }

    /// 428: an update or a removal without `If-Match`.
    #[must_use]
    pub fn revision_required() -> Self {
        Self::new(
            StatusCode::PRECONDITION_REQUIRED,
            "revision_required",
            "send the revision you read as `If-Match: <revision>`",
        )
    }

    /// 405.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "this path has other methods; see /api/openapi.json",
        )
    }

    /// 415: a document that does not say that it is JSON.
    #[must_use]
    pub fn unsupported_media_type() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "send documents as `Content-Type: application/json`",
        )
    }

    /// 413.
    #[must_use]
    pub fn too_large(limit: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("a document has at most {limit} bytes"))
    }

    /// 422: it was understood, but the far side or the rules refuse it.
    #[must_use]
    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
    }

    /// 503: the store is away.
    #[must_use]
    pub fn unavailable() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the store does not answer; try again")
    }

    /// 503: what is done here is recorded, and nothing can be recorded now.
    #[must_use]
    pub fn unrecorded() -> Self {
        let message = "nothing can be recorded now (see /readyz), so nothing is sent; try again";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    /// 503: the store takes no writes.
    #[must_use]
    pub fn read_only() -> Self {
        let message = "the store takes no writes now: it is read-only. What is there can be read; changes have to wait \
             until it is writable again";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_read_only", message)
    }

    /// 503: the store has no room.
    #[must_use]
    pub fn full() -> Self {
        let message = "the store has no room left: make some on its disk, then try again";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_full", message)
    }

    /// 500: ours to find by the correlation id.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error; the log has this correlation id")
    }

    /// Whether nobody was proven.
    #[must_use]
    pub fn is_unauthenticated(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
    }

    /// Both, or the problems of both.
    ///
    /// # Errors
    /// What is wrong with either.
    pub fn both<A, B>(first: Result<A, Self>, second: Result<B, Self>) -> Result<(A, B), Self> {
        match (first, second) {
            (Ok(first), Ok(second)) => Ok((first, second)),
            (Err(mut error), Err(more)) => {
                error.fields.extend(more.fields);
                Err(error)
            }
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
        }
    }

    /// The same error with these problems listed.
    #[must_use]
    pub fn with_fields(mut self, fields: Vec<FieldProblem>) -> Self {
        self.fields = fields;
        self
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Conflict { .. } => Self::conflict(),
            store::Error::NameTaken { table } => Self::name_taken(&format!("a {} of this name", noun(table))),
            store::Error::NotFound { table } => Self::not_found(&format!("this {}", noun(table))),
            store::Error::InvalidText { column } => {
                Self::invalid_field(column, "can't be stored: it is empty, too long, or holds a zero character")
            }
            store::Error::Unavailable { .. } => {
                tracing::warn!(%error, "the store did not do what the admin API asked");
                match error.trouble() {
                    Some(store::Trouble::ReadOnly) => Self::read_only(),
                    Some(store::Trouble::Full) => Self::full(),
                    None => Self::unavailable(),
                }
            }
            store::Error::Corrupt { .. } | store::Error::ForeignMigration { .. } | store::Error::UnknownAddress => {
                let answer = Self::internal();
                tracing::error!(%error, correlation_id = answer.correlation_id, "the store failed the admin API");
                answer
            }
        }
    }
}

/// What a row of a table is to an administrator.
const fn noun(table: store::Table) -> &'static str {
    match table {
        store::Table::AdminChanges => "change",
        store::Table::AdminSessions => "session",
        store::Table::AdminTokens => "token",
        store::Table::Admins => "administrator",
        store::Table::AuditMarks | store::Table::AuditRecords | store::Table::AuditSummaries => "record",
        store::Table::CardVersions | store::Table::ConditionVersions | store::Table::PolicyVersions => "version",
        store::Table::Cards => "card",
        store::Table::Changes | store::Table::Revision => "revision",
        store::Table::Conditions => "document of conditions",
        store::Table::Contexts => "context",
        store::Table::Grants => "grant",
        store::Table::Issuers => "issuer",
        store::Table::Keys => "key",
        store::Table::Policies => "policy",
        store::Table::Principals => "principal",
        store::Table::SigningKeys => "signing key",
        store::Table::Tasks => "task",
        store::Table::Tenants => "tenant",
        store::Table::SharedPlaces => "place",
        store::Table::UsageCounts => "count",
    }
}

/// The word of an answer that says no, beside the answer: for those who write down what was refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal(pub &'static str);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status;
        let retry_after = self.retry_after;
        let refusal = Refusal(self.code);
        let mut response = (status, Json(self)).into_response();
        response.extensions_mut().insert(refusal);
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(
                http::header::WWW_AUTHENTICATE,
                http::HeaderValue::from_static("Bearer realm=\"chancery-admin\""),
            );
        }
        response
    }
}
