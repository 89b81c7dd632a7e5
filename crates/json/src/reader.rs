//! Bytes → tree: the one strict reader (on `jiter`'s pull parser).
//!
//! Takes the bytes of one document and its [`Limits`]; gives a [`Json`] or the reason of refusal. Repeated keys, a BOM,
//! trailing bytes, lone surrogates, invalid UTF-8 and numbers beyond a double are refused at any depth, because two
//! readers may understand them differently. Time and memory grow linearly with the document. Errors say where and why
//! and never hold a piece of the document.

use std::collections::HashSet;

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use crate::tree::{Json, Number, Object};

/// What one document may cost. Sizes in bytes, counts in values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Deepest nesting of arrays and objects.
    pub depth: usize,
    /// Values in the whole document.
    pub nodes: usize,
    /// Longest object key, in bytes.
    pub key: usize,
    /// Most digits of one number.
    pub digits: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 64, nodes: 50_000, key: 256, digits: 40 }
    }
}

/// Why a document was refused. Positions are byte offsets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not JSON: syntax, BOM, trailing bytes, invalid UTF-8, lone surrogate, NaN.
    #[error("not valid JSON at byte {at}: {problem}")]
    Syntax {
        /// Where.
        at: usize,
        /// What is wrong; never a piece of the document.
        problem: &'static str,
    },
    /// The same key twice in one object, after unescaping.
    #[error("a key occurs twice in one object")]
    RepeatedKey,
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
    /// A key is too long.
    #[error("a key is longer than {limit} bytes")]
    KeyTooLong {
        /// The limit.
        limit: usize,
    },
    /// A number has too many digits.
    #[error("a number has more than {limit} digits")]
    NumberTooLong {
        /// The limit.
        limit: usize,
    },
}

/// Deepest nesting whatever `Limits` says: the reader, the writers and `Drop` recurse, and a stack is finite.
const DEEPEST: usize = 256;

/// Objects up to this size are searched for repeated keys pair by pair, larger ones with a hash set.
const FEW: usize = 16;

/// Reads one whole document.
///
/// # Errors
/// [`ReadError`] for anything that two JSON readers might understand differently, or that costs more than `limits`.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Json, ReadError> {
    let mut reader = Reader { source: Jiter::new(bytes), limits, depth: limits.depth.min(DEEPEST), nodes: 0 };
    let first = reader.source.peek().map_err(syntax)?;
    let json = reader.value(first, 0)?;
    reader.source.finish().map_err(syntax)?;
    Ok(json)
}

/// One document being read.
struct Reader<'a> {
    source: Jiter<'a>,
    limits: &'a Limits,
    depth: usize,
    nodes: usize,
}

impl Reader<'_> {
    /// The value that starts with `first`, inside `depth` arrays and objects.
    fn value(&mut self, first: Peek, depth: usize) -> Result<Json, ReadError> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(ReadError::TooManyNodes { limit: self.limits.nodes });
        }
        match first {
            Peek::String => self.source.known_str().map(Json::from).map_err(syntax),
            Peek::Object => self.object(depth + 1),
            Peek::Array => self.array(depth + 1),
            Peek::Null => self.source.known_null().map(|()| Json::Null).map_err(syntax),
            Peek::True | Peek::False => self.source.known_bool(first).map(Json::Bool).map_err(syntax),
            Peek::NaN | Peek::Infinity => Err(self.syntax_here("NaN and Infinity are not JSON")),
            number if number.is_num() => self.number(number),
            _ => Err(self.syntax_here("expected a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.check_depth(depth)?;
        let mut members = Vec::new();
        let mut key = owned_key(self.source.known_object(), self.limits)?;
        while let Some(name) = key {
            let first = self.source.peek().map_err(syntax)?;
            members.push((name, self.value(first, depth)?));
            key = owned_key(self.source.next_key(), self.limits)?;
        }
        if has_repeated_key(&members) {
            return Err(ReadError::RepeatedKey);
        }
        Ok(Json::Object(Object::from_unique(members)))
    }

    fn array(&mut self, depth: usize) -> Result<Json, ReadError> {
        self.check_depth(depth)?;
        let mut elements = Vec::new();
        let mut next = self.source.known_array().map_err(syntax)?;
        while let Some(first) = next {
            elements.push(self.value(first, depth)?);
            next = self.source.array_step().map_err(syntax)?;
        }
        Ok(Json::Array(elements))
    }

    fn number(&mut self, first: Peek) -> Result<Json, ReadError> {
        let at = self.source.current_index();
        let limit = self.limits.digits;
        let source = self.source.known_number_bytes(first).map_err(|error| number_problem(error, limit))?;
        if source.iter().filter(|byte| byte.is_ascii_digit()).count() > limit {
            return Err(ReadError::NumberTooLong { limit });
        }
        let text = std::str::from_utf8(source).map_err(|_| ReadError::Syntax { at, problem: "invalid number" })?;
        let number = Number::from_source(text);
        // `1e999` is infinity to one reader, an error to the next and a big number to a third.
        if number.as_f64().is_finite() {
            Ok(Json::Number(number))
        } else {
            Err(ReadError::Syntax { at, problem: "number out of the range of a double" })
        }
    }

    const fn check_depth(&self, depth: usize) -> Result<(), ReadError> {
        if depth > self.depth { Err(ReadError::TooDeep { limit: self.depth }) } else { Ok(()) }
    }

    fn syntax_here(&self, problem: &'static str) -> ReadError {
        ReadError::Syntax { at: self.source.current_index(), problem }
    }
}

fn owned_key(key: Result<Option<&str>, JiterError>, limits: &Limits) -> Result<Option<String>, ReadError> {
    match key.map_err(syntax)? {
        Some(key) if key.len() > limits.key => Err(ReadError::KeyTooLong { limit: limits.key }),
        Some(key) => Ok(Some(key.to_owned())),
        None => Ok(None),
    }
}

fn has_repeated_key(members: &[(String, Json)]) -> bool {
    if members.len() > FEW {
        let mut seen = HashSet::with_capacity(members.len());
        return !members.iter().all(|(key, _)| seen.insert(key.as_str()));
    }
    members.iter().enumerate().any(|(at, (key, _))| members.iter().take(at).any(|(earlier, _)| earlier == key))
}

/// The library has a digit limit of its own, which a lenient `Limits` can run into.
fn number_problem(error: JiterError, limit: usize) -> ReadError {
    match error.error_type {
        JiterErrorType::JsonError(JsonErrorType::NumberOutOfRange) => ReadError::NumberTooLong { limit },
        JiterErrorType::JsonError(_) | JiterErrorType::WrongType { .. } => syntax(error),
    }
}

fn syntax(error: JiterError) -> ReadError {
    let problem = match error.error_type {
        JiterErrorType::JsonError(problem) => describe(&problem),
        JiterErrorType::WrongType { .. } => "expected a value",
    };
    ReadError::Syntax { at: error.index, problem }
}

/// Fixed texts: the library's own messages can hold pieces of the document.
const fn describe(problem: &JsonErrorType) -> &'static str {
    match problem {
        JsonErrorType::EofWhileParsingList => "array is not closed",
        JsonErrorType::EofWhileParsingObject => "object is not closed",
        JsonErrorType::EofWhileParsingString => "string is not closed",
        JsonErrorType::EofWhileParsingValue => "document ends where a value is expected",
        JsonErrorType::ExpectedColon => "expected a colon",
        JsonErrorType::ExpectedListCommaOrEnd => "expected a comma or the end of the array",
        JsonErrorType::ExpectedObjectCommaOrEnd => "expected a comma or the end of the object",
        JsonErrorType::ExpectedSomeIdent
        | JsonErrorType::ExpectedSomeValue
        | JsonErrorType::FloatExpectingInt
        | JsonErrorType::DuplicateKey(_)
        | JsonErrorType::InternalError(_) => "expected a value",
        JsonErrorType::InvalidEscape | JsonErrorType::UnexpectedEndOfHexEscape => "invalid escape",
        JsonErrorType::InvalidNumber | JsonErrorType::NumberOutOfRange => "invalid number",
        JsonErrorType::InvalidUnicodeCodePoint => "invalid UTF-8",
        JsonErrorType::ControlCharacterWhileParsingString => "control character in a string",
        JsonErrorType::KeyMustBeAString => "expected a key",
        JsonErrorType::LoneLeadingSurrogateInHexEscape => "lone surrogate",
        JsonErrorType::TrailingComma => "comma before the end",
        JsonErrorType::TrailingCharacters => "bytes after the document",
        JsonErrorType::RecursionLimitExceeded => "nested too deep",
    }
}

#[cfg(test)]
mod tests;
