//! Why a command ends early, and the exit code that says so.
use std::fmt;

/// Exit codes.
pub const UNABLE: u8 = 1;
pub const NO_METADATA: u8 = 2;
pub const MISSING: u8 = 3;
pub const CORRUPT: u8 = 4;
pub const USAGE: u8 = 64;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    pub code: u8,
    pub text: String,
}

pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(code: u8, text: impl fmt::Display) -> Self {
        Self { code, text: text.to_string() }
    }

    pub fn unable(text: impl fmt::Display) -> Self {
        Self::new(UNABLE, text)
    }

    /// The same failure with a further sentence in front of it.
    #[must_use]
    pub fn context(mut self, step: impl fmt::Display) -> Self {
        self.text = format!("{step}: {}", self.text);
        self
    }
}
