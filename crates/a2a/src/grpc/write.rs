//! Tree → message, by the tables. Total: members that the message does not have, or that are of another type, are left
//! out; whole numbers beyond 32 bits become the nearest that fits.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use json::{Json, Object};

use super::{
    known,
    proto::{int, put_bytes, put_double, put_varint},
    schema::{Field, Kind, Label, Message},
};

/// The bytes of a message.
pub(crate) fn message(object: &Object, message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    for field in message.fields {
        if let Some(value) = object.get(field.json) {
            put(field, value, &mut out);
        }
    }
    out
}

fn put(field: &Field, value: &Json, out: &mut Vec<u8>) {
    match (field.label, value) {
        (Label::Repeated, Json::Object(entries)) if field.kind.is_map() => {
            for (key, value) in entries.iter() {
                put_entry(field, key, value, out);
            }
        }
        (Label::Repeated, Json::Array(elements)) if !field.kind.is_map() => {
            for element in elements {
                put_one(field, element, out);
            }
        }
        (Label::Repeated, _) => {}
        (Label::Plain, value) if is_default(field.kind, value) => {}
        (Label::Plain | Label::Present, value) => put_one(field, value, out),
    }
}

fn is_default(kind: Kind, value: &Json) -> bool {
    match value {
        Json::Bool(value) => !value,
        Json::String(text) if matches!(kind, Kind::State) => known::state_number(text) == 0,
        Json::String(text) if matches!(kind, Kind::Role) => known::role_number(text) == 0,
        Json::String(text) => text.is_empty(),
        Json::Number(_) => whole(value) == Some(0),
        Json::Null => true,
        Json::Array(_) | Json::Object(_) => false,
    }
}

fn put_one(field: &Field, value: &Json, out: &mut Vec<u8>) {
    let number = field.number;
    match (field.kind, value) {
        (Kind::Text, Json::String(text)) => put_bytes(number, text.as_bytes(), out),
        (Kind::Bytes, Json::String(text)) => {
            if let Ok(bytes) = ANY_PADDING.decode(text) {
                put_bytes(number, &bytes, out);
            }
        }
        (Kind::Flag, Json::Bool(value)) => put_varint(number, u64::from(*value), out),
        (Kind::Whole, value) => {
            if let Some(whole) = whole(value) {
                put_varint(number, int(whole.clamp(i64::from(i32::MIN), i64::from(i32::MAX))), out);
            }
        }
        (Kind::State, Json::String(name)) => put_varint(number, int(known::state_number(name)), out),
        (Kind::Role, Json::String(name)) => put_varint(number, int(known::role_number(name)), out),
        (Kind::Struct, Json::Object(members)) => put_bytes(number, &structure(members), out),
        (Kind::Value, value) => put_bytes(number, &any(value), out),
        (Kind::Timestamp, Json::String(text)) => {
            if let Some((seconds, nanos)) = known::timestamp_numbers(text) {
                put_bytes(number, &timestamp(seconds, nanos), out);
            }
        }
        (Kind::Message(inner), Json::Object(object)) => put_bytes(number, &message(object, inner), out),
        (
            Kind::Text
            | Kind::Bytes
            | Kind::Flag
            | Kind::State
            | Kind::Role
            | Kind::Struct
            | Kind::Timestamp
            | Kind::Message(_)
            | Kind::Texts
            | Kind::Map(_),
            _,
        ) => {}
    }
}

fn put_entry(field: &Field, key: &str, value: &Json, out: &mut Vec<u8>) {
    let mut entry = Vec::new();
    put_bytes(1, key.as_bytes(), &mut entry);
    match (field.kind, value) {
        (Kind::Texts, Json::String(text)) => put_bytes(2, text.as_bytes(), &mut entry),
        (Kind::Map(inner), Json::Object(object)) => put_bytes(2, &message(object, inner), &mut entry),
        _ => return,
    }
    put_bytes(field.number, &entry, out);
}

/// A `google.protobuf.Struct`.
fn structure(members: &Object) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in members.iter() {
        let mut entry = Vec::new();
        put_bytes(1, key.as_bytes(), &mut entry);
        put_bytes(2, &any(value), &mut entry);
        put_bytes(1, &entry, &mut out);
    }
    out
}

/// A `google.protobuf.Value`. Its numbers are doubles, so digits beyond those are lost.
fn any(value: &Json) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Json::Null => put_varint(1, 0, &mut out),
        Json::Number(number) => put_double(2, number.as_f64(), &mut out),
        Json::String(text) => put_bytes(3, text.as_bytes(), &mut out),
        Json::Bool(value) => put_varint(4, u64::from(*value), &mut out),
        Json::Object(members) => put_bytes(5, &structure(members), &mut out),
        Json::Array(elements) => {
            let mut list = Vec::new();
            for element in elements {
                put_bytes(1, &any(element), &mut list);
            }
            put_bytes(6, &list, &mut out);
        }
    }
    out
}

fn timestamp(seconds: i64, nanos: i64) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, value) in [(1, seconds), (2, nanos)] {
        if value != 0 {
            put_varint(number, int(value), &mut out);
        }
    }
    out
}

fn whole(value: &Json) -> Option<i64> {
    crate::shape::whole_number(value)
}

const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
