//! What is wrong with bytes, and where. Which file they are of, the caller adds.

/// The first thing in an input that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {field}: {what}")]
pub struct Malformed {
    /// In the input that was handed to the reader.
    pub offset: u64,
    /// The field being read, as in "operators[3].subtasks[0].managed keyed state".
    pub field: String,
    pub what: String,
}

pub type Result<T> = std::result::Result<T, Malformed>;

impl Malformed {
    pub fn new(offset: usize, field: impl Into<String>, what: impl Into<String>) -> Self {
        Self { offset: offset as u64, field: field.into(), what: what.into() }
    }

    /// The same, in something that is itself a field: "inner" becomes "outer.inner".
    #[must_use]
    pub fn within(mut self, outer: impl AsRef<str>) -> Self {
        let outer = outer.as_ref();
        self.field = match self.field.as_str() {
            "" => outer.to_owned(),
            inner => format!("{outer}.{inner}"),
        };
        self
    }
}

/// Names the field of an error, at no cost where there is none.
pub trait Within<T> {
    fn within(self, outer: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Within<T> for Result<T> {
    fn within(self, outer: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.within(outer()))
    }
}
