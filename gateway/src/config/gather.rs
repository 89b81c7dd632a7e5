//! Single values of the configuration: text → type, every problem noted under its key, none thrown.
//!
//! A value that is wrong gives a placeholder, so that the others are still looked at; the placeholders never get out,
//! because `Settings` is only given away when no problem was noted.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::raw::Size;
use super::{Problem, Problems};

/// Where values came from, and what was wrong with them.
#[derive(Debug, Default)]
pub struct Gather {
    origins: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

impl Gather {
    /// `origins` names the file or variable of each key.
    #[must_use]
    pub fn new(origins: BTreeMap<String, String>, problems: Vec<Problem>) -> Self {
        Self { origins, problems }
    }

    /// Notes a problem of `key`.
    pub fn note(&mut self, key: &str, problem: impl Into<String>) {
        let origin = self.origins.get(key).map_or("default", String::as_str).to_owned();
        self.problems.push(Problem { origin, key: key.to_owned(), problem: problem.into() });
    }

    /// `value`, unless anything was noted.
    ///
    /// # Errors
    /// Everything that was noted.
    pub fn finish<T>(self, value: T) -> Result<T, Problems> {
        if self.problems.is_empty() { Ok(value) } else { Err(Problems(self.problems)) }
    }

    /// A text; the defaults have every key, so a missing one is an empty text.
    #[must_use]
    pub fn text(value: Option<&String>) -> String {
        value.cloned().unwrap_or_default()
    }

    /// A text that may be empty for "none".
    #[must_use]
    pub fn optional(value: Option<&String>) -> Option<String> {
        value.filter(|text| !text.is_empty()).cloned()
    }

    /// An address and port.
    pub fn address(&mut self, key: &str, value: Option<&String>) -> SocketAddr {
        let text = Self::text(value);
        text.parse().unwrap_or_else(|_| {
            self.note(key, format!("{text:?} is no address and port, such as \"127.0.0.1:8101\""));
            SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    /// A duration such as `5s`.
    pub fn duration(&mut self, key: &str, value: Option<&String>) -> Duration {
        let text = Self::text(value);
        match parse_duration(&text) {
            Some(duration) if !duration.is_zero() => duration,
            Some(_) => {
                self.note(key, "must be longer than zero");
                Duration::from_secs(1)
            }
            None => {
                self.note(key, format!("{text:?} is no duration, such as \"250ms\", \"5s\", \"5m\" or \"24h\""));
                Duration::from_secs(1)
            }
        }
    }

    /// A number of bytes within `range`.
    pub fn size(&mut self, key: &str, value: Option<&Size>, range: RangeInclusive<u64>) -> u64 {
        let bytes = match value {
            Some(Size::Bytes(bytes)) => Some(*bytes),
            Some(Size::Text(text)) => parse_size(text),
            None => None,
        };
        match bytes {
            Some(bytes) => self.within(key, bytes, range),
            None => {
                self.note(key, "is no size, such as \"64KiB\", \"4MiB\" or a number of bytes");
                *range.start()
            }
        }
    }

    /// As [`Gather::size`], for sizes of things in memory.
    pub fn memory(&mut self, key: &str, value: Option<&Size>, range: RangeInclusive<u64>) -> usize {
        usize::try_from(self.size(key, value, range)).unwrap_or(usize::MAX)
    }

    /// A count within `range`.
    pub fn count(&mut self, key: &str, value: Option<u64>, range: RangeInclusive<u64>) -> usize {
        let count = value.unwrap_or_else(|| *range.start());
        usize::try_from(self.within(key, count, range)).unwrap_or(usize::MAX)
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, key: &str, value: Option<&String>, first: (&str, T), second: (&str, T)) -> T {
        match Self::text(value).as_str() {
            text if text == first.0 => first.1,
            text if text == second.0 => second.1,
            text => {
                self.note(key, format!("{text:?} is unknown; use {:?} or {:?}", first.0, second.0));
                first.1
            }
        }
    }

    fn within(&mut self, key: &str, value: u64, range: RangeInclusive<u64>) -> u64 {
        if range.contains(&value) {
            return value;
        }
        self.note(key, format!("{value} is not within {} to {}", range.start(), range.end()));
        *range.start()
    }
}

/// `250ms`, `5s`, `5m`, `24h`.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Duration::from_millis(number.checked_mul(millis)?))
}

/// `4096`, `64KiB`, `4 MiB`, `1GiB`.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let factor = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}
