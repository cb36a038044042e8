//! Moves files down so that few stay on level 0. Each part of a scale-in brings its own; together they
//! would make RocksDB slow down or stop writes (20 and 36 files). Newer files stay above older ones. Pure.
use crate::db::table_files::TableFile;

/// RocksDB begins to compact at four; a deletion of foreign keys adds one.
const FEW: usize = 3;
/// The deepest of RocksDB's seven levels.
pub(super) const DEEPEST: u32 = 6;

/// Files of one column family, part by part; the parts have no keys in common.
pub fn relieve_level_0(parts: &mut [Vec<TableFile>]) {
    let count = parts.iter().flatten().filter(|file| file.level == 0).count();
    if parts.len() > 1 && count >= FEW {
        parts.iter_mut().for_each(|files| move_down(files));
    }
}

/// Oldest first, as RocksDB orders level 0: by epoch, or by sequence number where epochs are missing.
pub fn oldest_first(files: &mut [TableFile]) {
    let without_epochs = files.iter().any(|file| file.epoch == 0);
    files.sort_by_key(|file| {
        let epoch = if without_epochs { 0 } else { file.epoch };
        (epoch, file.largest_seqno, file.smallest_seqno, file.number)
    });
}

/// Every file goes just below all newer ones that it has keys in common with. A part with more versions
/// than there are levels stays as it is.
fn move_down(files: &mut [TableFile]) {
    let order = newest_first(files);
    let mut levels: Vec<u32> = files.iter().map(|file| file.level.max(1)).collect();
    for (done, &at) in order.iter().enumerate() {
        let newer = order[..done].iter().filter(|&&newer| overlap(&files[newer], &files[at]));
        let below = newer.map(|&newer| levels[newer] + 1).max().unwrap_or(1);
        levels[at] = levels[at].max(below);
    }
    if levels.iter().all(|level| *level <= DEEPEST) {
        files.iter_mut().zip(levels).for_each(|(file, level)| file.level = level);
    }
}

/// Positions from the top down. On a level a key's newer versions come first.
fn newest_first(files: &mut [TableFile]) -> Vec<usize> {
    oldest_first(files);
    let mut order: Vec<usize> = (0..files.len()).rev().collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&files[a], &files[b]);
        let by_key = || if a.level == 0 { None } else { Some(a.first_key().cmp(b.first_key())) };
        a.level.cmp(&b.level).then_with(|| by_key().unwrap_or(std::cmp::Ordering::Equal))
    });
    order
}

fn overlap(one: &TableFile, two: &TableFile) -> bool {
    one.first_key() <= two.last_key() && two.first_key() <= one.last_key()
}

#[cfg(test)]
#[path = "levels_test.rs"]
mod tests;
