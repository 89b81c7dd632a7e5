//! `google.protobuf.Timestamp` ↔ RFC 3339, and the numbers of enums ↔ their names.

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::TaskState;

/// The roles by number; the first is none.
const ROLES: [&str; 3] = ["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"];

/// `Z` time with as many digits as it needs: none, 3, 6 or 9. `None` outside of the years 1 to 9999.
pub(crate) fn timestamp_text(seconds: i64, nanos: i64) -> Option<String> {
    let at = OffsetDateTime::from_unix_timestamp(seconds).ok().filter(|at| (1..=9999).contains(&at.year()))?;
    let fraction = match u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000)? {
        0 => String::new(),
        nanos if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
        nanos if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
        nanos => format!(".{nanos:09}"),
    };
    let (date, (hour, minute, second)) = (at.date(), at.to_hms());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// Seconds and nanoseconds of an RFC 3339 time; `None` if it is none.
pub(crate) fn timestamp_numbers(text: &str) -> Option<(i64, i64)> {
    let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    Some((at.unix_timestamp(), i64::from(at.nanosecond())))
}

/// The name of a task state, if the number has one.
pub(crate) fn state_name(number: i64) -> Option<&'static str> {
    TaskState::ALL.get(usize::try_from(number).ok()?).map(|state| state.name())
}

/// The number of a task state; 0 for a name that is none.
pub(crate) fn state_number(name: &str) -> i64 {
    number(TaskState::ALL.iter().position(|state| state.name() == name))
}

/// The name of a role, if the number has one.
pub(crate) fn role_name(number: i64) -> Option<&'static str> {
    ROLES.get(usize::try_from(number).ok()?).copied()
}

/// The number of a role; 0 for a name that is none.
pub(crate) fn role_number(name: &str) -> i64 {
    number(ROLES.iter().position(|role| *role == name))
}

fn number(place: Option<usize>) -> i64 {
    place.and_then(|place| i64::try_from(place).ok()).unwrap_or(0)
}
