//! Query strings of HTTP+JSON: read into parameters, and written from them. Nothing of a caller's query is copied.

use std::borrow::Cow;

use json::{Json, Object};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{
    Fault, OperationKind,
    shape::{self, Field, normalise::folds_alike},
};

/// What stays as it is in a path segment or a query value: letters, digits and RFC 3986's unreserved marks.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Every value of `name`.
pub(crate) fn values(query: Option<&str>, name: &str) -> impl Iterator<Item = String> {
    pairs(query).filter(move |(key, _)| key.as_deref() == Some(name)).filter_map(|(_, value)| value)
}

/// The known parameters of an operation in a query, as v1.0 parameters.
///
/// # Errors
/// The same parameter twice (in whatever spelling), or bytes that are no text.
pub(crate) fn read(query: Option<&str>, kind: OperationKind) -> Result<Object, Fault> {
    let shape = shape::v10::params(kind);
    let mut params = Object::new();
    for (key, value) in pairs(query) {
        let Some(key) = key else { return Err(Fault::invalid_params("the query is not UTF-8")) };
        let Some((known, field)) = shape.fields.iter().find(|(known, _)| folds_alike(&key, known)) else { continue };
        let Some(value) = value else { return Err(Fault::invalid_params("the query is not UTF-8")) };
        let value = match field {
            Field::Flag => match value.as_str() {
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                _ => return Err(Fault::invalid_params(format!("{known}: is not true or false"))),
            },
            Field::State => value.parse::<i64>().map_or_else(|_| Json::from(value), Json::from),
            Field::Text | Field::Id | Field::Whole => Json::from(value),
            // Nothing structured travels in a query.
            Field::Texts
            | Field::Bytes
            | Field::Struct
            | Field::Value
            | Field::Role
            | Field::Object(_)
            | Field::List(_) => continue,
        };
        if params.insert(*known, value).is_some() {
            return Err(Fault::invalid_params(format!("{known}: is there twice")));
        }
    }
    Ok(params)
}

/// `?a=b&c=d` from scalar parameters, or nothing.
pub(crate) fn write(params: &Object) -> String {
    let mut query = String::new();
    for (key, value) in params.iter() {
        let value = match value {
            Json::String(text) => Cow::Borrowed(text.as_str()),
            Json::Number(number) => Cow::Borrowed(number.as_text()),
            Json::Bool(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
            Json::Null | Json::Array(_) | Json::Object(_) => continue,
        };
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(&escape(key));
        query.push('=');
        query.push_str(&escape(&value));
    }
    query
}

/// One path segment or query value.
pub(crate) fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

fn pairs(query: Option<&str>) -> impl Iterator<Item = (Option<String>, Option<String>)> {
    query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (unescape(key), unescape(value))
    })
}

fn unescape(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(Cow::into_owned)
}
