//! Text for a page: escaped, and dates.

use crate::render::steers;

pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c if steers(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// As in 2026-11-30 11:02:03, from seconds since 1970; of the proleptic Gregorian calendar.
pub fn date(seconds: u64) -> String {
    let (day, time) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, so that leap days end years.
    let day = day + 719_468;
    let era = day / 146_097;
    let of_era = day % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}")
}

/// No longer than that many characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() {
        length if length <= most => text.to_owned(),
        _ => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}
