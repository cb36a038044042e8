//! Stands in for the library's error.rs, which knows RocksDB: as much of it as the door's sources use.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Invalid,
    Closed,
    TooLarge,
    Panic,
}

#[derive(Debug, Clone)]
pub(crate) struct Error {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, text)
    }

    pub(crate) fn closed(text: impl Into<String>) -> Self {
        Self::new(Kind::Closed, text)
    }
}
