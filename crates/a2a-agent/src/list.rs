//! What a caller wants listed, and how much of a task it wants to see.
//!
//! Takes v1.0 parameters (numbers and truth values also as text, as queries carry them); gives checked values. Unknown
//! states, sizes out of range and foreign page tokens are refused, never ignored.

use a2a::{Call, Fault, TaskState};
use json::{Json, Object};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::store::{Place, TaskQuery};
use crate::task::View;

/// A checked `ListTasks` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListQuery {
    pub(crate) wanted: TaskQuery,
    pub(crate) view: View,
}

impl ListQuery {
    /// # Errors
    /// [`a2a::FaultKind::InvalidParams`], naming the parameter.
    pub(crate) fn of(call: &Call) -> Result<Self, Fault> {
        let params = &call.params;
        let size = whole(params, "pageSize")?.unwrap_or(PAGE_SIZE);
        let size = usize::try_from(size).ok().filter(|size| (1..=PAGE_SIZE_LIMIT).contains(size));
        let artifacts = truth(params, "includeArtifacts")?.unwrap_or(false);
        let wanted = TaskQuery {
            context: call.context_id().map(str::to_owned),
            state: state(params)?,
            since: text(params, "statusTimestampAfter").map(moment).transpose()?,
            after: call.page_token().map(place).transpose()?,
            size: size.ok_or_else(|| Fault::invalid_params("pageSize must be 1 to 100"))?,
        };
        // Unset leaves it to the agent: a list is an overview.
        let view = View { history: Some(history_length(params)?.unwrap_or(0)), artifacts };
        Ok(Self { wanted, view })
    }

    /// The page token of what follows this place.
    pub(crate) fn token(last: &Place) -> String {
        format!("{}.{}", last.updated, last.id)
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

fn moment(text: &str) -> Result<i64, Fault> {
    let moment = OffsetDateTime::parse(text, &Rfc3339)
        .map_err(|_| Fault::invalid_params("statusTimestampAfter is no RFC 3339 time with a zone"))?;
    Ok(micros(moment))
}

/// Whole microseconds since 1970.
pub(crate) fn micros(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos().div_euclid(1000)).unwrap_or(i64::MAX)
}

fn place(token: &str) -> Result<Place, Fault> {
    let place = token.split_once('.').and_then(|(updated, id)| {
        let updated = updated.parse().ok()?;
        Some(Place { updated, id: id.to_owned() })
    });
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
