//! RocksDB's table files (block based, format versions 2 to 7): footer, properties, and whether every block
//! is as it was written. Does no I/O: whoever calls it reads. Rows are never looked at.
mod block;
mod checksum;
mod compression;
mod footer;
mod index;
mod properties;

pub use footer::{Footer, LONGEST as LONGEST_FOOTER};
pub use properties::Properties;

use std::collections::BTreeMap;

use crate::{Malformed, Result};
use block::Handle;

/// As much of a file is asked for at once, except where a single block is larger.
const WINDOW: u64 = 4 << 20;
/// An index or properties this large no file has: damage.
const LARGEST_DECOMPRESSED: usize = 64 << 20;

/// What was found in a file whose blocks are all in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub format_version: u32,
    pub checksum: &'static str,
    pub properties: Properties,
    pub blocks: u64,
    /// Bytes that no checksum covers, or that of no block that the file lists.
    pub unchecked: u64,
}

/// Reads `length` bytes at `offset`; exactly as many, or an error.
pub type Read<'r, E> = &'r mut dyn FnMut(u64, usize) -> std::result::Result<Vec<u8>, E>;

/// Checks the footer, the index and the checksum of each block of a file of `size` bytes.
pub fn check<E: From<Malformed>>(size: u64, read: Read<'_, E>) -> std::result::Result<Checked, E> {
    let tail = size.min(LONGEST_FOOTER as u64);
    let footer = Footer::read(&read(size - tail, tail as usize)?, size)?;
    let mut file = File { footer, read, done: BTreeMap::new() };
    let (metaindex, at) = file.contents(file.footer.metaindex, "metaindex")?;
    let meta = meta_blocks(&metaindex, at)?;
    let properties = match meta.get(PROPERTIES) {
        Some(handle) => {
            let (bytes, at) = file.contents(*handle, "properties")?;
            Properties::read(&bytes, at)?
        }
        None => Properties::default(),
    };
    let index = file.footer.index.or_else(|| meta.get("rocksdb.index").copied());
    let index = index.ok_or_else(|| Malformed::new(at, "index", "there is none"))?;
    file.index(index, &properties)?;
    for (name, handle) in &meta {
        if name.starts_with("partitionedfilter.") {
            for filter in file.handles(*handle, &properties, false, "filter index")? {
                file.done.entry(filter.offset).or_insert((filter, false));
            }
        } else {
            file.done.entry(handle.offset).or_insert((*handle, false));
        }
    }
    file.check_blocks()?;
    Ok(file.summary(size, properties))
}

const PROPERTIES: &str = "rocksdb.properties";

fn meta_blocks(metaindex: &[u8], at: usize) -> Result<BTreeMap<String, Handle>> {
    let mut blocks = BTreeMap::new();
    block::entries(metaindex, at, "metaindex", |key, value| {
        blocks.insert(String::from_utf8_lossy(key).into_owned(), Handle::read(value)?);
        Ok(())
    })?;
    Ok(blocks)
}

struct File<'r, E> {
    footer: Footer,
    read: Read<'r, E>,
    /// Blocks by offset, and whether their checksum was compared.
    done: BTreeMap<u64, (Handle, bool)>,
}

impl<E: From<Malformed>> File<'_, E> {
    /// A block as it was before it was compressed, and where it lies.
    fn contents(
        &mut self,
        handle: Handle,
        field: &str,
    ) -> std::result::Result<(Vec<u8>, usize), E> {
        let length = handle.within(&self.footer, field)?;
        let raw = (self.read)(handle.offset, length)?;
        block::check(&raw, handle, &self.footer, field)?;
        self.done.insert(handle.offset, (handle, true));
        let (payload, trailer) = raw.split_at(handle.size as usize);
        let bytes = compression::decompress(trailer[0], payload, LARGEST_DECOMPRESSED)
            .map_err(|what| Malformed::new(handle.offset as usize, field, what))?;
        Ok((bytes, handle.offset as usize))
    }

    fn handles(
        &mut self,
        handle: Handle,
        properties: &Properties,
        first_keys: bool,
        field: &str,
    ) -> std::result::Result<Vec<Handle>, E> {
        let (bytes, at) = self.contents(handle, field)?;
        Ok(index::handles(&bytes, at, properties.delta_encoded, first_keys, field)?)
    }

    /// All data blocks, through the index's partitions if it has some.
    fn index(&mut self, top: Handle, properties: &Properties) -> std::result::Result<(), E> {
        let first_keys = properties.index_kind == index::WITH_FIRST_KEYS;
        let partitioned = properties.index_kind == index::PARTITIONED;
        let mut parts = vec![top];
        if partitioned {
            parts = self.handles(top, properties, false, "index")?;
        }
        for part in parts {
            for data in self.handles(part, properties, first_keys, "index")? {
                self.done.entry(data.offset).or_insert((data, false));
            }
        }
        Ok(())
    }

    /// What was not read yet, in the order of the file and many blocks at once.
    fn check_blocks(&mut self) -> std::result::Result<(), E> {
        let left: Vec<_> = self.done.values().filter(|(_, done)| !done).map(|(h, _)| *h).collect();
        let mut from = 0;
        while let Some(first) = left.get(from) {
            first.within(&self.footer, "block")?;
            let end = |handle: &Handle| handle.offset.saturating_add(handle.size) + block::TRAILER;
            let mut to = from + 1;
            while let Some(next) = left.get(to) {
                next.within(&self.footer, "block")?;
                let apart = next.offset != end(&left[to - 1]);
                if apart || end(next) - first.offset > WINDOW {
                    break;
                }
                to += 1;
            }
            let length = end(&left[to - 1]) - first.offset;
            let bytes = (self.read)(first.offset, length as usize)?;
            for handle in &left[from..to] {
                let begin = (handle.offset - first.offset) as usize;
                let raw = &bytes[begin..begin + (handle.size + block::TRAILER) as usize];
                block::check(raw, *handle, &self.footer, "block")?;
            }
            from = to;
        }
        Ok(())
    }

    fn summary(self, size: u64, properties: Properties) -> Checked {
        let blocks = self.done.values().map(|(handle, _)| handle.size + block::TRAILER);
        let covered = blocks.fold(self.footer.length as u64, u64::saturating_add);
        let unchecked = match self.footer.checksum {
            checksum::Kind::None => size,
            _ => size.saturating_sub(covered),
        };
        Checked {
            format_version: self.footer.version,
            checksum: self.footer.checksum.name(),
            properties,
            blocks: self.done.len() as u64,
            unchecked,
        }
    }
}
