//! Operations on maps. The rows of a small map lie in one record under their common prefix, of which is
//! known whether it has all of them. A map that is too large for that keeps a record that says so, and
//! its rows are records of their own.
use super::flush::MAP_NUMBER;
use super::packed::{self, ABSENT, DIRTY, STORED};
use super::record::{size, Head, Kind};
use super::rows::Key;
use super::table::{deliver, Table};
use crate::db::{Entries, Fill};
use crate::error::Result;

/// Rows of a map that fit into one record.
const MOST_ROWS_BYTES: usize = 2 << 10;
/// A row that is larger makes its map a large one.
const MOST_ROW_BYTES: usize = 512;
/// Bytes of what a record says of a large map.
const LARGE_BYTES: usize = 8;

/// The key of a row: the prefix of the map, and the user key.
#[derive(Clone, Copy)]
pub(super) struct MapKey<'a> {
    pub(super) column: u16,
    pub(super) bytes: &'a [u8],
    pub(super) prefix: usize,
}

impl<'a> MapKey<'a> {
    fn prefix(self) -> &'a [u8] {
        &self.bytes[..self.prefix]
    }

    fn user(self) -> &'a [u8] {
        &self.bytes[self.prefix..]
    }
}

/// What a row is to become.
#[derive(Clone, Copy)]
enum Change<'a> {
    Put(&'a [u8]),
    Delete,
    /// What the database has.
    Read(Option<&'a [u8]>),
}

impl<'a> Change<'a> {
    fn value(self) -> &'a [u8] {
        match self {
            Change::Put(value) | Change::Read(Some(value)) => value,
            Change::Delete | Change::Read(None) => &[],
        }
    }

    fn is_write(self) -> bool {
        !matches!(self, Change::Read(_))
    }

    /// Flags of the row, given those it had; None: there is no row then.
    fn flags(self, whole: bool, former: Option<u8>) -> Option<u8> {
        let stored = former.map_or(!whole, |flags| flags & STORED != 0);
        match self {
            Change::Put(_) => Some(DIRTY | if stored { STORED } else { 0 }),
            Change::Delete if stored => Some(ABSENT | DIRTY | STORED),
            Change::Delete if whole => None,
            Change::Delete | Change::Read(None) => Some(ABSENT),
            Change::Read(Some(_)) => Some(STORED),
        }
    }
}

impl Table {
    #[inline(always)]
    fn find_map(&self, key: MapKey<'_>) -> (u32, Option<(u32, Head)>) {
        let hash = self.hash(key.column, key.prefix());
        (hash, self.find(key.column, hash, key.prefix()))
    }

    /// Runs `call` with the key of a row of a large map.
    fn with_row<R>(
        &mut self,
        place: u32,
        key: MapKey<'_>,
        call: impl FnOnce(&mut Self, Key<'_>) -> R,
    ) -> R {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let head = self.arena.head(place);
        bytes.extend_from_slice(&self.arena.value(place, head)[..MAP_NUMBER]);
        bytes.extend_from_slice(key.bytes);
        let result = call(self, Key { column: key.column + 1, bytes: &bytes, own: MAP_NUMBER });
        self.scratch = bytes;
        result
    }

    /// Length of the value, which stands in `page` if it fits; None when absent.
    pub(super) fn get_in_map(&mut self, key: MapKey<'_>, page: &mut [u8]) -> Result<Option<usize>> {
        let (_, found) = self.find_map(key);
        if let Some((place, mut head)) = found {
            self.touch(place, &mut head);
            if head.kind() == Kind::Large {
                return self.with_row(place, key, |table, row| table.get_row(row, page));
            }
            match packed::search(self.arena.value(place, head), key.user()) {
                Ok(row) => {
                    let length = (!row.has(ABSENT)).then(|| deliver(row.value, page));
                    self.counters.hits += 1;
                    return Ok(length);
                }
                Err(_) if head.kind() == Kind::Whole => {
                    self.counters.hits += 1;
                    return Ok(None);
                }
                Err(_) => {}
            }
        }
        self.read_in_map(key, page)
    }

    #[cold]
    fn read_in_map(&mut self, key: MapKey<'_>, page: &mut [u8]) -> Result<Option<usize>> {
        self.counters.misses += 1;
        self.adapt();
        let length = self.column(key.column).read(key.bytes, page)?;
        match length {
            None => self.remember_in_map(key, Change::Read(None)),
            Some(length) if length <= page.len() => {
                self.remember_in_map(key, Change::Read(Some(&page[..length])));
            }
            Some(_) => {}
        }
        Ok(length)
    }

    /// A failure is noted, and is the next writer's; until it is gone no room can be made.
    fn remember_in_map(&mut self, key: MapKey<'_>, read: Change<'_>) {
        let (hash, found) = self.find_map(key);
        if !self.failed && (found.is_some() || self.limit.admits(hash)) {
            let _ = self.change(key, read);
        }
    }

    pub(super) fn contains_in_map(&mut self, key: MapKey<'_>) -> Result<bool> {
        Ok(self.get_in_map(key, &mut [0; MOST_ROW_BYTES])?.is_some())
    }

    pub(super) fn put_in_map(&mut self, key: MapKey<'_>, value: &[u8]) -> Result<()> {
        self.check_writable()?;
        self.change(key, Change::Put(value))?;
        self.settle()
    }

    pub(super) fn delete_in_map(&mut self, key: MapKey<'_>) -> Result<()> {
        self.check_writable()?;
        self.change(key, Change::Delete)?;
        self.settle()
    }

    fn change(&mut self, key: MapKey<'_>, change: Change<'_>) -> Result<()> {
        let row = packed::size(key.user().len(), change.value().len());
        if !self.takes(key.prefix, LARGE_BYTES) {
            return self.change_through(key, change);
        }
        loop {
            let (hash, found) = self.find_map(key);
            let Some((place, mut head)) = found else {
                self.begin_map(key, hash, row)?;
                continue;
            };
            if head.kind() == Kind::Large {
                return self.change_large(key, place, head, change);
            }
            let used = head.value_length as usize;
            let (at, former, flags) =
                match packed::search(self.arena.value(place, head), key.user()) {
                    Ok(row) => (row.at, row.size(), Some(row.flags)),
                    Err(at) => (at, 0, None),
                };
            let flags = change.flags(head.kind() == Kind::Whole, flags);
            if flags.is_some() {
                let needed = used - former + row;
                if row > MOST_ROW_BYTES || needed > self.most_rows_bytes(key.prefix) {
                    self.make_large(key, place, head)?;
                    continue;
                }
                if needed > head.capacity() {
                    self.more_room(
                        place,
                        head,
                        (needed + needed / 2).min(self.most_rows_bytes(key.prefix)),
                    )?;
                    continue;
                }
            }
            self.touch(place, &mut head);
            let room = self.arena.room(place, head);
            let used = match flags {
                Some(flags) => {
                    packed::splice(room, used, at, former, (key.user(), change.value(), flags))
                }
                None => packed::remove(room, used, at, former),
            };
            head.value_length = used as u32;
            if flags.is_some_and(|flags| flags & DIRTY != 0) {
                self.set_dirty(place, head);
            } else {
                self.set_head(place, head);
            }
            return Ok(());
        }
    }

    /// Bytes of all rows of a map that is not large.
    fn most_rows_bytes(&self, prefix: usize) -> usize {
        MOST_ROWS_BYTES.min(self.largest() - size(prefix, 0))
    }

    /// Without a record.
    #[cold]
    fn change_through(&mut self, key: MapKey<'_>, change: Change<'_>) -> Result<()> {
        let column = self.column(key.column);
        let result = match change {
            Change::Put(value) => column.put(key.bytes, value),
            Change::Delete => column.delete(key.bytes),
            Change::Read(_) => return Ok(()),
        };
        self.noted(result)
    }

    /// A record of which nothing is known yet, with room for a row.
    fn begin_map(&mut self, key: MapKey<'_>, hash: u32, row: usize) -> Result<()> {
        let most = self.most_rows_bytes(key.prefix);
        let room = row.clamp(LARGE_BYTES, most.max(LARGE_BYTES));
        if !self.lacks_room(self.queue_of_new(hash), size(key.prefix, room))? {
            let (place, head) = self.insert(key.column, hash, key.prefix(), Kind::Part, &[], room);
            self.set_clean(place, head);
        }
        Ok(())
    }

    /// From now on the rows are records of their own. What is known of them is written and forgotten.
    #[cold]
    fn make_large(&mut self, key: MapKey<'_>, place: u32, head: Head) -> Result<()> {
        if head.is_dirty() {
            self.write_one(place)?;
            return Ok(());
        }
        if head.capacity() < LARGE_BYTES {
            return self.more_room(place, head, LARGE_BYTES);
        }
        let number = self.number_of_map()?;
        let Some((place, mut head)) = self.find_map(key).1 else { return Ok(()) };
        let room = self.arena.room(place, head);
        room[..4].copy_from_slice(&number.to_ne_bytes());
        room[4..8].copy_from_slice(&0u32.to_ne_bytes());
        head.value_length = LARGE_BYTES as u32;
        head.set_kind(Kind::Large);
        self.set_clean(place, head);
        Ok(())
    }

    /// One that no row has.
    fn number_of_map(&mut self) -> Result<u32> {
        if self.next_map == u32::MAX {
            self.flush_all()?;
            for number in (1..self.columns.len()).step_by(2) {
                if self.columns[number].is_some() {
                    self.forget(number as u16);
                }
            }
            self.next_map = 0;
        }
        self.next_map += 1;
        Ok(self.next_map)
    }

    fn change_large(
        &mut self,
        key: MapKey<'_>,
        place: u32,
        mut head: Head,
        change: Change<'_>,
    ) -> Result<()> {
        if !change.is_write() {
            return Ok(());
        }
        self.touch(place, &mut head);
        let done = self.with_row(place, key, |table, row| match change {
            Change::Put(value) => table.put_row(row, value),
            _ => table.delete_row(row),
        });
        // Room may have been made: the map's record may lie elsewhere, or be gone.
        match self.find_map(key).1 {
            Some((place, head)) => {
                let now = self.buffered(key.column + 1).flushes.wrapping_add(1);
                self.arena.room(place, head)[4..8].copy_from_slice(&now.to_ne_bytes());
                done
            }
            None => done.and_then(|()| self.flush_column(key.column)),
        }
    }

    /// Brings what is dirty of a large map into the database.
    fn flush_large(&mut self, column: u16, place: u32, head: Head) -> Result<()> {
        let value = self.arena.value(place, head);
        let written = value.last_chunk().map_or(0, |written| u32::from_ne_bytes(*written));
        if written == self.buffered(column + 1).flushes.wrapping_add(1) {
            self.flush_column(column)?;
        }
        Ok(())
    }

    /// True if the map has a row.
    pub(super) fn has_rows(&mut self, key: MapKey<'_>) -> Result<bool> {
        if let Some((place, mut head)) = self.find_map(key).1 {
            self.touch(place, &mut head);
            let any = self.any_row(place, head);
            if any || head.kind() == Kind::Whole {
                self.counters.hits += 1;
                return Ok(any);
            }
        }
        match self.whole(key)? {
            Some((place, head)) => Ok(self.any_row(place, head)),
            None => self.column(key.column).contains_prefix(key.prefix()),
        }
    }

    /// True if the record of a small map has a row.
    fn any_row(&self, place: u32, head: Head) -> bool {
        head.kind() != Kind::Large
            && packed::rows(self.arena.value(place, head)).any(|row| !row.has(ABSENT))
    }

    /// Deletes all rows of a map.
    pub(super) fn clear_map(&mut self, key: MapKey<'_>) -> Result<()> {
        self.check_writable()?;
        if let Some((place, head)) = self.whole(key)? {
            self.clear_whole(place, head);
            return self.settle();
        }
        // Nothing of it is dirty. Should the deletion stop half-way, nobody knows which rows are left.
        if let Some((place, head)) = self.find_map(key).1 {
            self.discard(place, head);
        }
        let result = self.column(key.column).delete_prefix(key.prefix());
        self.noted(result)?;
        let _ = self.know_all(key, &[]);
        Ok(())
    }

    fn clear_whole(&mut self, place: u32, mut head: Head) {
        let used = head.value_length as usize;
        let room = self.arena.room(place, head);
        let left = packed::retain(room, used, |flags| {
            (flags & STORED != 0).then_some(ABSENT | DIRTY | STORED)
        });
        head.value_length = left as u32;
        if left == 0 {
            self.set_clean(place, head);
        } else {
            self.set_dirty(place, head);
        }
    }

    /// Fills a page with rows of a map, see `Column::scan`.
    pub(super) fn scan_map(
        &mut self,
        key: MapKey<'_>,
        after: bool,
        max: usize,
        page: &mut [u8],
    ) -> Result<Fill> {
        match self.whole(key)? {
            Some((place, head)) => self.fill(key, after, max, page, place, head),
            None => self.column(key.column).scan(key.bytes, key.prefix, after, max, page),
        }
    }

    fn fill(
        &self,
        key: MapKey<'_>,
        after: bool,
        max: usize,
        page: &mut [u8],
        place: u32,
        head: Head,
    ) -> Result<Fill> {
        let mut entries = Entries::new(page);
        let mut rows = packed::rows(self.arena.value(place, head)).filter(|row| {
            !row.has(ABSENT) && (row.key > key.user() || !after && row.key == key.user())
        });
        while entries.count() < max {
            let Some(row) = rows.next() else { return Ok(entries.finish(false)) };
            if !entries.add([key.prefix(), row.key], row.value) {
                return entries.full(key.prefix + row.key.len(), row.value.len(), key.bytes);
            }
        }
        Ok(entries.finish(rows.next().is_some()))
    }

    /// The record that has all rows of a small map. None: the map is large, or no record can be had, and
    /// the database knows all that is known of it.
    fn whole(&mut self, key: MapKey<'_>) -> Result<Option<(u32, Head)>> {
        match self.find_map(key).1 {
            Some((place, mut head)) if head.kind() == Kind::Whole => {
                self.touch(place, &mut head);
                self.counters.hits += 1;
                return Ok(Some((place, head)));
            }
            Some((place, mut head)) if head.kind() == Kind::Large => {
                self.touch(place, &mut head);
                self.counters.misses += 1;
                self.flush_large(key.column, place, head)?;
                return Ok(None);
            }
            _ => {}
        }
        self.counters.misses += 1;
        self.adapt();
        // After a failure rows of what was a large map may wait that are found through no record.
        if !self.failed && self.takes(key.prefix, LARGE_BYTES) && self.read_all(key)? {
            match self.find_map(key).1 {
                Some((place, head)) if head.kind() == Kind::Whole => {
                    return Ok(Some((place, head)))
                }
                _ => {}
            }
        }
        self.give_up(key)
    }

    /// Makes a map a large one, of which nothing is dirty.
    #[cold]
    fn give_up(&mut self, key: MapKey<'_>) -> Result<Option<(u32, Head)>> {
        match self.find_map(key).1 {
            Some((place, head)) if head.kind() == Kind::Large => {
                self.flush_large(key.column, place, head)?;
            }
            Some((place, head)) if head.is_dirty() => self.write_one(place)?,
            _ => {}
        }
        if self.takes(key.prefix, LARGE_BYTES) && !self.failed {
            let _ = self.know_large(key);
        }
        Ok(None)
    }

    /// Reads all rows of a map and adds what is known of it. False: they are too many for one record.
    fn read_all(&mut self, key: MapKey<'_>) -> Result<bool> {
        let most = self.most_rows_bytes(key.prefix);
        let mut stored = std::mem::take(&mut self.scratch);
        stored.clear();
        let is_small = read_rows(self, key, most, &mut stored);
        let done = match (&is_small, self.find_map(key).1) {
            (Ok(true), Some((place, head))) => {
                let all = packed::overlay(&stored, self.arena.value(place, head));
                all.len() <= most && self.know_all(key, &all).is_ok()
            }
            (Ok(true), None) => self.know_all(key, &stored).is_ok(),
            _ => false,
        };
        self.scratch = stored;
        is_small.map(|_| done)
    }

    /// These are all rows of a map.
    fn know_all(&mut self, key: MapKey<'_>, rows: &[u8]) -> Result<()> {
        if !self.takes(key.prefix, rows.len().max(LARGE_BYTES)) {
            return Ok(());
        }
        let flushes = self.counters.flushes;
        loop {
            let (hash, found) = self.find_map(key);
            let Some((place, mut head)) = found else {
                self.begin_map(key, hash, rows.len())?;
                continue;
            };
            if rows.len() > head.capacity() {
                self.more_room(place, head, rows.len())?;
                continue;
            }
            let room = self.arena.room(place, head);
            room[..rows.len()].copy_from_slice(rows);
            if self.counters.flushes != flushes {
                // For room: the database may have got since what it lacked when the rows were read.
                packed::retain(room, rows.len(), |flags| {
                    Some(if flags & DIRTY == 0 { flags } else { flags | STORED })
                });
            }
            head.value_length = rows.len() as u32;
            head.set_kind(Kind::Whole);
            if packed::rows(rows).any(|row| row.has(DIRTY)) {
                self.set_dirty(place, head);
            } else {
                self.set_clean(place, head);
            }
            return Ok(());
        }
    }

    fn know_large(&mut self, key: MapKey<'_>) -> Result<()> {
        loop {
            let (hash, found) = self.find_map(key);
            match found {
                None => self.begin_map(key, hash, LARGE_BYTES)?,
                Some((_, head)) if head.kind() == Kind::Large => return Ok(()),
                Some((place, head)) => self.make_large(key, place, head)?,
            }
        }
    }
}

/// Appends the rows of a map, as records have them. False if they are too many, or too large.
fn read_rows(table: &Table, key: MapKey<'_>, most: usize, packed: &mut Vec<u8>) -> Result<bool> {
    let mut rows = table.column(key.column).iterate(key.prefix())?;
    rows.seek(key.prefix());
    while let Some((row, value)) = rows.item() {
        let user = &row[key.prefix..];
        let at = packed.len();
        let size = packed::size(user.len(), value.len());
        if size > MOST_ROW_BYTES || at + size > most {
            return Ok(false);
        }
        packed.resize(at + size, 0);
        packed::splice(packed, at, at, 0, (user, value, STORED));
        rows.next();
    }
    rows.status().map_err(|e| table.column(key.column).failure("scan", &e))?;
    Ok(true)
}
