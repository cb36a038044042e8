//! Reads handles to streams. Not what is in them.
use super::handles::{KeyGroupRange, KeyGroups, Segment, Stream};
use super::input::Input;
use crate::malformed::Within;
use crate::Result;

/// Flink nests one key groups handle into nothing; anything deeper is damage.
const DEEPEST: u32 = 4;

mod code {
    pub const NULL: u8 = 0;
    pub const BYTES: u8 = 1;
    pub const FILE: u8 = 2;
    pub const KEY_GROUPS: u8 = 3;
    pub const RELATIVE: u8 = 6;
    pub const SEGMENT: u8 = 15;
    pub const EMPTY_SEGMENT: u8 = 16;
}

pub fn read(input: &mut Input<'_>) -> Result<Option<Stream>> {
    nested(input, 0)
}

/// A stream that must be one.
pub fn present(input: &mut Input<'_>) -> Result<Stream> {
    let at = input.at();
    read(input)?.ok_or_else(|| input.wrong(at, "handle type", "0, none, where there must be one"))
}

fn nested(input: &mut Input<'_>, depth: u32) -> Result<Option<Stream>> {
    let at = input.at();
    let code = input.u8("handle type")?;
    let stream = match code {
        code::NULL => return Ok(None),
        code::BYTES => Stream::Inline { name: input.utf("name")?, bytes: input.sized("bytes")? },
        code::FILE => {
            let size = input.size("size")?;
            Stream::File { path: input.utf("path")?, size }
        }
        code::RELATIVE => {
            let path = input.utf("relative path")?;
            Stream::Relative { path, size: input.size("size")? }
        }
        code::SEGMENT => Stream::Segment(Box::new(segment(input)?)),
        code::EMPTY_SEGMENT => Stream::EmptySegment,
        code::KEY_GROUPS if depth < DEEPEST => {
            Stream::KeyGroups(Box::new(key_groups(input, depth + 1)?))
        }
        code::KEY_GROUPS => return Err(input.wrong(at, "handle type", "3, nested too deeply")),
        _ => {
            return Err(input.wrong(
                at,
                "handle type",
                format!("{code}, which is none of a stream"),
            ))
        }
    };
    Ok(Some(stream))
}

fn segment(input: &mut Input<'_>) -> Result<Segment> {
    let start = input.size("segment start")?;
    let size = input.size("segment size")?;
    let at = input.at();
    let shared = match input.i32("scope")? {
        0 => false,
        1 => true,
        scope => return Err(input.wrong(at, "scope", scope.to_string())),
    };
    let path = input.utf("path")?;
    Ok(Segment { path, start, size, shared, logical_id: input.utf("logical file id")? })
}

/// A key group range, the offsets of its groups, the stream.
pub fn key_groups(input: &mut Input<'_>, depth: u32) -> Result<KeyGroups> {
    let at = input.at();
    let range = range(input)?;
    let mut offsets = Vec::new();
    for _ in 0..range.count {
        offsets.push(input.i64("key group offset")?);
    }
    let stream = nested(input, depth).within(|| format!("key groups at byte {at}"))?;
    Ok(KeyGroups { range, offsets, stream })
}

/// The first key group and how many there are.
pub fn range(input: &mut Input<'_>) -> Result<KeyGroupRange> {
    let at = input.at();
    let (start, count) = (input.i32("first key group")?, input.i32("number of key groups")?);
    if start < 0 || count < 0 || start.checked_add(count).is_none() {
        return Err(input.wrong(at, "key group range", format!("{count} from {start} on")));
    }
    Ok(KeyGroupRange { start, count })
}
