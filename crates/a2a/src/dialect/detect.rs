//! Which dialect a request is in, and whether its version is one we speak (protocol 0.1, 5.3).
//!
//! Path and body decide the parser, the header only confirms. Takes what stands in the head of the request; never
//! reads a body.

/// What the head of a request says, as far as dialects care.
#[derive(Clone, Debug, Default)]
pub struct RequestFacts<'a> {
    /// Every value of the `A2A-Version` header, in order.
    pub versions: Vec<&'a str>,
    /// The raw query, without `?`.
    pub query: Option<&'a str>,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
}

/// What a v1.0 request without a version header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum VersionMode {
    /// v1.0 by its shape.
    #[default]
    Lenient,
    /// Refused, as the specification says.
    Strict,
}
