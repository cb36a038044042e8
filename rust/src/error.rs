//! All causes of failure inside, few kinds outside. Which Java exception a kind becomes is decided in
//! `jni/guard.rs`, not here.
use std::path::Path;

/// What a caller can act on. Never match on the text of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A wrong argument or option value: the caller must change it.
    Invalid,
    /// Use after close, or a handle that is none.
    Closed,
    /// The caller asked to stop.
    Cancelled,
    /// Disk or store could not be read or written.
    Io,
    /// A file or object that should be there is not, or is shorter than recorded.
    Missing,
    /// Bytes do not say what they should.
    Corrupted,
    /// No space left, or a quota.
    Full,
    /// Too large for the JVM (2 GiB) or for RocksDB (4 GiB).
    TooLarge,
    /// A panic: the library is at fault.
    Panic,
}

/// A kind and a text that names the state, file, URI and step.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    pub kind: Kind,
    pub text: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, text)
    }

    pub fn closed(text: impl Into<String>) -> Self {
        Self::new(Kind::Closed, text)
    }

    pub fn cancelled(step: &str) -> Self {
        Self::new(Kind::Cancelled, format!("{step} was cancelled"))
    }

    /// An I/O failure on a path. `step` says what was being done, as in "create the directory".
    pub fn io(step: &str, path: &Path, cause: &std::io::Error) -> Self {
        let kind = match cause.kind() {
            std::io::ErrorKind::NotFound => Kind::Missing,
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::FileTooLarge => Kind::Full,
            _ => Kind::Io,
        };
        Self::new(kind, format!("cannot {step} {}: {cause}", path.display()))
    }

    /// A failure that RocksDB reported. `step` names what was being done and to what.
    pub fn rocksdb(step: &str, cause: &rocksdb::Error) -> Self {
        Self::rocksdb_text(step, cause.as_ref())
    }

    /// As [`Error::rocksdb`], from the text that RocksDB's C API gives: its first words are the code.
    pub fn rocksdb_text(step: &str, text: &str) -> Self {
        let code = text.split(':').next().unwrap_or_default();
        let kind = match code {
            "Corruption" => Kind::Corrupted,
            "Invalid argument" | "Not implemented" => Kind::Invalid,
            "NotFound" => Kind::Missing,
            "Shutdown in progress" => Kind::Closed,
            _ if text.contains("No space left") || text.contains("quota exceeded") => Kind::Full,
            _ if text.contains("No such file") => Kind::Missing,
            _ => Kind::Io,
        };
        Self::new(kind, format!("{step}: {text}"))
    }

    /// The same failure with a further sentence in front of it.
    #[must_use]
    pub fn context(mut self, step: impl AsRef<str>) -> Self {
        self.text = format!("{}: {}", step.as_ref(), self.text);
        self
    }
}

/// Bytes of a checkpoint that do not say what they should; the caller adds of which file.
impl From<ferrostate_formats::Malformed> for Error {
    fn from(cause: ferrostate_formats::Malformed) -> Self {
        Self::new(Kind::Corrupted, cause.to_string())
    }
}
