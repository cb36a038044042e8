//! A treemap as SVG: areas are bytes, groups have colours. Laid out in rows as square as they can be
//! (Bruls, Huizing and van Wijk: Squarified Treemaps). Over each tile lies a radio button: one stop of the
//! tab key for the whole map, arrows from tile to tile, and what is chosen is said below; without a script.
use std::fmt::Write;

use super::words::{escape, shortened};
use crate::render::size;

pub struct Group {
    pub name: String,
    pub parts: Vec<(String, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rectangle {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 380.0;
/// Room for a group's name.
const TITLE: f64 = 18.0;
/// What is smaller can neither be seen nor pointed at; it is in the table.
const SMALLEST: f64 = 3.0;

pub fn of(title: &str, groups: &[Group]) -> String {
    let sum = |group: &Group| group.parts.iter().map(|(_, bytes)| (*bytes).max(0)).sum::<i64>();
    let mut groups: Vec<_> =
        groups.iter().map(|group| (group, sum(group))).filter(|(_, bytes)| *bytes > 0).collect();
    if groups.is_empty() {
        return "<p>There is no state.</p>".to_owned();
    }
    groups.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let whole = Rectangle { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    let areas: Vec<f64> = groups.iter().map(|(_, bytes)| *bytes as f64).collect();
    let title = escape(title);
    let mut map = Map { name: &title, svg: String::new(), buttons: String::new() };
    for (at, ((group, bytes), place)) in groups.iter().zip(squarified(&areas, whole)).enumerate() {
        map.group(group, *bytes, place, at % 9);
    }
    format!(
        "<figure><figcaption>{title}</figcaption><div class=map role=radiogroup aria-label=\"{title}\">\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" aria-hidden=true>{}</svg>{}</div></figure>",
        map.svg, map.buttons,
    )
}

struct Map<'t> {
    /// Of the buttons, that they belong together.
    name: &'t str,
    svg: String,
    buttons: String,
}

impl Map<'_> {
    fn button(&mut self, said: &str, place: Rectangle) {
        // The largest is chosen first.
        let checked = if self.buttons.is_empty() { " checked" } else { "" };
        let (left, top) = (place.x / WIDTH * 100.0, place.y / HEIGHT * 100.0);
        let (width, height) = (place.width / WIDTH * 100.0, place.height / HEIGHT * 100.0);
        let _ = write!(
            self.buttons,
            "<input type=radio name=\"{}\" aria-label=\"{said}\" title=\"{said}\"{checked} \
             style=\"left:{left:.3}%;top:{top:.3}%;width:{width:.3}%;height:{height:.3}%\">\
             <span aria-hidden=true>{said}</span>",
            self.name,
        );
    }

    fn group(&mut self, group: &Group, bytes: i64, place: Rectangle, colour: usize) {
        let named = place.height > TITLE * 2.0 && place.width > 60.0;
        let inner = match named {
            true => Rectangle { y: place.y + TITLE, height: place.height - TITLE, ..place },
            false => place,
        };
        if named {
            let fits = ((place.width - 8.0) / 7.2) as usize;
            let name = shortened(&format!("{} {}", group.name, size(bytes)), fits);
            let (x, y) = (place.x + 4.0, place.y + 13.0);
            let _ = write!(
                self.svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" class=label>{}</text>",
                escape(&name)
            );
        }
        let mut parts: Vec<_> = group.parts.iter().filter(|(_, bytes)| *bytes > 0).collect();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let areas: Vec<f64> = parts.iter().map(|(_, bytes)| *bytes as f64).collect();
        for ((name, bytes), place) in parts.into_iter().zip(squarified(&areas, inner)) {
            if place.width < SMALLEST || place.height < SMALLEST {
                continue;
            }
            let said = escape(&format!("{}, {name}: {}", group.name, size(*bytes)));
            let _ = write!(
                self.svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" class=\"tile t{colour}\"/>",
                place.x,
                place.y,
                place.width - 1.0,
                place.height - 1.0,
            );
            let fits = ((place.width - 8.0) / 6.4) as usize;
            if fits >= 4 && place.height > 16.0 {
                let (x, y) = (place.x + 4.0, place.y + 14.0);
                let name = escape(&shortened(name, fits));
                let _ =
                    write!(self.svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=tile>{name}</text>");
            }
            if fits >= 9 && place.height > 32.0 {
                let (x, y) = (place.x + 4.0, place.y + 28.0);
                let _ = write!(
                    self.svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" class=tile>{}</text>",
                    size(*bytes)
                );
            }
            self.button(&said, place);
        }
    }
}

/// A rectangle for each area, largest first, which together fill `whole`.
fn squarified(areas: &[f64], whole: Rectangle) -> Vec<Rectangle> {
    let total: f64 = areas.iter().sum();
    if total <= 0.0 || whole.width <= 0.0 || whole.height <= 0.0 {
        return vec![Rectangle { width: 0.0, height: 0.0, ..whole }; areas.len()];
    }
    let scale = whole.width * whole.height / total;
    let areas: Vec<f64> = areas.iter().map(|area| area * scale).collect();
    let mut placed = Vec::with_capacity(areas.len());
    let mut free = whole;
    let mut from = 0;
    while from < areas.len() {
        let side = free.width.min(free.height);
        let mut to = from + 1;
        while to < areas.len() && worst(&areas[from..=to], side) <= worst(&areas[from..to], side) {
            to += 1;
        }
        free = lay(&areas[from..to], free, &mut placed);
        from = to;
    }
    placed
}

/// The worst ratio of sides in a row of these areas along a side.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    let thickness = sum / side.max(f64::MIN_POSITIVE);
    let ratio = |area: &f64| {
        let length = area / thickness.max(f64::MIN_POSITIVE);
        (length / thickness).max(thickness / length)
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

/// Lays a row along the shorter side; returns what is left.
fn lay(row: &[f64], free: Rectangle, placed: &mut Vec<Rectangle>) -> Rectangle {
    let sum: f64 = row.iter().sum();
    let across = free.width >= free.height;
    let thickness = sum / if across { free.height } else { free.width };
    let mut at = if across { free.y } else { free.x };
    for area in row {
        let length = area / thickness;
        placed.push(match across {
            true => Rectangle { x: free.x, y: at, width: thickness, height: length },
            false => Rectangle { x: at, y: free.y, width: length, height: thickness },
        });
        at += length;
    }
    match across {
        true => Rectangle { x: free.x + thickness, width: free.width - thickness, ..free },
        false => Rectangle { y: free.y + thickness, height: free.height - thickness, ..free },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_have_their_areas_and_lie_inside() {
        let whole = Rectangle { x: 5.0, y: 7.0, width: 600.0, height: 400.0 };
        let areas = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0, 0.001];
        let placed = squarified(&areas, whole);
        let total: f64 = areas.iter().sum();
        for (area, place) in areas.iter().zip(&placed) {
            let expected = area / total * 600.0 * 400.0;
            assert!((place.width * place.height - expected).abs() < 1e-6, "{place:?}");
            assert!(place.x >= 5.0 && place.x + place.width <= 605.0 + 1e-6, "{place:?}");
            assert!(place.y >= 7.0 && place.y + place.height <= 407.0 + 1e-6, "{place:?}");
        }
        // The paper's example, on its own field: none but the last is far from a square.
        let sides = placed[..7].iter().map(|p| (p.width / p.height).max(p.height / p.width));
        assert!(sides.fold(0.0, f64::max) < 3.0);
    }

    #[test]
    fn nothing_and_one() {
        assert!(of("t", &[]).contains("no state"));
        let one = Group { name: "<a>".into(), parts: vec![("s".into(), 5), ("none".into(), 0)] };
        let svg = of("t", &[one]);
        assert!(svg.contains("&lt;a&gt;, s: 5 B") && !svg.contains("none"), "{svg}");
    }
}
