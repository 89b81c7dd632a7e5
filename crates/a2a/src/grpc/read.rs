//! Message → tree, by the tables, within the limits that every document has.
//!
//! Refuses what two readers might understand differently: a field twice where it belongs once (protobuf's "the last
//! wins"), a key of a map twice, text that is no UTF-8, numbers that JSON cannot say. Drops fields it does not know.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use json::{Json, Limits, Number, Object};

use super::{
    known,
    proto::{Fields, ProtoError, Raw},
    schema::{Field, Kind, Label, Message},
};

/// Why a message was refused. Holds names of the protocol only, never content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A key of a map is too long.
    #[error("a key is longer than {limit} bytes")]
    KeyTooLong {
        /// The limit.
        limit: usize,
    },
    /// NaN or infinity.
    #[error("a number is not finite")]
    NotFinite,
    /// Not protobuf.
    #[error(transparent)]
    Proto(#[from] ProtoError),
    /// A field or key twice where it belongs once.
    #[error("{0} occurs twice")]
    Repeated(&'static str),
    /// No time, or before the year 1 or after 9999.
    #[error("{0} is not a time")]
    Timestamp(&'static str),
    /// Nested too deep.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Too many values.
    #[error("more than {limit} values")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
    /// Text that is no UTF-8.
    #[error("{0} is not UTF-8")]
    Utf8(&'static str),
    /// A wire type that the field does not have.
    #[error("{0} is of another type")]
    WireType(&'static str),
}

impl ReadError {
    /// Whether the message was refused for its size, not its form.
    #[must_use]
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::KeyTooLong { .. } | Self::TooDeep { .. } | Self::TooManyNodes { .. })
    }
}

/// Deepest nesting whatever the limits say: this reader and every writer recurse.
const DEEPEST: usize = 256;

/// Reads one whole message.
pub(crate) fn message(bytes: &[u8], message: &Message, limits: &Limits) -> Result<Object, ReadError> {
    Reader { limits, nodes: 0 }.message(bytes, message, 1)
}

struct Reader<'l> {
    limits: &'l Limits,
    nodes: usize,
}

/// A map that is being collected: its field, its keys and values.
type Map = (&'static Field, Vec<(String, Json)>);

impl Reader<'_> {
    fn message(&mut self, bytes: &[u8], message: &Message, depth: usize) -> Result<Object, ReadError> {
        self.enter(depth)?;
        let (mut object, mut seen, mut maps) = (Object::new(), 0_u64, Vec::<Map>::new());
        for field in Fields::of(bytes) {
            let (number, raw) = field?;
            let Some(field) = message.field(number) else { continue };
            let bit = 1_u64.checked_shl(number).unwrap_or(0);
            if field.label != Label::Repeated && seen & bit != 0 {
                return Err(ReadError::Repeated(field.json));
            }
            seen |= bit;
            if field.kind.is_map() {
                let entry = self.entry(field, raw, depth)?;
                match maps.iter_mut().find(|(known, _)| known.number == number) {
                    Some((_, entries)) => entries.push(entry),
                    None => maps.push((field, vec![entry])),
                }
                continue;
            }
            self.take(&mut object, field, raw, depth)?;
        }
        for (field, entries) in maps {
            object.insert(field.json, Object::unique(entries).ok_or(ReadError::Repeated(field.json))?);
        }
        Ok(object)
    }

    fn take(&mut self, object: &mut Object, field: &Field, raw: Raw<'_>, depth: usize) -> Result<(), ReadError> {
        match field.label {
            Label::Plain => {
                let value = self.value(field, raw, depth)?;
                if !is_default(&value) {
                    object.insert(field.json, value);
                }
            }
            Label::Present => {
                let value = self.value(field, raw, depth)?;
                object.insert(field.json, value);
            }
            Label::Repeated => {
                let value = self.value(field, raw, depth.saturating_add(1))?;
                match object.get_mut(field.json) {
                    Some(Json::Array(elements)) => elements.push(value),
                    _ => {
                        object.insert(field.json, vec![value]);
                    }
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, field: &Field, raw: Raw<'_>, depth: usize) -> Result<Json, ReadError> {
        self.node()?;
        let deeper = depth.saturating_add(1);
        match (field.kind, raw) {
            (Kind::Text, Raw::Bytes(bytes)) => Ok(text(field.json, bytes)?.into()),
            (Kind::Bytes, Raw::Bytes(bytes)) => Ok(STANDARD.encode(bytes).into()),
            (Kind::Flag, Raw::Varint(value)) => Ok((value != 0).into()),
            (Kind::Whole, Raw::Varint(value)) => Ok(value.cast_signed().into()),
            (Kind::State, Raw::Varint(value)) => Ok(enumerated(value, known::state_name)),
            (Kind::Role, Raw::Varint(value)) => Ok(enumerated(value, known::role_name)),
            (Kind::Struct, Raw::Bytes(bytes)) => Ok(self.structure(bytes, field.json, deeper)?.into()),
            (Kind::Value, Raw::Bytes(bytes)) => self.any(bytes, field.json, depth),
            (Kind::Timestamp, Raw::Bytes(bytes)) => Ok(timestamp(field.json, bytes)?.into()),
            (Kind::Message(message), Raw::Bytes(bytes)) => Ok(self.message(bytes, message, deeper)?.into()),
            (
                Kind::Text
                | Kind::Bytes
                | Kind::Flag
                | Kind::Whole
                | Kind::State
                | Kind::Role
                | Kind::Struct
                | Kind::Value
                | Kind::Timestamp
                | Kind::Message(_)
                | Kind::Texts
                | Kind::Map(_),
                _,
            ) => Err(ReadError::WireType(field.json)),
        }
    }

    /// One entry of a map field.
    fn entry(&mut self, field: &Field, raw: Raw<'_>, depth: usize) -> Result<(String, Json), ReadError> {
        let Raw::Bytes(bytes) = raw else { return Err(ReadError::WireType(field.json)) };
        self.node()?;
        let (key, value) = self.pair(bytes, field.json)?;
        let value = if let Kind::Map(message) = field.kind {
            self.message(value, message, depth.saturating_add(2))?.into()
        } else {
            text(field.json, value)?.into()
        };
        Ok((key, value))
    }

    /// A `google.protobuf.Struct`.
    fn structure(&mut self, bytes: &[u8], name: &'static str, depth: usize) -> Result<Object, ReadError> {
        self.enter(depth)?;
        let mut members = Vec::new();
        for field in Fields::of(bytes) {
            let (1, raw) = field? else { continue };
            let Raw::Bytes(entry) = raw else { return Err(ReadError::WireType(name)) };
            let (key, value) = self.pair(entry, name)?;
            self.node()?;
            members.push((key, self.any(value, name, depth)?));
        }
        Object::unique(members).ok_or(ReadError::Repeated(name))
    }

    /// A `google.protobuf.Value`; one that says nothing is null.
    fn any(&mut self, bytes: &[u8], name: &'static str, depth: usize) -> Result<Json, ReadError> {
        let mut found = None;
        for field in Fields::of(bytes) {
            let value = match field? {
                (1, Raw::Varint(_)) => Json::Null,
                (2, Raw::Fixed64(bytes)) => {
                    Number::from_f64(f64::from_le_bytes(bytes)).ok_or(ReadError::NotFinite)?.into()
                }
                (3, Raw::Bytes(bytes)) => text(name, bytes)?.into(),
                (4, Raw::Varint(value)) => (value != 0).into(),
                (5, Raw::Bytes(bytes)) => self.structure(bytes, name, depth.saturating_add(1))?.into(),
                (6, Raw::Bytes(bytes)) => self.list(bytes, name, depth.saturating_add(1))?,
                (1..=6, _) => return Err(ReadError::WireType(name)),
                _ => continue,
            };
            if found.replace(value).is_some() {
                return Err(ReadError::Repeated(name));
            }
        }
        Ok(found.unwrap_or_default())
    }

    /// A `google.protobuf.ListValue`.
    fn list(&mut self, bytes: &[u8], name: &'static str, depth: usize) -> Result<Json, ReadError> {
        self.enter(depth)?;
        let mut elements = Vec::new();
        for field in Fields::of(bytes) {
            let (1, raw) = field? else { continue };
            let Raw::Bytes(element) = raw else { return Err(ReadError::WireType(name)) };
            self.node()?;
            elements.push(self.any(element, name, depth)?);
        }
        Ok(elements.into())
    }

    /// Key and packed value of a map's entry.
    fn pair<'a>(&self, bytes: &'a [u8], name: &'static str) -> Result<(String, &'a [u8]), ReadError> {
        let (mut key, mut value) = (None, None);
        for field in Fields::of(bytes) {
            let place = match field? {
                (1, Raw::Bytes(bytes)) => key.replace(bytes),
                (2, Raw::Bytes(bytes)) => value.replace(bytes),
                (1 | 2, _) => return Err(ReadError::WireType(name)),
                _ => continue,
            };
            if place.is_some() {
                return Err(ReadError::Repeated(name));
            }
        }
        let key = text(name, key.unwrap_or_default())?;
        if key.len() > self.limits.key {
            return Err(ReadError::KeyTooLong { limit: self.limits.key });
        }
        Ok((key, value.unwrap_or_default()))
    }

    const fn node(&mut self) -> Result<(), ReadError> {
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > self.limits.nodes { Err(ReadError::TooManyNodes { limit: self.limits.nodes }) } else { Ok(()) }
    }

    fn enter(&self, depth: usize) -> Result<(), ReadError> {
        let limit = self.limits.depth.min(DEEPEST);
        if depth > limit { Err(ReadError::TooDeep { limit }) } else { Ok(()) }
    }
}

/// The value that a field without presence has when it is not there.
fn is_default(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Number(number) => number.as_i64() == Some(0),
        Json::String(text) => text.is_empty(),
        Json::Bool(true) | Json::Array(_) | Json::Object(_) => false,
    }
}

/// The name of an enum's number; null for "unspecified", the number itself where it has no name.
fn enumerated(value: u64, name: fn(i64) -> Option<&'static str>) -> Json {
    // Enums are int32 on the wire: readers keep the low half.
    let number = i64::from(i32::from_le_bytes(low_half(value)));
    match name(number) {
        _ if number == 0 => Json::Null,
        Some(name) => name.into(),
        None => number.into(),
    }
}

const fn low_half(value: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = value.to_le_bytes();
    [a, b, c, d]
}

fn text(name: &'static str, bytes: &[u8]) -> Result<String, ReadError> {
    str::from_utf8(bytes).map(str::to_owned).map_err(|_| ReadError::Utf8(name))
}

fn timestamp(name: &'static str, bytes: &[u8]) -> Result<String, ReadError> {
    let (mut seconds, mut nanos) = (0, 0);
    for field in Fields::of(bytes) {
        match field? {
            (1, Raw::Varint(value)) => seconds = value.cast_signed(),
            (2, Raw::Varint(value)) => nanos = value.cast_signed(),
            (1 | 2, _) => return Err(ReadError::WireType(name)),
            _ => {}
        }
    }
    known::timestamp_text(seconds, nanos).ok_or(ReadError::Timestamp(name))
}
