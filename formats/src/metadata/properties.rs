//! The end of `_metadata` from version 4 on: Flink's `CheckpointProperties`, as Java serializes objects. Of
//! interest are what kind of snapshot it is and that nothing is cut off.
use super::input::Input;
use crate::Result;

/// Why the snapshot was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotKind {
    Checkpoint,
    /// A checkpoint that uploads everything.
    FullCheckpoint,
    CanonicalSavepoint,
    NativeSavepoint,
    Savepoint,
}

impl SnapshotKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::FullCheckpoint => "full checkpoint",
            Self::CanonicalSavepoint => "canonical savepoint",
            Self::NativeSavepoint => "native savepoint",
            Self::Savepoint => "savepoint",
        }
    }
}

/// Of the serialization protocol of Java's objects.
mod tc {
    pub const NULL: u8 = 0x70;
    pub const REFERENCE: u8 = 0x71;
    pub const CLASS: u8 = 0x72;
    pub const OBJECT: u8 = 0x73;
    pub const STRING: u8 = 0x74;
    pub const BLOCK: u8 = 0x77;
    pub const END: u8 = 0x78;
    pub const ENUM: u8 = 0x7e;
    pub const FIRST_REFERENCE: i32 = 0x7e_0000;
    pub const STREAM: i32 = 0xaced_0005_u32 as i32;
    pub const HAS_WRITER: u8 = 1;
}

const DEEPEST: u32 = 24;

/// `at` is where `bytes` begin in the whole.
pub fn read(bytes: &[u8], at: usize) -> Result<SnapshotKind> {
    let mut walk =
        Walk { input: Input::new(bytes), classes: Vec::new(), known: Vec::new(), said: Vec::new() };
    let result = walk.whole();
    let said = |text: &str| walk.said.iter().any(|said| said.ends_with(text));
    result.map_err(|mut error| {
        error.offset += at as u64;
        error.within("checkpoint properties")
    })?;
    Ok(match (said("SavepointType") || said("SAVEPOINT"), said("CANONICAL"), said("NATIVE")) {
        (true, true, false) => SnapshotKind::CanonicalSavepoint,
        (true, false, true) => SnapshotKind::NativeSavepoint,
        (true, ..) => SnapshotKind::Savepoint,
        _ if said("FORWARD") => SnapshotKind::FullCheckpoint,
        _ => SnapshotKind::Checkpoint,
    })
}

/// What a number in the stream refers back to.
#[derive(Clone, Copy)]
enum Known {
    Class(usize),
    Other,
}

struct Class {
    flags: u8,
    fields: Vec<u8>,
    parent: Option<usize>,
}

struct Walk<'a> {
    input: Input<'a>,
    classes: Vec<Class>,
    known: Vec<Known>,
    /// Classes of objects and constants of enumerations.
    said: Vec<String>,
}

impl Walk<'_> {
    fn whole(&mut self) -> Result<()> {
        let at = self.input.at();
        if self.input.i32("begin")? != tc::STREAM {
            return Err(self.input.wrong(at, "begin", "not a serialized object of Java"));
        }
        self.content(0)
    }

    fn content(&mut self, depth: u32) -> Result<()> {
        let at = self.input.at();
        let code = self.input.u8("type")?;
        if depth > DEEPEST {
            return Err(self.input.wrong(at, "type", "nested too deeply"));
        }
        match code {
            tc::NULL => Ok(()),
            tc::REFERENCE => self.reference().map(drop),
            tc::STRING => {
                self.input.utf("string")?;
                self.known.push(Known::Other);
                Ok(())
            }
            tc::ENUM => {
                self.class(depth + 1)?;
                self.known.push(Known::Other);
                self.constant()
            }
            tc::OBJECT => {
                let class = self.class(depth + 1)?;
                self.known.push(Known::Other);
                self.values(class, depth)
            }
            _ => Err(self.input.wrong(at, "type", format!("{code:#x}, unexpected here"))),
        }
    }

    fn constant(&mut self) -> Result<()> {
        let at = self.input.at();
        match self.input.u8("constant")? {
            tc::STRING => {
                let name = self.input.utf("constant")?;
                self.known.push(Known::Other);
                self.said.push(name);
                Ok(())
            }
            tc::REFERENCE => self.reference().map(drop),
            code => Err(self.input.wrong(at, "constant", format!("{code:#x}, unexpected here"))),
        }
    }

    fn reference(&mut self) -> Result<Known> {
        let at = self.input.at();
        let index = self.input.i32("reference")?.wrapping_sub(tc::FIRST_REFERENCE);
        let known = usize::try_from(index).ok().and_then(|index| self.known.get(index)).copied();
        known.ok_or_else(|| self.input.wrong(at, "reference", "to what has not been"))
    }

    /// The description of a class; None: null.
    fn class(&mut self, depth: u32) -> Result<Option<usize>> {
        let at = self.input.at();
        let code = self.input.u8("class")?;
        if depth > DEEPEST {
            return Err(self.input.wrong(at, "class", "nested too deeply"));
        }
        match code {
            tc::NULL => return Ok(None),
            tc::REFERENCE => {
                return match self.reference()? {
                    Known::Class(class) => Ok(Some(class)),
                    Known::Other => Err(self.input.wrong(at, "class", "a reference to no class")),
                }
            }
            tc::CLASS => {}
            _ => return Err(self.input.wrong(at, "class", format!("{code:#x}, unexpected here"))),
        }
        let name = self.input.utf("class name")?;
        self.said.push(name);
        self.input.i64("serialVersionUID")?;
        let flags = self.input.u8("class flags")?;
        let class = self.classes.len();
        self.classes.push(Class { flags, fields: Vec::new(), parent: None });
        self.known.push(Known::Class(class));
        for _ in 0..self.input.u16("number of fields")? {
            let kind = self.input.u8("field type")?;
            self.input.utf("field name")?;
            if matches!(kind, b'L' | b'[') {
                self.content(depth + 1)?;
            }
            self.classes[class].fields.push(kind);
        }
        self.annotation()?;
        let parent = self.class(depth + 1)?;
        self.classes[class].parent = parent;
        Ok(Some(class))
    }

    /// What a class itself has written, up to its end.
    fn annotation(&mut self) -> Result<()> {
        loop {
            let at = self.input.at();
            match self.input.u8("annotation")? {
                tc::END => return Ok(()),
                tc::BLOCK => {
                    let length = self.input.u8("block length")?;
                    self.input.take(usize::from(length), "block")?;
                }
                code => {
                    let text = format!("{code:#x}, unexpected here");
                    return Err(self.input.wrong(at, "annotation", text));
                }
            }
        }
    }

    /// The fields of an object: the outermost parent's first.
    fn values(&mut self, class: Option<usize>, depth: u32) -> Result<()> {
        let mut line = Vec::new();
        let mut next = class;
        while let Some(class) = next.filter(|_| line.len() < DEEPEST as usize) {
            line.push(class);
            next = self.classes[class].parent;
        }
        for class in line.into_iter().rev() {
            for at in 0..self.classes[class].fields.len() {
                match self.classes[class].fields[at] {
                    b'B' | b'Z' => self.input.take(1, "field")?,
                    b'C' | b'S' => self.input.take(2, "field")?,
                    b'I' | b'F' => self.input.take(4, "field")?,
                    b'J' | b'D' => self.input.take(8, "field")?,
                    _ => {
                        self.content(depth + 1)?;
                        0..0
                    }
                };
            }
            if self.classes[class].flags & tc::HAS_WRITER != 0 {
                self.annotation()?;
            }
        }
        Ok(())
    }
}
