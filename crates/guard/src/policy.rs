//! Policy document → checked, compiled pipeline.

/// What a policy is compiled with.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Key of the HMAC over matched text.
    pub key: &'a [u8],
    /// The policy's name, for findings.
    pub policy: &'a str,
    /// Its version, for findings.
    pub version: i64,
}

/// One thing wrong with a policy document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// RFC 6901 pointer into the document.
    pub path: String,
    /// What is wrong, in words for its author.
    pub problem: String,
}

/// Everything that is wrong with a policy document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the policy has {} problem(s)", problems.len())]
pub struct PolicyError {
    /// In document order.
    pub problems: Vec<Problem>,
}
