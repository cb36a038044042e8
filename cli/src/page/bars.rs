//! Bar charts as SVG: a row a thing, bars beside each other or one behind the other. Each bar can be reached
//! with the keyboard and says its numbers.
use std::fmt::Write;

use super::words::{escape, shortened};
use crate::render::size;

pub struct Bar {
    name: &'static str,
    bytes: i64,
    /// Which colour of `style.css`.
    colour: usize,
}

impl Bar {
    pub fn new(name: &'static str, bytes: i64, colour: usize) -> Self {
        Self { name, bytes: bytes.max(0), colour: colour % 9 }
    }
}

pub struct Row {
    pub label: String,
    pub note: String,
    pub bars: Vec<Bar>,
}

const WIDTH: f64 = 900.0;
/// Of labels.
const LEFT: f64 = 210.0;
/// Of the number behind the longest bar.
const RIGHT: f64 = 100.0;
const ROW: f64 = 34.0;

/// Bars of a row one below the other.
pub fn beside(title: &str, rows: &[Row]) -> String {
    let most = rows.iter().flat_map(|row| &row.bars).map(|bar| bar.bytes).max().unwrap_or(0);
    chart(title, rows, |row, svg, y| {
        let height = (ROW - 8.0) / row.bars.len().max(1) as f64;
        for (at, bar) in row.bars.iter().enumerate() {
            let y = y + 4.0 + height * at as f64;
            let width = scaled(bar.bytes, most);
            rectangle(svg, row, bar, LEFT, y, width, height - 1.0);
            let x = LEFT + width + 6.0;
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" class=value>{}</text>",
                y + height / 2.0 + 4.0,
                size(bar.bytes)
            );
        }
    })
}

/// Bars of a row one behind the other.
pub fn stacked(title: &str, rows: &[Row]) -> String {
    let sum = |row: &Row| row.bars.iter().map(|bar| bar.bytes).fold(0, i64::saturating_add);
    let most = rows.iter().map(sum).max().unwrap_or(0);
    chart(title, rows, |row, svg, y| {
        let mut x = LEFT;
        for bar in row.bars.iter().filter(|bar| bar.bytes > 0) {
            let width = scaled(bar.bytes, most);
            rectangle(svg, row, bar, x, y + 4.0, width, ROW - 10.0);
            x += width;
        }
        let value = size(sum(row));
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" class=value>{value}</text>",
            x + 6.0,
            y + 21.0
        );
    })
}

fn scaled(bytes: i64, most: i64) -> f64 {
    if most <= 0 {
        0.0
    } else {
        bytes as f64 / most as f64 * (WIDTH - LEFT - RIGHT)
    }
}

fn chart(title: &str, rows: &[Row], draw: impl Fn(&Row, &mut String, f64)) -> String {
    let height = ROW * rows.len() as f64;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=group aria-label=\"{}\">",
        escape(title)
    );
    for (at, row) in rows.iter().enumerate() {
        let y = ROW * at as f64;
        let _ = write!(
            svg,
            "<text x=0 y=\"{:.1}\" class=label>{}</text><text x=0 y=\"{:.1}\" class=note>{}</text>",
            y + 15.0,
            escape(&shortened(&row.label, 30)),
            y + 28.0,
            escape(&shortened(&row.note, 34)),
        );
        draw(row, &mut svg, y);
    }
    svg += "</svg>";
    format!("<figure><figcaption>{}{}</figcaption>{svg}</figure>", escape(title), legend(rows))
}

/// Which colour is what, where there are several.
fn legend(rows: &[Row]) -> String {
    let mut named: Vec<_> =
        rows.iter().flat_map(|row| &row.bars).map(|bar| (bar.colour, bar.name)).collect();
    named.sort_unstable();
    named.dedup();
    if named.len() < 2 {
        return String::new();
    }
    let key = |(colour, name): &(usize, &str)| format!("<li><i class=c{colour}></i>{name}</li>");
    format!("<ul class=legend>{}</ul>", named.iter().map(key).collect::<String>())
}

fn rectangle(svg: &mut String, row: &Row, bar: &Bar, x: f64, y: f64, width: f64, height: f64) {
    let said = escape(&format!("{}, {}: {}", row.label, bar.name, size(bar.bytes)));
    let _ = write!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" class=c{} tabindex=0 \
         role=img aria-label=\"{said}\"><title>{said}</title></rect>",
        width.max(1.0),
        bar.colour,
    );
}
