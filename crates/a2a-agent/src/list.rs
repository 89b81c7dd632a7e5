//! What a caller wants listed, and how much of a task it wants to see.
//!
//! Takes v1.0 parameters (numbers and truth values also as text, as queries carry them); gives checked values. Unknown
//! states, sizes out of range and foreign page tokens are refused, never ignored.

use a2a::{Call, Fault, TaskState};
use json::{Json, Object};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::task::{Task, View};

/// A checked `ListTasks` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListQuery {
    context: Option<String>,
    state: Option<TaskState>,
    since: Option<OffsetDateTime>,
    /// Only tasks older than this: the page token.
    pub(crate) before: Option<OffsetDateTime>,
    pub(crate) page_size: usize,
    pub(crate) view: View,
}

impl ListQuery {
    /// # Errors
    /// [`a2a::FaultKind::InvalidParams`], naming the parameter.
    pub(crate) fn of(call: &Call) -> Result<Self, Fault> {
        let params = &call.params;
        let size = whole(params, "pageSize")?.unwrap_or(PAGE_SIZE);
        let page_size = usize::try_from(size).ok().filter(|size| (1..=PAGE_SIZE_LIMIT).contains(size));
        let artifacts = truth(params, "includeArtifacts")?.unwrap_or(false);
        Ok(Self {
            context: call.context_id().map(str::to_owned),
            state: state(params)?,
            since: text(params, "statusTimestampAfter").map(moment).transpose()?,
            before: call.page_token().map(place).transpose()?,
            page_size: page_size.ok_or_else(|| Fault::invalid_params("pageSize must be 1 to 100"))?,
            // Unset leaves it to the agent: a list is an overview.
            view: View { history: Some(history_length(params)?.unwrap_or(0)), artifacts },
        })
    }

    pub(crate) fn matches(&self, task: &Task) -> bool {
        self.context.as_ref().is_none_or(|context| *context == task.context)
            && self.state.is_none_or(|state| state == task.state)
            && self.since.is_none_or(|since| task.updated >= since)
    }

    /// The page token of what follows a task with this time stamp, which no other task shares.
    pub(crate) fn token(last: OffsetDateTime) -> String {
        (last.unix_timestamp_nanos() / 1000).to_string()
    }
}

/// `historyLength`: 0 is none, unset is `None`.
pub(crate) fn history_length(holder: &Object) -> Result<Option<usize>, Fault> {
    let Some(length) = whole(holder, "historyLength")? else { return Ok(None) };
    let length = usize::try_from(length).map_err(|_| Fault::invalid_params("historyLength must not be negative"))?;
    Ok(Some(length))
}

const PAGE_SIZE: i64 = 50;
const PAGE_SIZE_LIMIT: usize = 100;

fn state(params: &Object) -> Result<Option<TaskState>, Fault> {
    let Some(name) = text(params, "status") else { return Ok(None) };
    let state = TaskState::from_name(name).ok_or_else(|| Fault::invalid_params("status is no task state"))?;
    Ok(Some(state).filter(|state| *state != TaskState::Unspecified))
}

fn moment(text: &str) -> Result<OffsetDateTime, Fault> {
    OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|_| Fault::invalid_params("statusTimestampAfter is no RFC 3339 time with a zone"))
}

fn place(token: &str) -> Result<OffsetDateTime, Fault> {
    let micros: Option<i64> = token.parse().ok();
    let place = micros.and_then(|micros| OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1000).ok());
    place.ok_or_else(|| Fault::invalid_params("pageToken is none of ours"))
}

fn text<'a>(holder: &'a Object, key: &str) -> Option<&'a str> {
    holder.str(key).filter(|text| !text.is_empty())
}

fn whole(holder: &Object, key: &str) -> Result<Option<i64>, Fault> {
    let number = match holder.get(key) {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Number(number)) => number.as_i64(),
        Some(Json::String(text)) => text.parse().ok(),
        Some(Json::Bool(_) | Json::Array(_) | Json::Object(_)) => None,
    };
    number.map(Some).ok_or_else(|| Fault::invalid_params(format!("{key} must be a whole number")))
}

fn truth(holder: &Object, key: &str) -> Result<Option<bool>, Fault> {
    match holder.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Bool(value)) => Ok(Some(*value)),
        Some(Json::String(text)) if text == "true" || text == "false" => Ok(Some(text == "true")),
        Some(Json::String(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
            Err(Fault::invalid_params(format!("{key} must be true or false")))
        }
    }
}
