//! Which live files a checkpoint uploads and which it reuses. Pure: `live` lists the files, `upload`
//! moves them, and whether a handle can be reused at all is for Flink's stream factory to say.
use super::layout;
use super::ledger::Base;

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
    Reuse { physical_id: String, merged: bool },
    Upload,
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
pub fn plan(live: Vec<LiveFile>, base: &Base) -> Vec<PlannedFile> {
    let mut planned: Vec<_> = live
        .into_iter()
        .filter(|file| !layout::is_empty_log(&file.local_name, file.size))
        .map(|file| plan_file(file, base))
        .collect();
    planned.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.local_name.cmp(&b.local_name)));
    planned
}

fn plan_file(file: LiveFile, base: &Base) -> PlannedFile {
    let role = if layout::is_sst(&file.local_name) { Role::Sst } else { Role::Misc };
    // Equal names mean equal files. Should that ever fail, a size that differs is the one sign of it,
    // and one upload too many costs less than a checkpoint with a foreign file.
    let confirmed = base.get(&file.local_name).filter(|confirmed| confirmed.size == file.size);
    let action = match (role, confirmed) {
        (Role::Sst, Some(confirmed)) => {
            Action::Reuse { physical_id: confirmed.physical_id.clone(), merged: confirmed.merged }
        }
        _ => Action::Upload,
    };
    PlannedFile { local_name: file.local_name, size: file.size, role, action }
}

#[cfg(test)]
#[path = "plan_test.rs"]
mod tests;
