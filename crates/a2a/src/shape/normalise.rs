//! One spelling, no nulls, right types: done to every tree before anybody reads a member of it (threat model, Annex C).
//!
//! Refuses what two readers might understand differently: snake_case and camelCase of one member together, names that
//! differ from a known one in case only, values of the wrong type.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use json::{Json, Object};

use super::{Field, Flaw, Name, Shape, part, whole_number};
use crate::TaskState;

/// The largest whole number that every JSON reader keeps.
const SAFE_WHOLE: i64 = 9_007_199_254_740_992;

/// Brings `object` and every known object in it into the one form.
pub(crate) fn normalise(object: &mut Object, shape: &'static Shape) -> Result<(), Flaw> {
    spell(object, shape)?;
    // ProtoJSON: null is absence; so is the empty string of an id.
    object.retain(|key, value| match shape.field(key) {
        None | Some(Field::Value) => true,
        Some(Field::Id) => !value.is_null() && value.as_str() != Some(""),
        Some(Field::Role) => !value.is_null() && !is_unspecified(value),
        Some(
            Field::Text
            | Field::Texts
            | Field::Flag
            | Field::Whole
            | Field::Bytes
            | Field::Struct
            | Field::State
            | Field::Object(_)
            | Field::List(_),
        ) => !value.is_null(),
    });
    for (name, field) in shape.fields {
        if let Some(value) = object.get_mut(name) {
            check(value, name, *field)?;
        }
    }
    // A v0.3 part is judged when its file has been lifted.
    if shape.name == Name::Part && !shape.knows("file") {
        if object.get("file").is_some_and(|file| file.as_object().is_some()) {
            return Err(Flaw { member: "file", problem: "belongs to A2A 0.3" });
        }
        part::exactly_one_content(object)?;
    }
    Ok(())
}

fn check(value: &mut Json, member: &'static str, field: Field) -> Result<(), Flaw> {
    let wrong = |problem| Flaw { member, problem };
    match (field, &mut *value) {
        (Field::Value, _)
        | (Field::Text | Field::Id, Json::String(_))
        | (Field::Flag, Json::Bool(_))
        | (Field::Struct, Json::Object(_)) => Ok(()),
        (Field::Text | Field::Id, _) => Err(wrong("is not a string")),
        (Field::Flag, _) => Err(wrong("is not true or false")),
        (Field::Struct, _) => Err(wrong("is not an object")),
        (Field::Texts, Json::Array(elements)) => {
            if elements.iter().all(|element| element.as_str().is_some()) {
                Ok(())
            } else {
                Err(wrong("is not a list of strings"))
            }
        }
        (Field::Texts, _) => Err(wrong("is not a list of strings")),
        (Field::Whole, written) => {
            let number = whole_number(written).filter(|number| (0..=SAFE_WHOLE).contains(number));
            let number = number.ok_or_else(|| wrong("is not a whole number, or out of range"))?;
            *value = Json::from(number);
            Ok(())
        }
        (Field::Bytes, Json::String(text)) => {
            *text = standard_base64(text).ok_or_else(|| wrong("is not base64"))?;
            Ok(())
        }
        (Field::Bytes, _) => Err(wrong("is not base64")),
        (Field::State, written) => {
            let state = state(written).ok_or_else(|| wrong("is not a known task state"))?;
            *value = Json::from(state.name());
            Ok(())
        }
        (Field::Role, written) => {
            let role = role(written).ok_or_else(|| wrong("is not a known role"))?;
            *value = Json::from(role);
            Ok(())
        }
        (Field::Object(shape), Json::Object(object)) => normalise(object, shape),
        (Field::Object(_), _) => Err(wrong("is not an object")),
        (Field::List(shape), Json::Array(elements)) => elements.iter_mut().try_for_each(|element| match element {
            Json::Object(object) => normalise(object, shape),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(wrong("holds something that is not an object"))
            }
        }),
        (Field::List(_), _) => Err(wrong("is not a list")),
    }
}

fn state(value: &Json) -> Option<TaskState> {
    match value {
        Json::String(name) => TaskState::from_name(name),
        Json::Number(number) => TaskState::ALL.get(usize::try_from(number.as_i64()?).ok()?).copied(),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// The default of the enum, which ProtoJSON may write or leave out.
fn is_unspecified(role: &Json) -> bool {
    role.as_str() == Some("ROLE_UNSPECIFIED") || role.as_number().and_then(json::Number::as_i64) == Some(0)
}

fn role(value: &Json) -> Option<&'static str> {
    match value {
        Json::String(name) => match name.as_str() {
            "ROLE_USER" | "user" => Some("ROLE_USER"),
            "ROLE_AGENT" | "agent" => Some("ROLE_AGENT"),
            _ => None,
        },
        Json::Number(number) => match number.as_i64() {
            Some(1) => Some("ROLE_USER"),
            Some(2) => Some("ROLE_AGENT"),
            _ => None,
        },
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Base64 in the one form that every reader takes (standard alphabet, padded), from any that ProtoJSON allows.
pub(crate) fn standard_base64(text: &str) -> Option<String> {
    const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let mut standard: String = if text.contains(['-', '_']) {
        text.chars()
            .map(|letter| match letter {
                '-' => '+',
                '_' => '/',
                other => other,
            })
            .collect()
    } else {
        text.to_owned()
    };
    ANY_PADDING.decode(&standard).ok()?;
    while !standard.len().is_multiple_of(4) {
        standard.push('=');
    }
    Some(standard)
}

/// Renames snake_case members to camelCase; refuses both spellings at once and names that differ in case only.
pub(crate) fn spell(object: &mut Object, shape: &Shape) -> Result<(), Flaw> {
    let mut renames = Vec::new();
    for key in object.keys() {
        if shape.knows(key) {
            continue;
        }
        let Some((known, _)) = shape.fields.iter().find(|(known, _)| folds_alike(key, known)) else { continue };
        if !is_snake_of(key, known) {
            return Err(Flaw { member: known, problem: "is spelled in an unusual case" });
        }
        renames.push((key.to_owned(), *known));
    }
    for (key, known) in renames {
        if !object.rename(&key, known) {
            return Err(Flaw { member: known, problem: "is there in two spellings" });
        }
    }
    Ok(())
}

/// Whether some reader (Go folds Unicode, proto drops underscores) might take `key` for `known`.
pub(crate) fn folds_alike(key: &str, known: &str) -> bool {
    if key.len() < known.len() || key.len() > known.len().saturating_mul(2).saturating_add(2) {
        return false;
    }
    fold(key).eq(fold(known))
}

fn fold(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|letter| *letter != '_').map(|letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    })
}

fn is_snake_of(key: &str, known: &str) -> bool {
    let mut letters = key.chars();
    for letter in known.chars() {
        if letter.is_ascii_uppercase() && letters.next() != Some('_') {
            return false;
        }
        if letters.next() != Some(letter.to_ascii_lowercase()) {
            return false;
        }
    }
    letters.next().is_none()
}
