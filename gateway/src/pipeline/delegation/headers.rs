//! The delegation headers of a request: all of them, or none.
//!
//! Takes a head, gives what it says. Unknown names under the prefix, a name twice, and values that are no printable ASCII
//! are as bad as a missing one. Nothing here is proven.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The names, in the order of the fields of [`Written`].
#[derive(Clone, Debug)]
pub struct Names {
    prefix: String,
    fields: [HeaderName; 7],
}

/// What follows the prefix, in the order of the fields of [`Written`].
const FIELDS: [&str; 7] = ["root", "parent", "depth", "actor", "subject", "chain", "sig"];

/// Longest value that can be meant: eight hops of two names.
const LONGEST: usize = 2048;

/// What a request says about its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presented {
    /// Nothing.
    Absent,
    /// Something, and not all.
    Incomplete,
    /// All there is.
    Written(Box<Written>),
}

/// The headers' values, unproven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The id of the first call.
    pub root: String,
    /// The id of the call that caused this one.
    pub parent: String,
    /// How many delegations there were.
    pub depth: String,
    /// Who made the call that caused this one.
    pub actor: String,
    /// Whom it is all for; absent means the actor.
    pub subject: Option<String>,
    /// The hops.
    pub chain: String,
    /// The proof.
    pub sig: String,
}

impl Names {
    /// Those under `{prefix}delegation-`. The prefix was checked when the configuration was read.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        let prefix = format!("{prefix}delegation-");
        let name = |field| HeaderName::from_bytes(format!("{prefix}{field}").as_bytes());
        let fields = FIELDS.map(|field| name(field).unwrap_or(http::header::FROM));
        Self { prefix, fields }
    }

    /// Reads them.
    #[must_use]
    pub fn read(&self, headers: &HeaderMap) -> Presented {
        let mut values: [Option<&str>; 7] = [None; 7];
        let mut some = false;
        for (name, value) in headers {
            if !name.as_str().starts_with(&self.prefix) {
                continue;
            }
            some = true;
            let place = self.fields.iter().position(|field| field == name).and_then(|at| values.get_mut(at));
            match (place, text(value)) {
                (Some(place @ None), Some(text)) => *place = Some(text),
                (None | Some(_), _) => return Presented::Incomplete,
            }
        }
        if !some {
            return Presented::Absent;
        }
        match values.map(|value| value.map(str::to_owned)) {
            [Some(root), Some(parent), Some(depth), Some(actor), subject, Some(chain), Some(sig)] => {
                Presented::Written(Box::new(Written { root, parent, depth, actor, subject, chain, sig }))
            }
            _ => Presented::Incomplete,
        }
    }

    /// Writes them.
    #[must_use]
    pub fn write(&self, written: &Written) -> Vec<(HeaderName, HeaderValue)> {
        let Written { root, parent, depth, actor, subject, chain, sig } = written;
        let values = [root, parent, depth, actor, subject.as_ref().unwrap_or(actor), chain, sig];
        let pairs = self.fields.iter().zip(values);
        pairs.filter_map(|(name, value)| Some((name.clone(), HeaderValue::from_str(value).ok()?))).collect()
    }
}

fn text(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok().filter(|text| !text.is_empty() && text.len() <= LONGEST)
}
