//! Types that are a JSON tree with a name: what they share.

use json::{Json, Object};

/// A public type around an [`Object`]: nothing of the tree is lost, whoever wrote it.
macro_rules! newtype {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(json::Object);

        impl $name {
            /// The whole tree, members unknown to this crate included.
            #[must_use]
            pub const fn as_object(&self) -> &json::Object {
                &self.0
            }

            /// The tree itself.
            #[must_use]
            pub fn into_object(self) -> json::Object {
                self.0
            }
        }

        impl From<json::Object> for $name {
            fn from(tree: json::Object) -> Self {
                Self(tree)
            }
        }
    };
}
pub(crate) use newtype;

/// A string member that is not empty: to the protocol, the empty string is absence.
pub(crate) fn text<'a>(tree: &'a Object, member: &str) -> Option<&'a str> {
    tree.str(member).filter(|text| !text.is_empty())
}

/// The objects in an array member.
pub(crate) fn all<T: From<Object>>(tree: &Object, member: &str) -> Vec<T> {
    let elements = tree.get(member).and_then(Json::as_array).unwrap_or_default();
    elements.iter().filter_map(Json::as_object).cloned().map(T::from).collect()
}

/// An object member.
pub(crate) fn one<T: From<Object>>(tree: &Object, member: &str) -> Option<T> {
    tree.get(member).and_then(Json::as_object).cloned().map(T::from)
}

/// Sets one fact of `metadata`.
pub(crate) fn add_metadata(tree: &mut Object, key: &str, value: Json) {
    match tree.get_mut("metadata").and_then(Json::as_object_mut) {
        Some(facts) => {
            facts.insert(key, value);
        }
        None => {
            tree.insert("metadata", Object::from([(key, value)]));
        }
    }
}

/// Appends a string to an array member.
pub(crate) fn push_text(tree: &mut Object, member: &str, text: &str) {
    match tree.get_mut(member).and_then(Json::as_array_mut) {
        Some(texts) => texts.push(text.into()),
        None => {
            tree.insert(member, vec![Json::from(text)]);
        }
    }
}
