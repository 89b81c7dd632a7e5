//! What every token must say, typed by us: times, audience, subject (RFC 7519, T-JWT-4).
//!
//! *Takes* claims and the time. *Gives* them in our types. *Refuses* what is missing, of another type, or out of its
//! time by more than [`LEEWAY`]. *Never* proves a signature.

use crate::clock::Micros;
use json::{Json, Object};

/// When the token ends (its `exp` plus the leeway), if it is in its time at `now`.
pub(crate) fn in_time(claims: &Object, now: Micros) -> Option<Micros> {
    let end = seconds(claims.get("exp")?)?.checked_add(LEEWAY)?;
    let issued = match claims.get("iat") {
        None => None,
        Some(issued) => Some(seconds(issued)?),
    };
    let not_before = match claims.get("nbf") {
        None => None,
        Some(not_before) => Some(seconds(not_before)?),
    };
    let soon = now.checked_add(LEEWAY)?;
    let begun = issued.is_none_or(|at| at <= soon) && not_before.is_none_or(|at| at <= soon);
    // Without `iat` a token is as old as it is now.
    let short = end.saturating_sub(issued.unwrap_or(now)) <= LONGEST_LIFE.checked_add(2 * LEEWAY)?;
    (begun && short && now < end).then_some(end)
}

/// When it was issued, if it says so.
pub(crate) fn issued(claims: &Object) -> Option<Micros> {
    seconds(claims.get("iat")?)
}

/// Whether `aud` names `wanted`: as a text, or as one of an array of texts.
pub(crate) fn is_for(claims: &Object, wanted: &[String]) -> bool {
    let ours = |text: &str| wanted.iter().any(|one| one == text);
    match claims.get("aud") {
        Some(Json::String(text)) => ours(text),
        Some(Json::Array(items)) => {
            let texts: Option<Vec<&str>> = items.iter().map(Json::as_str).collect();
            texts.is_some_and(|texts| texts.into_iter().any(ours))
        }
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_)) | None => false,
    }
}

/// A claim that must be a text, neither empty nor endless.
pub(crate) fn text<'a>(claims: &'a Object, name: &str) -> Option<&'a str> {
    claims.str(name).filter(|text| (1..=LONGEST_TEXT).contains(&text.len()))
}

/// `NumericDate`: seconds, whole or not, in microseconds.
fn seconds(value: &Json) -> Option<Micros> {
    let number = value.as_number()?;
    let whole = match number.as_i64() {
        Some(whole) => whole,
        None => {
            let seconds = number.as_f64().floor();
            #[expect(clippy::cast_possible_truncation, reason = "checked to be within ±2^53")]
            (seconds.abs() <= 9_007_199_254_740_992.0).then_some(seconds as i64)?
        }
    };
    whole.checked_mul(1_000_000)
}

/// How far the clocks of issuer and gateway may differ.
pub(crate) const LEEWAY: Micros = 60_000_000;
/// Longest life of a token.
const LONGEST_LIFE: Micros = 24 * 3_600_000_000;
/// Longest text of a claim that is used.
const LONGEST_TEXT: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = 1_800_000_000_000_000;

    fn claims(text: &str) -> Object {
        json::read(text.as_bytes(), &json::Limits::default()).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn times_are_numbers_within_the_leeway() {
        for good in [
            r#"{"exp":1800000001}"#,
            r#"{"exp":1799999941}"#,
            r#"{"exp":1.8e9}"#,
            r#"{"exp":1800000000.5,"iat":1799999999.9}"#,
            r#"{"exp":1800000300,"nbf":1800000060,"iat":1800000060}"#,
            r#"{"exp":1800086400,"iat":1800000000}"#,
            r#"{"exp":1800086400}"#,
        ] {
            assert!(in_time(&claims(good), NOW).is_some(), "{good}");
        }
        for bad in [
            "{}",
            r#"{"exp":1799999940}"#,
            r#"{"exp":"1800000300"}"#,
            r#"{"exp":[1800000300]}"#,
            r#"{"exp":null}"#,
            r#"{"exp":-1}"#,
            r#"{"exp":9e300}"#,
            r#"{"exp":9223372036854775807}"#,
            r#"{"exp":1800000300,"nbf":1800000061}"#,
            r#"{"exp":1800000300,"nbf":"0"}"#,
            r#"{"exp":1800000300,"nbf":[]}"#,
            r#"{"exp":1800000300,"iat":1800000061}"#,
            r#"{"exp":1800000300,"iat":true}"#,
            r#"{"exp":1800000300,"iat":1799000000}"#,
            r#"{"exp":1800090000}"#,
        ] {
            assert_eq!(in_time(&claims(bad), NOW), None, "{bad}");
        }
    }

    #[test]
    fn an_audience_is_a_text_or_texts() {
        let ours = ["us".to_owned(), "also us".to_owned()];
        for good in [r#"{"aud":"us"}"#, r#"{"aud":["them","also us"]}"#] {
            assert!(is_for(&claims(good), &ours), "{good}");
        }
        for bad in ["{}", r#"{"aud":"US"}"#, r#"{"aud":[]}"#, r#"{"aud":["us",1]}"#, r#"{"aud":{"us":1}}"#] {
            assert!(!is_for(&claims(bad), &ours), "{bad}");
        }
    }
}
