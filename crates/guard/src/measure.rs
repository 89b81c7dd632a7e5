//! Detector `size`: how much a message holds.

use json::{Json, Leaf, walk};

/// What a policy allows; none: anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Characters of one text.
    pub(crate) max_text: Option<usize>,
    /// Characters of all texts.
    pub(crate) max_total: Option<usize>,
    /// Parts of one message or artifact.
    pub(crate) max_parts: Option<usize>,
}

impl Sizes {
    /// Names what is too much, and where.
    pub(crate) fn check(&self, json: &Json, mind: &mut dyn FnMut(&'static str, String)) {
        let mut total = 0_usize;
        walk(json, &mut |path, leaf| {
            let Leaf::Text(text) = leaf else { return };
            let long = |most: usize| text.len() > most && text.chars().count() > most;
            if self.max_text.is_some_and(long) {
                mind("size.text", path.to_string());
            }
            total = total.saturating_add(text.chars().count());
        });
        if self.max_total.is_some_and(|most| total > most) {
            mind("size.total", String::new());
        }
        if let Some(most) = self.max_parts {
            parts(json, &mut String::new(), most, mind);
        }
    }
}

fn parts(json: &Json, at: &mut String, most: usize, mind: &mut dyn FnMut(&'static str, String)) {
    let length = at.len();
    match json {
        Json::Object(object) => {
            for (key, value) in object.iter() {
                at.push('/');
                at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                if key == "parts" && value.as_array().is_some_and(|parts| parts.len() > most) {
                    mind("size.parts", at.clone());
                }
                parts(value, at, most, mind);
                at.truncate(length);
            }
        }
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                at.push('/');
                at.push_str(&index.to_string());
                parts(element, at, most, mind);
                at.truncate(length);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}
