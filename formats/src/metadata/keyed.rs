//! Reads handles to keyed state, of all backends and of the changelog.
use super::handles::{Changelog, ChangelogFiles, InMemoryChangelog, Incremental, Keyed, LocalFile};
use super::input::Input;
use super::stream;
use crate::malformed::Within;
use crate::Result;

/// A changelog has handles of a backend in it, and of nothing else.
const DEEPEST: u32 = 3;

mod code {
    pub const NULL: u8 = 0;
    pub const KEY_GROUPS: u8 = 3;
    pub const INCREMENTAL: u8 = 5;
    pub const SAVEPOINT_KEY_GROUPS: u8 = 7;
    pub const CHANGELOG: u8 = 8;
    pub const CHANGELOG_BYTES: u8 = 9;
    pub const CHANGELOG_FILES: u8 = 10;
    pub const INCREMENTAL_V2: u8 = 11;
    pub const KEY_GROUPS_V2: u8 = 12;
    pub const CHANGELOG_FILES_V2: u8 = 13;
    pub const CHANGELOG_V2: u8 = 14;
}

pub fn read(input: &mut Input<'_>) -> Result<Option<Keyed>> {
    nested(input, 0)
}

fn nested(input: &mut Input<'_>, depth: u32) -> Result<Option<Keyed>> {
    let at = input.at();
    let code = input.u8("handle type")?;
    let keyed = match code {
        code::NULL => return Ok(None),
        code::KEY_GROUPS | code::SAVEPOINT_KEY_GROUPS | code::KEY_GROUPS_V2 => {
            let groups = stream::key_groups(input, 0)?;
            if code == code::KEY_GROUPS_V2 {
                input.utf("state handle id")?;
            }
            Keyed::KeyGroups { savepoint: code == code::SAVEPOINT_KEY_GROUPS, groups }
        }
        code::INCREMENTAL | code::INCREMENTAL_V2 => {
            let handle = incremental(input, code == code::INCREMENTAL_V2);
            Keyed::Incremental(Box::new(handle.within(|| "incremental".into())?))
        }
        code::CHANGELOG | code::CHANGELOG_V2 if depth < DEEPEST => {
            let handle = changelog(input, code == code::CHANGELOG_V2, depth + 1);
            Keyed::Changelog(Box::new(handle.within(|| "changelog".into())?))
        }
        code::CHANGELOG_BYTES => Keyed::InMemoryChangelog(Box::new(in_memory(input)?)),
        code::CHANGELOG_FILES | code::CHANGELOG_FILES_V2 => {
            let handle = files(input, code == code::CHANGELOG_FILES_V2);
            Keyed::ChangelogFiles(Box::new(handle.within(|| "changelog files".into())?))
        }
        code::CHANGELOG | code::CHANGELOG_V2 => {
            return Err(input.wrong(at, "handle type", format!("{code}, nested too deeply")))
        }
        _ => {
            let text = format!("{code}, which is none of keyed state");
            return Err(input.wrong(at, "handle type", text));
        }
    };
    Ok(Some(keyed))
}

fn incremental(input: &mut Input<'_>, v2: bool) -> Result<Incremental> {
    let checkpoint_id = input.i64("checkpoint id")?;
    let backend = input.utf("backend id")?;
    let range = stream::range(input)?;
    let at = input.at();
    let checkpointed_size = match if v2 { input.i64("checkpointed size")? } else { -1 } {
        -1 => None,
        size if size >= 0 => Some(size),
        size => return Err(input.wrong(at, "checkpointed size", size.to_string())),
    };
    let meta = stream::read(input).within(|| "meta".into())?;
    let shared = local_files(input, "shared")?;
    let private = local_files(input, "private")?;
    if v2 {
        input.utf("state handle id")?;
    }
    Ok(Incremental { checkpoint_id, backend, range, checkpointed_size, meta, shared, private })
}

fn local_files(input: &mut Input<'_>, field: &str) -> Result<Vec<LocalFile>> {
    let count = input.count(3, &format!("number of {field} files"))?;
    let mut files = Vec::new();
    for index in 0..count {
        let mut read = || {
            let name = input.utf("local path")?;
            let stream = stream::present(input)?;
            Ok(LocalFile { name, stream })
        };
        files.push(read().within(|| format!("{field}[{index}]"))?);
    }
    Ok(files)
}

fn changelog(input: &mut Input<'_>, v2: bool, depth: u32) -> Result<Changelog> {
    let range = stream::range(input)?;
    let checkpointed_size = input.size("checkpointed size")?;
    let materialized = handles(input, "materialized", depth)?;
    let changes = handles(input, "changes", depth)?;
    let materialization_id = input.i64("materialization id")?;
    let checkpoint_id = if v2 { input.i64("checkpoint id")? } else { materialization_id };
    input.utf("state handle id")?;
    Ok(Changelog {
        range,
        checkpointed_size,
        materialized,
        changes,
        materialization_id,
        checkpoint_id,
    })
}

/// Handles that are none are passed over, as Flink does.
fn handles(input: &mut Input<'_>, field: &str, depth: u32) -> Result<Vec<Keyed>> {
    let count = input.count(1, &format!("number of {field}"))?;
    let mut handles = Vec::new();
    for index in 0..count {
        handles.extend(nested(input, depth).within(|| format!("{field}[{index}]"))?);
    }
    Ok(handles)
}

fn in_memory(input: &mut Input<'_>) -> Result<InMemoryChangelog> {
    let range = stream::range(input)?;
    input.i64("from")?;
    input.i64("to")?;
    let changes = input.count(8, "number of changes")?;
    let mut size = 0;
    for _ in 0..changes {
        input.i32("key group")?;
        size += input.sized("change")?.len() as i64;
    }
    input.utf("state handle id")?;
    Ok(InMemoryChangelog { range, size, changes })
}

fn files(input: &mut Input<'_>, v2: bool) -> Result<ChangelogFiles> {
    let range = stream::range(input)?;
    let count = input.count(9, "number of streams")?;
    let mut streams = Vec::new();
    for index in 0..count {
        let offset = input.i64("offset")?;
        let stream = stream::present(input).within(|| format!("streams[{index}]"))?;
        streams.push((stream, offset));
    }
    let size = input.size("size")?;
    let checkpointed_size = input.size("checkpointed size")?;
    input.utf("state handle id")?;
    if v2 {
        input.utf("storage identifier")?;
    }
    Ok(ChangelogFiles { range, streams, size, checkpointed_size })
}
