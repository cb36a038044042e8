//! What a record is: a header, the bytes of the key, the bytes of what is known of it.

/// Bytes of a header.
pub(super) const HEADER: usize = 16;

/// Longest key that is buffered.
pub(super) const LONGEST_KEY: usize = u16::MAX as usize - 8;

/// What is known of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// There is no value.
    Absent = 0,
    /// The value.
    Value = 1,
    /// The value, behind the length (u32) of its front that the database has.
    Appended = 2,
    /// What is appended to a value that is not known.
    Operands = 3,
    /// Rows of a map: some of them.
    Part = 4,
    /// Rows of a map: all there are.
    Whole = 5,
    /// A map too large for one record: the number under which its rows are found, and when one of
    /// them was written last (u32 each).
    Large = 6,
    /// No record any more.
    Dead = 7,
}

impl Kind {
    #[inline]
    fn of(bits: u8) -> Self {
        match bits & KIND {
            0 => Self::Absent,
            1 => Self::Value,
            2 => Self::Appended,
            3 => Self::Operands,
            4 => Self::Part,
            5 => Self::Whole,
            6 => Self::Large,
            _ => Self::Dead,
        }
    }
}

const KIND: u8 = 7;
/// The database lacks what the record says.
const DIRTY: u8 = 1 << 3;
/// The database may have a value of this key.
const STORED: u8 = 1 << 4;
/// How often it was used since somebody looked, up to 3.
const USES_SHIFT: u8 = 5;

/// A header, unpacked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// Eight bytes each, header included.
    pub(super) words: u32,
    pub(super) flags: u8,
    pub(super) hash: u32,
    pub(super) value_length: u32,
    pub(super) key_length: u16,
    pub(super) column: u16,
}

impl Head {
    #[inline]
    pub(super) fn unpack(bytes: [u64; 2]) -> Self {
        Self {
            words: bytes[0] as u32 & 0x00FF_FFFF,
            flags: (bytes[0] >> 24) as u8,
            hash: (bytes[0] >> 32) as u32,
            value_length: bytes[1] as u32,
            key_length: (bytes[1] >> 32) as u16,
            column: (bytes[1] >> 48) as u16,
        }
    }

    #[inline]
    pub(super) fn pack(self) -> [u64; 2] {
        [
            u64::from(self.words) | u64::from(self.flags) << 24 | u64::from(self.hash) << 32,
            u64::from(self.value_length)
                | u64::from(self.key_length) << 32
                | u64::from(self.column) << 48,
        ]
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        Kind::of(self.flags)
    }

    #[inline]
    pub(super) fn set_kind(&mut self, kind: Kind) {
        self.flags = self.flags & !KIND | kind as u8;
    }

    #[inline]
    pub(super) fn is_dirty(self) -> bool {
        self.flags & DIRTY != 0
    }

    #[inline]
    pub(super) fn is_stored(self) -> bool {
        self.flags & STORED != 0
    }

    pub(super) fn set_dirty(&mut self, dirty: bool) {
        self.flags = self.flags & !DIRTY | if dirty { DIRTY } else { 0 };
    }

    pub(super) fn set_stored(&mut self, stored: bool) {
        self.flags = self.flags & !STORED | if stored { STORED } else { 0 };
    }

    #[inline]
    pub(super) fn uses(self) -> u8 {
        self.flags >> USES_SHIFT & 3
    }

    #[inline]
    pub(super) fn set_uses(&mut self, uses: u8) {
        self.flags = self.flags & !(3 << USES_SHIFT) | uses << USES_SHIFT;
    }

    /// Bytes of the record.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        self.words as usize * 8
    }

    /// Gives up room when most of it is unused.
    pub(super) fn trim(&mut self) {
        let needed = size(self.key_length.into(), self.value_length as usize);
        if needed * 2 < self.bytes() {
            self.words = (needed / 8) as u32;
        }
    }

    /// Bytes that a flush writes, about: not the room that is unused.
    #[inline]
    pub(super) fn dirty_bytes(self) -> usize {
        if self.is_dirty() {
            HEADER + usize::from(self.key_length) + self.value_length as usize
        } else {
            0
        }
    }

    /// Bytes that there is room for behind the key.
    #[inline]
    pub(super) fn capacity(self) -> usize {
        self.bytes() - HEADER - usize::from(self.key_length)
    }
}

/// Bytes of a record with such a key and room for so much behind it.
#[inline]
pub(super) fn size(key: usize, room: usize) -> usize {
    (HEADER + key + room).next_multiple_of(8)
}
