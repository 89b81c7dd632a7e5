//! What can be wrong with the bytes of a connection, and the words for it.

/// What is wrong with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::listener) enum Violation {
    /// A line feed without its carriage return, or the other way round.
    BareLineEnd,
    /// The data of a chunk are not followed by a line end.
    ChunkEnd,
    /// A chunk has an extension.
    ChunkExtension,
    /// A chunk size is no hexadecimal number alone on its line.
    ChunkSize,
    /// `Transfer-Encoding` is anything but one `chunked`.
    Coding,
    /// `Transfer-Encoding` in HTTP/1.0.
    CodingInHttp10,
    /// A NUL in a head.
    ControlByte,
    /// A header's name is no token, or a framing header's is spelled with `_`.
    FieldName,
    /// A line of a head that continues the one before.
    FoldedLine,
    /// `Content-Length` is no number.
    Length,
    /// `Content-Length` together with `Transfer-Encoding`.
    LengthAndCoding,
    /// `Content-Length` or `Transfer-Encoding` more than once.
    Repeated,
    /// A framing header in a trailer.
    Trailer,
}

impl Violation {
    /// What the caller is told.
    pub(in crate::listener) const fn problem(self) -> &'static str {
        match self {
            Self::BareLineEnd => "lines of the request must end with CR LF",
            Self::ChunkEnd => "a chunk is longer than its size",
            Self::ChunkExtension => "chunk extensions are not accepted",
            Self::ChunkSize => "a chunk size must be a hexadecimal number alone on its line",
            Self::Coding => "the only transfer coding that is accepted is one chunked",
            Self::CodingInHttp10 => "HTTP/1.0 has no transfer codings",
            Self::ControlByte => "the head of the request has a control character",
            Self::FieldName => "the name of a header is not valid",
            Self::FoldedLine => "a header continues over several lines",
            Self::Length => "Content-Length must be one number",
            Self::LengthAndCoding => "the request has both Content-Length and Transfer-Encoding",
            Self::Repeated => "Content-Length or Transfer-Encoding occurs twice",
            Self::Trailer => "a trailer may not say how the request is framed",
        }
    }
}
