//! Protobuf by hand: fields by their numbers in the specification's `a2a.proto`, and messages shown as text.

use std::fmt::Write as _;

/// A field with a whole number, a truth value or an enum.
pub(crate) fn int(number: u32, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(u64::from(number) << 3, &mut out);
    varint(value, &mut out);
    out
}

/// A field with text or bytes.
pub(crate) fn text(number: u32, text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    varint(u64::from(number) << 3 | 2, &mut out);
    varint(text.as_ref().len() as u64, &mut out);
    out.extend_from_slice(text.as_ref());
    out
}

/// A field with a message.
pub(crate) fn msg(number: u32, fields: &[Vec<u8>]) -> Vec<u8> {
    text(number, fields.concat())
}

/// What a `google.protobuf.Value` holds.
pub(crate) enum V {
    Null,
    Num(f64),
    Str(&'static str),
    Bool(bool),
    Struct(Vec<(&'static str, V)>),
    List(Vec<V>),
}

/// A field with a `google.protobuf.Value`.
pub(crate) fn value(number: u32, value: &V) -> Vec<u8> {
    let inner = match value {
        V::Null => int(1, 0),
        V::Num(number) => [&[2 << 3 | 1][..], &number.to_le_bytes()].concat(),
        V::Str(string) => text(3, string),
        V::Bool(flag) => int(4, u64::from(*flag)),
        V::Struct(members) => structure(5, members),
        V::List(elements) => msg(6, &elements.iter().map(|element| self::value(1, element)).collect::<Vec<_>>()),
    };
    text(number, inner)
}

/// A field with a `google.protobuf.Struct`.
pub(crate) fn structure(number: u32, members: &[(&'static str, V)]) -> Vec<u8> {
    let entries: Vec<Vec<u8>> = members.iter().map(|(key, of)| msg(1, &[text(1, key), value(2, of)])).collect();
    msg(number, &entries)
}

/// A message as gRPC frames it.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0][..], &length, message].concat()
}

/// Takes the first whole message out of `bytes`.
pub(crate) fn unframed(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(bytes.get(1..5)?.try_into().unwrap()) as usize;
    assert_eq!(bytes[0], 0, "compressed");
    let message = bytes.get(5..5 + length)?.to_vec();
    bytes.drain(..5 + length);
    Some(message)
}

/// A message as text: `number:value`, nested ones in braces. What reads as text is shown as text.
pub(crate) fn shown(bytes: &[u8]) -> String {
    fields(bytes).map_or_else(|| format!("no protobuf: {bytes:02x?}"), |fields| lines(&fields))
}

/// A message without the fields of this number, and how many those were.
pub(crate) fn without(bytes: &[u8], number: u32) -> (Vec<u8>, usize) {
    let all = fields(bytes).unwrap();
    let (count, mut rest) = (all.iter().filter(|(known, _)| *known == number).count(), Vec::new());
    for (known, raw) in all.into_iter().filter(|(known, _)| *known != number) {
        match raw {
            Raw::Varint(value) => rest.extend(int(known, value)),
            Raw::Bytes(inner) => rest.extend(text(known, inner)),
            Raw::Fixed(fixed) => {
                varint(u64::from(known) << 3 | if fixed.len() == 8 { 1 } else { 5 }, &mut rest);
                rest.extend(fixed);
            }
        }
    }
    (rest, count)
}

enum Raw {
    Varint(u64),
    Bytes(Vec<u8>),
    Fixed(Vec<u8>),
}

fn lines(fields: &[(u32, Raw)]) -> String {
    let mut out = String::new();
    for (number, raw) in fields {
        let _ = match raw {
            Raw::Varint(value) => write!(out, "{number}:{value} "),
            Raw::Fixed(bytes) => match <[u8; 8]>::try_from(bytes.as_slice()) {
                Ok(bytes) => write!(out, "{number}:{:?} ", f64::from_le_bytes(bytes)),
                Err(_) => write!(out, "{number}:{bytes:02x?} "),
            },
            Raw::Bytes(bytes) => match (std::str::from_utf8(bytes), self::fields(bytes)) {
                (Ok(text), _) if !text.chars().any(char::is_control) => write!(out, "{number}:{text:?} "),
                (_, Some(inner)) => write!(out, "{number}:{{ {}}} ", lines(&inner)),
                (_, None) => write!(out, "{number}:{bytes:02x?} "),
            },
        };
    }
    out
}

fn fields(mut bytes: &[u8]) -> Option<Vec<(u32, Raw)>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let tag = take_varint(&mut bytes)?;
        let raw = match tag & 7 {
            0 => Raw::Varint(take_varint(&mut bytes)?),
            1 => Raw::Fixed(take(&mut bytes, 8)?),
            2 => {
                let length = usize::try_from(take_varint(&mut bytes)?).ok()?;
                Raw::Bytes(take(&mut bytes, length)?)
            }
            5 => Raw::Fixed(take(&mut bytes, 4)?),
            _ => return None,
        };
        all.push((u32::try_from(tag >> 3).ok()?, raw));
    }
    Some(all)
}

fn take(bytes: &mut &[u8], length: usize) -> Option<Vec<u8>> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken.to_vec())
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or_default());
}
