//! Which files of a part an import takes, what sticks out of the wanted keys, and which parts get in each
//! other's way. Pure.
use std::collections::{BTreeMap, BTreeSet};

use super::levels::oldest_first;
use crate::db::table_files::{Manifest, TableFile};

/// `from <= key < to`; no end if None.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub from: Vec<u8>,
    pub to: Option<Vec<u8>>,
}

/// Files by column family.
pub type Columns = BTreeMap<String, Vec<TableFile>>;

impl KeyRange {
    fn is_after(&self, key: &[u8]) -> bool {
        self.to.as_deref().is_some_and(|to| key >= to)
    }

    /// True if a file may have keys of this range.
    #[must_use]
    pub fn touches(&self, file: &TableFile) -> bool {
        let ends_before = if file.ends_before_last_key() {
            file.last_key() <= self.from.as_slice()
        } else {
            file.last_key() < self.from.as_slice()
        };
        !ends_before && !self.is_after(file.first_key())
    }

    /// The ranges `from..to` of dead keys that files of a column family bring along: exact, so that
    /// deleting them touches nobody else's keys.
    #[must_use]
    pub fn outside(&self, files: &[TableFile]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some(hull) = Hull::of(files) else { return Vec::new() };
        let mut outside = Vec::new();
        if hull.first < self.from.as_slice() {
            outside.push((hull.first.to_vec(), self.from.clone()));
        }
        if let Some(to) = self.to.as_ref() {
            // The key after the last one, which a deletion up to it includes.
            let end = [hull.last, &[0]].concat();
            if hull.sticks_out_behind(self) {
                outside.push((to.clone(), end));
            }
        }
        outside
    }
}

/// The files that touch the range, by column family, in the order of their age; column families without
/// any are left out.
#[must_use]
pub fn select(manifest: Manifest, range: &KeyRange) -> Columns {
    let mut columns = manifest.columns;
    for files in columns.values_mut() {
        files.retain(|file| range.touches(file));
        oldest_first(files);
    }
    columns.retain(|_, files| !files.is_empty());
    columns
}

/// From the first to the last key of some files.
struct Hull<'a> {
    first: &'a [u8],
    last: &'a [u8],
    /// The last key only ends a deleted range.
    open: bool,
}

impl<'a> Hull<'a> {
    fn of(files: &'a [TableFile]) -> Option<Self> {
        let first = files.iter().map(TableFile::first_key).min()?;
        let last = files.iter().map(TableFile::last_key).max()?;
        let open = files.iter().filter(|f| f.last_key() == last).all(|f| f.ends_before_last_key());
        Some(Self { first, last, open })
    }

    fn sticks_out_behind(&self, range: &KeyRange) -> bool {
        range
            .to
            .as_deref()
            .is_some_and(|to| if self.open { self.last > to } else { self.last >= to })
    }

    /// As RocksDB's import judges it: a common border counts.
    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// The parts that have files over another part's files.
#[must_use]
pub fn in_each_others_way(parts: &[(&KeyRange, &Columns)]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let names: BTreeSet<&String> = parts.iter().flat_map(|(_, columns)| columns.keys()).collect();
    for name in names {
        let hulls: Vec<_> = parts
            .iter()
            .enumerate()
            .filter_map(|(n, (range, columns))| Some((n, *range, Hull::of(columns.get(name)?)?)))
            .collect();
        for (at, (one, one_range, one_hull)) in hulls.iter().enumerate() {
            for (two, two_range, two_hull) in &hulls[at + 1..] {
                if one_hull.overlaps(two_hull) {
                    found.extend(sticking_out(*one, one_range, one_hull));
                    found.extend(sticking_out(*two, two_range, two_hull));
                }
            }
        }
    }
    found
}

fn sticking_out(part: usize, range: &KeyRange, hull: &Hull<'_>) -> Option<usize> {
    (hull.first < range.from.as_slice() || hull.sticks_out_behind(range)).then_some(part)
}

/// True if no two parts have files of the same keys: what RocksDB asks of an import.
#[must_use]
pub fn are_apart(parts: &[(&KeyRange, &Columns)]) -> bool {
    let names: BTreeSet<&String> = parts.iter().flat_map(|(_, columns)| columns.keys()).collect();
    names.into_iter().all(|name| {
        let mut hulls: Vec<_> =
            parts.iter().filter_map(|(_, columns)| Hull::of(columns.get(name)?)).collect();
        hulls.sort_by(|a, b| a.first.cmp(b.first));
        hulls.windows(2).all(|pair| !pair[0].overlaps(&pair[1]))
    })
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod tests;
