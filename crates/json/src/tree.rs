//! The tree: ordered objects, numbers as text, accessors.

use std::collections::HashSet;

/// A JSON value whose objects keep member order and whose numbers keep their digits.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// A number as its source text, which is always valid JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// For the reader: `text` must be a number by the JSON grammar.
    pub(crate) fn from_source(text: &str) -> Self {
        Self(text.into())
    }

    /// The digits as they were written.
    #[must_use]
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// The value if it is a whole number that fits; `5.0` and `5e0` are 5.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Ok(whole) = self.0.parse::<i64>() {
            return Some(whole);
        }
        let float = self.as_f64();
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within ±2^53")]
        (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then_some(float as i64)
    }

    /// The shortest text of a double, as ECMAScript writes it; `None` for NaN and infinity, which JSON lacks.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self(ryu_js::Buffer::new().format_finite(value).into()))
    }

    /// The nearest double; infinite where the text is out of range.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value.to_string().into())
    }
}

/// Members in order, keys unique.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Object(Vec<(String, Json)>);

impl Object {
    /// No members.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// For the reader, which has checked that keys are unique.
    pub(crate) const fn from_unique(members: Vec<(String, Json)>) -> Self {
        Self(members)
    }

    /// Members from a reader other than this crate's; `None` if a key occurs twice.
    #[must_use]
    pub fn unique(members: Vec<(String, Json)>) -> Option<Self> {
        let mut keys = HashSet::with_capacity(members.len());
        let repeated = members.iter().any(|(key, _)| !keys.insert(key.as_str()));
        if repeated { None } else { Some(Self(members)) }
    }

    /// How many members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value of `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether there is a member `key`.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets `key`, in place if it exists, else at the end; gives the old value.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        let (key, value) = (key.into(), value.into());
        if let Some(old) = self.get_mut(&key) {
            return Some(std::mem::replace(old, value));
        }
        self.0.push((key, value));
        None
    }

    /// Sets `key` at the front (moving it there if it exists).
    pub fn insert_first(&mut self, key: impl Into<String>, value: impl Into<Json>) {
        let key = key.into();
        self.remove(&key);
        self.0.insert(0, (key, value.into()));
    }

    /// Takes `key` out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Gives `old` the name `new` in place. Refused (`false`) if `old` is missing or `new` exists.
    pub fn rename(&mut self, old: &str, new: impl Into<String>) -> bool {
        let new = new.into();
        if self.contains(&new) {
            return false;
        }
        match self.0.iter_mut().find(|(name, _)| name == old) {
            Some((name, _)) => {
                *name = new;
                true
            }
            None => false,
        }
    }

    /// Keeps the members for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Json) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    /// Members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Members in order, values to change.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Json)> {
        self.0.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_str())
    }

    /// The string value of `key`.
    #[must_use]
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Json::as_str)
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut object = Self::new();
        for (key, value) in members {
            object.insert(key, value);
        }
        object
    }
}

impl<K: Into<String>, V: Into<Json>, const N: usize> From<[(K, V); N]> for Object {
    fn from(members: [(K, V); N]) -> Self {
        members.into_iter().collect()
    }
}

impl Json {
    /// The member `key`, if this is an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// The string, if this is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The truth value, if this is one.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, if this is one.
    #[must_use]
    pub const fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The elements, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// The elements, to change them.
    pub const fn as_array_mut(&mut self) -> Option<&mut Vec<Json>> {
        if let Self::Array(elements) = self { Some(elements) } else { None }
    }

    /// The members, if this is an object.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// The members, to change them.
    pub const fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Self::Object(object) = self { Some(object) } else { None }
    }

    /// Whether this is `null`.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<Number> for Json {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<Json>> for Json {
    fn from(elements: Vec<Json>) -> Self {
        Self::Array(elements)
    }
}

impl<K: Into<String>, V: Into<Json>, const N: usize> From<[(K, V); N]> for Json {
    fn from(members: [(K, V); N]) -> Self {
        Self::Object(members.into())
    }
}
