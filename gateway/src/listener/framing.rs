//! Where the requests of an HTTP/1 connection begin and end, judged before hyper reads them (T-SMUG-1, T-SMUG-2, T-HDR-4).
//!
//! hyper forgives what two readers may read differently (a length next to a coding, the same length twice, bare line
//! feeds, blanks and extensions after a chunk size) and hides it from us. [`Framing`] *takes* the bytes in any pieces
//! and *gives* either leave to pass them on or the place of the first byte that must not be. It follows heads line by
//! line and bodies by count; *never* keeps a body, and knows of a head only what frames it. A connection that begins
//! with the preface of HTTP/2 is not looked at further. What is merely wrong (an unknown version, no method) is left
//! to hyper, which refuses it.

mod violation;

pub(super) use violation::Violation;

/// Which part of a request is violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Nothing of the request has been passed on.
    Nothing,
    /// A part of its head has.
    Head,
    /// Its whole head has: the request is being answered.
    Body,
}

/// The bytes may be passed on up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// How many of the last bytes come before the violation.
    pub(super) at: usize,
    pub(super) violation: Violation,
    pub(super) part: Part,
}

/// How far one connection has been read.
#[derive(Debug)]
pub(super) struct Framing {
    state: State,
    section: Section,
    head: Facts,
    name: Short<NAME>,
    value: Short<VALUE>,
    field: Field,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes of the HTTP/2 preface, and nothing else.
    Preface(usize),
    /// HTTP/2.
    Untouched,
    /// Between requests.
    Rest,
    /// After the CR of an empty line between requests.
    RestLf,
    RequestLine,
    RequestLf,
    LineStart,
    Name,
    Value,
    ValueLf,
    SectionLf,
    /// So many bytes of a body are to come.
    Length(u64),
    ChunkSize {
        digits: u8,
        size: u64,
    },
    ChunkSizeLf(u64),
    Chunk(u64),
    ChunkCr,
    ChunkLf,
}

/// Which lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Head,
    Trailer,
}

/// What of a head frames the request.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    /// The last byte of the request line: `0` in HTTP/1.0.
    last: u8,
    length: Option<u64>,
    chunked: bool,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Length,
    Coding,
    Other,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// `transfer-encoding`
const NAME: usize = 17;
/// Longest value of a framing header that can be right, with blanks around it.
const VALUE: usize = 40;

/// How many bytes a step took, or after how many it found what.
type Step = Result<usize, (usize, Violation)>;

impl Framing {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Preface(0),
            section: Section::Head,
            head: Facts { last: 0, length: None, chunked: false },
            name: Short::new(),
            value: Short::new(),
            field: Field::Other,
        }
    }

    /// Reads on.
    ///
    /// # Errors
    /// [`Stop`]; nothing may be read after it.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match self.step(rest) {
                Ok(taken) => at += taken,
                Err((after, violation)) => return Err(Stop { at: at + after, violation, part: self.part() }),
            }
        }
        Ok(())
    }

    /// Whether no byte of a next request has come, over HTTP/1.
    pub(super) fn is_between_requests(&self) -> bool {
        self.state == State::Rest
    }

    /// Whether the last request is one of HTTP/1.0.
    pub(super) const fn is_http10(&self) -> bool {
        self.head.last == b'0'
    }

    fn part(&self) -> Part {
        match self.state {
            State::Preface(_) | State::Untouched | State::Rest => Part::Nothing,
            State::RestLf | State::RequestLine | State::RequestLf => Part::Head,
            State::LineStart | State::Name | State::Value | State::ValueLf | State::SectionLf => match self.section {
                Section::Head => Part::Head,
                Section::Trailer => Part::Body,
            },
            State::Length(_)
            | State::ChunkSize { .. }
            | State::ChunkSizeLf(_)
            | State::Chunk(_)
            | State::ChunkCr
            | State::ChunkLf => Part::Body,
        }
    }

    /// Takes at least one byte of `bytes`, which are not empty, or changes the state.
    fn step(&mut self, bytes: &[u8]) -> Step {
        let Some(&byte) = bytes.first() else { return Ok(0) };
        match self.state {
            State::Preface(seen) => self.preface(seen, byte),
            State::Untouched => Ok(bytes.len()),
            State::Rest => self.rest(byte),
            State::RestLf => self.line_feed(byte, State::Rest),
            State::RequestLine => self.request_line(bytes),
            State::RequestLf => self.line_feed(byte, State::LineStart),
            State::LineStart => self.line_start(byte),
            State::Name => self.name(bytes),
            State::Value => self.value(bytes),
            State::ValueLf => self.line_feed(byte, State::LineStart).and_then(|taken| self.said().map(|()| taken)),
            State::SectionLf => self.line_feed(byte, State::Rest).inspect(|_| self.ended()),
            State::Length(left) => Ok(self.skip(left, bytes.len(), State::Length, State::Rest)),
            State::ChunkSize { digits, size } => self.chunk_size(byte, digits, size),
            State::ChunkSizeLf(0) => {
                self.line_feed(byte, State::LineStart).inspect(|_| self.section = Section::Trailer)
            }
            State::ChunkSizeLf(size) => self.line_feed(byte, State::Chunk(size)),
            State::Chunk(left) => Ok(self.skip(left, bytes.len(), State::Chunk, State::ChunkCr)),
            State::ChunkCr if byte == b'\r' => self.to(State::ChunkLf),
            State::ChunkLf if byte == b'\n' => self.to(State::ChunkSize { digits: 0, size: 0 }),
            State::ChunkCr | State::ChunkLf => Err((0, Violation::ChunkEnd)),
        }
    }

    fn to(&mut self, state: State) -> Step {
        self.state = state;
        Ok(1)
    }

    /// The line feed of a line end, and nothing else.
    fn line_feed(&mut self, byte: u8, then: State) -> Step {
        if byte == b'\n' { self.to(then) } else { Err((0, Violation::BareLineEnd)) }
    }

    fn skip(&mut self, left: u64, there: usize, more: fn(u64) -> State, then: State) -> usize {
        let taken = usize::try_from(left).map_or(there, |left| left.min(there));
        let left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        self.state = if left == 0 { then } else { more(left) };
        taken
    }

    fn preface(&mut self, seen: usize, byte: u8) -> Step {
        if PREFACE.get(seen) == Some(&byte) {
            let seen = seen + 1;
            return self.to(if seen == PREFACE.len() { State::Untouched } else { State::Preface(seen) });
        }
        // It is HTTP/1 after all, and these bytes were the beginning of it.
        self.state = State::Rest;
        self.read(PREFACE.get(..seen).unwrap_or_default()).map_err(|stop| (0, stop.violation))?;
        Ok(0)
    }

    fn rest(&mut self, byte: u8) -> Step {
        match byte {
            // RFC 9112 §2.2: an empty line before a request is to be ignored.
            b'\r' => self.to(State::RestLf),
            b'\n' => Err((0, Violation::BareLineEnd)),
            0 => Err((0, Violation::ControlByte)),
            _ => {
                (self.section, self.head) = (Section::Head, Facts::default());
                self.to(State::RequestLine)
            }
        }
    }

    fn request_line(&mut self, bytes: &[u8]) -> Step {
        let (taken, ended) = text(bytes)?;
        if let Some(&last) = bytes.get(..taken).and_then(<[u8]>::last) {
            self.head.last = last;
        }
        Ok(if ended { taken + self.to(State::RequestLf)? } else { taken })
    }

    fn line_start(&mut self, byte: u8) -> Step {
        match byte {
            b'\r' => self.to(State::SectionLf),
            b'\n' => Err((0, Violation::BareLineEnd)),
            b' ' | b'\t' => Err((0, Violation::FoldedLine)),
            _ => {
                self.name = Short::new();
                self.state = State::Name;
                Ok(0)
            }
        }
    }

    fn name(&mut self, bytes: &[u8]) -> Step {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b':' => return self.named().map(|()| at + 1).map_err(|violation| (at, violation)),
                b'\n' => return Err((at, Violation::BareLineEnd)),
                _ if is_token(byte) => self.name.push(byte.to_ascii_lowercase()),
                _ => return Err((at, Violation::FieldName)),
            }
        }
        Ok(bytes.len())
    }

    fn named(&mut self) -> Result<(), Violation> {
        self.field = match self.name.bytes() {
            Some(b"content-length") => Field::Length,
            Some(b"transfer-encoding") => Field::Coding,
            // Some readers take `_` for `-`.
            Some(b"content_length" | b"transfer_encoding" | b"") => return Err(Violation::FieldName),
            Some(_) | None => Field::Other,
        };
        if self.section == Section::Trailer && self.field != Field::Other {
            return Err(Violation::Trailer);
        }
        self.value = Short::new();
        self.state = State::Value;
        Ok(())
    }

    fn value(&mut self, bytes: &[u8]) -> Step {
        let (taken, ended) = text(bytes)?;
        if self.field != Field::Other {
            bytes.iter().take(taken).for_each(|byte| self.value.push(*byte));
        }
        Ok(if ended { taken + self.to(State::ValueLf)? } else { taken })
    }

    /// A line is whole: what it says of the framing must be clear, and be said once. Its last byte is not passed on
    /// before that.
    fn said(&mut self) -> Result<(), (usize, Violation)> {
        let plain = |value: &&[u8]| value.iter().all(|byte| *byte == b'\t' || *byte >= b' ');
        let value = self.value.bytes().filter(plain).map(<[u8]>::trim_ascii);
        let violation = match self.field {
            Field::Other => return Ok(()),
            Field::Length => match value.and_then(number) {
                None => Violation::Length,
                Some(_) if self.head.length.is_some() => Violation::Repeated,
                Some(_) if self.head.chunked => Violation::LengthAndCoding,
                Some(length) => {
                    self.head.length = Some(length);
                    return Ok(());
                }
            },
            Field::Coding => match value {
                _ if self.head.chunked => Violation::Repeated,
                _ if self.head.length.is_some() => Violation::LengthAndCoding,
                _ if self.head.last == b'0' => Violation::CodingInHttp10,
                Some(value) if value.eq_ignore_ascii_case(b"chunked") => {
                    self.head.chunked = true;
                    return Ok(());
                }
                Some(_) | None => Violation::Coding,
            },
        };
        Err((0, violation))
    }

    /// A head or a trailer is whole.
    fn ended(&mut self) {
        self.state = match (self.section, self.head) {
            (Section::Head, Facts { chunked: true, .. }) => State::ChunkSize { digits: 0, size: 0 },
            (Section::Head, Facts { length: Some(length), .. }) if length > 0 => State::Length(length),
            (Section::Head | Section::Trailer, _) => State::Rest,
        };
    }

    fn chunk_size(&mut self, byte: u8, digits: u8, size: u64) -> Step {
        let digit = char::from(byte).to_digit(16).map(u64::from);
        match (byte, digit) {
            // Sixteen digits cannot overflow.
            (_, Some(digit)) if digits < 16 => {
                self.to(State::ChunkSize { digits: digits + 1, size: size << 4 | digit })
            }
            (b'\r', None) if digits > 0 => self.to(State::ChunkSizeLf(size)),
            (b'\n', None) => Err((0, Violation::BareLineEnd)),
            (b';', None) => Err((0, Violation::ChunkExtension)),
            (_, Some(_) | None) => Err((0, Violation::ChunkSize)),
        }
    }
}

/// How many bytes belong to the line, and whether its CR follows them.
fn text(bytes: &[u8]) -> Result<(usize, bool), (usize, Violation)> {
    let Some(at) = memchr::memchr3(b'\r', b'\n', 0, bytes) else { return Ok((bytes.len(), false)) };
    match bytes.get(at) {
        Some(b'\r') => Ok((at, true)),
        Some(b'\n') => Err((at, Violation::BareLineEnd)),
        Some(_) | None => Err((at, Violation::ControlByte)),
    }
}

/// RFC 9110 §5.6.2
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~')
}

fn number(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

/// A few bytes; longer ones are known only to be longer.
#[derive(Clone, Copy, Debug)]
struct Short<const MOST: usize> {
    bytes: [u8; MOST],
    len: usize,
}

impl<const MOST: usize> Short<MOST> {
    const fn new() -> Self {
        Self { bytes: [0; MOST], len: 0 }
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
        }
        self.len = self.len.saturating_add(1);
    }

    fn bytes(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }
}

#[cfg(test)]
mod tests;
