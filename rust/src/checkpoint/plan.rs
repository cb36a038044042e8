//! Which live files a snapshot uploads, which it copies within the store and which it only refers to.
//! Pure: `live` lists the files, `upload` moves them, and whether a handle can be reused at all is for Flink's stream factory to say.
use super::layout;
use super::ledger::{Base, SharedFile};

/// A file of a local checkpoint directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveFile {
    pub local_name: String,
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// May be shared between checkpoints.
    Sst,
    /// Belongs to one checkpoint: MANIFEST, CURRENT, OPTIONS.
    Misc,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Reuse {
        physical_id: String,
        merged: bool,
    },
    /// A new object, out of one that the store may still have.
    Copy {
        source: String,
    },
    Upload,
}

/// What a snapshot may do with objects of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Refer to those of the last confirmed checkpoint.
    Refer,
    /// Copy them: all it names is its own (savepoints, full checkpoints).
    Own,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub local_name: String,
    pub size: u64,
    pub role: Role,
    pub action: Action,
}

/// Largest first, so that the longest transfer does not start last; equal sizes by name.
#[must_use]
pub fn plan(live: Vec<LiveFile>, base: &Base, sharing: Sharing) -> Vec<PlannedFile> {
    let mut planned: Vec<_> = live
        .into_iter()
        .filter(|file| !layout::is_empty_log(&file.local_name, file.size))
        .map(|file| plan_file(file, base, sharing))
        .collect();
    planned.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.local_name.cmp(&b.local_name)));
    planned
}

fn plan_file(file: LiveFile, base: &Base, sharing: Sharing) -> PlannedFile {
    let role = if layout::is_sst(&file.local_name) { Role::Sst } else { Role::Misc };
    let action = match role {
        Role::Sst => sst_action(&file, base, sharing),
        Role::Misc => Action::Upload,
    };
    PlannedFile { local_name: file.local_name, size: file.size, role, action }
}

fn sst_action(file: &LiveFile, base: &Base, sharing: Sharing) -> Action {
    // Equal names mean equal files. Should that ever fail, a size that differs is the one sign of it,
    // and one upload too many costs less than a checkpoint with a foreign file.
    let same = |known: &&SharedFile| known.size == file.size;
    if sharing == Sharing::Refer {
        if let Some(known) = base.get(&file.local_name).filter(same) {
            let (physical_id, merged) = (known.physical_id.clone(), known.merged);
            return Action::Reuse { physical_id, merged };
        }
    }
    match base.copy_of(&file.local_name).filter(same) {
        Some(known) => Action::Copy { source: known.physical_id.clone() },
        None => Action::Upload,
    }
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod tests;
