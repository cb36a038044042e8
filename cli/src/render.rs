//! What people read: sizes with units, tables whose columns line up. Programs get JSON from `serde`.
use tabled::builder::Builder;
use tabled::settings::object::Columns;
use tabled::settings::{Alignment, Padding, Style};

/// As in 1.23 MiB; below a KiB exact.
pub fn size(bytes: i64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes.abs() < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value.abs() >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// As in "1 file" and "2 files".
pub fn count(number: u64, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}

pub fn ratio(value: f64) -> String {
    format!("{value:.2}")
}

/// A table: headings, then rows. A heading that begins with `>` is of a column of numbers.
pub struct Table {
    builder: Builder,
    numbers: Vec<usize>,
    rows: usize,
    top: usize,
}

impl Table {
    /// Shows at most `top` rows; 0: all.
    pub fn new(headings: &[&str], top: usize) -> Self {
        let mut builder = Builder::default();
        builder.push_record(headings.iter().map(|heading| heading.trim_start_matches('>')));
        let numbers = headings.iter().enumerate().filter(|(_, heading)| heading.starts_with('>'));
        Self { builder, numbers: numbers.map(|(at, _)| at).collect(), rows: 0, top }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows += 1;
        if self.top == 0 || self.rows <= self.top {
            // Names are a user's: nothing in them may end a line or steer a terminal.
            self.builder.push_record(cells.into_iter().map(|cell| plain(&cell)));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub fn text(self) -> String {
        let mut table = self.builder.build();
        table.with(Style::empty()).with(Padding::new(0, 2, 0, 0));
        for column in self.numbers {
            table.modify(Columns::one(column), Alignment::right());
        }
        let lines = table.to_string();
        let mut text: String = lines.lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
        if self.top != 0 && self.rows > self.top {
            text += &format!("... and {} more (--top 0 shows all)\n", self.rows - self.top);
        }
        text
    }
}

/// Of an error: its lines stay, but nothing in it steers a terminal.
pub fn lines(text: &str) -> String {
    text.split('\n').map(plain).collect::<Vec<_>>().join("\n")
}

/// Of a line.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a character does something to a terminal or to the order of those around it.
pub fn steers(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Bytes as hexadecimal digits, shortened.
pub fn hex(bytes: &[u8]) -> String {
    const MOST: usize = 16;
    let digits: String = bytes.iter().take(MOST).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > MOST {
        digits + ".."
    } else {
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let shown = [0, 1023, 1024, 1_048_575, 1 << 20, 5_000_000_000].map(size);
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "1.00 MiB", "1.00 MiB", "4.66 GiB"]);
    }

    #[test]
    fn columns_line_up_and_names_cannot_steer() {
        let mut table = Table::new(&["name", ">size"], 2);
        for (name, size) in [("a\x1b[31m\n", "1"), ("bcd", "200"), ("e", "3")] {
            table.row([name.to_owned(), size.to_owned()]);
        }
        let expected = "name     size\na\u{fffd}[31m\u{fffd}     1\nbcd       200\n\
                        ... and 1 more (--top 0 shows all)\n";
        assert_eq!(table.text(), expected);
    }
}
