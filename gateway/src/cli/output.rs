//! What commands print: tables for people, JSON for scripts. Standard output only, but for notes; errors go up.
//! A reader that has gone away (`| head`) is no failure.

use serde_json::Value;
use std::io::Write as _;

/// Prints one line.
///
/// # Errors
/// Standard output can't be written.
pub(super) fn line(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Prints text as it comes, without a line end; it is seen at once.
///
/// # Errors
/// Standard output can't be written.
pub(super) fn piece(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Says something to the person, beside what a script reads.
pub(super) fn note(text: &str) {
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a JSON document, indented.
///
/// # Errors
/// Standard output can't be written.
pub(super) fn json(value: &Value) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// Prints rows in columns as wide as their widest cell; `pointers` pick the cells of each item.
///
/// # Errors
/// Standard output can't be written.
pub(super) fn table(columns: &[(&str, &str)], items: &[Value]) -> anyhow::Result<()> {
    let header = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    let mut rows: Vec<Vec<String>> = vec![header];
    rows.extend(items.iter().map(|item| columns.iter().map(|(_, pointer)| cell(item.pointer(pointer))).collect()));
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        line(cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// A value as it stands in a table: control characters are shown, not obeyed.
pub(super) fn cell(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => String::from("-"),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().map(|item| cell(Some(item))).collect::<Vec<_>>().join(","),
        Some(other) => other.to_string(),
    };
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_a_card_do_not_reach_the_terminal() {
        assert_eq!(cell(Some(&Value::String("a\u{1b}[31mb\n".into()))), "a\\u{1b}[31mb\\n");
    }
}
