//! A state's time to live: the rule by which compactions drop what has expired, as Java registers it.
//! When something has expired is the filter's business (`db`), what time it is the clock's.
use super::State;
use crate::db::{TtlKind, TtlRule};
use crate::error::{Error, Result};

impl State {
    /// Compactions that begin from now on go by `rule`; `None` for `compact_every` leaves it as it is.
    pub fn expire_by(&self, rule: &TtlRule, compact_every: Option<u64>) -> Result<()> {
        if let Some(seconds) = compact_every {
            self.column().compact_every(seconds).map_err(|e| self.refused(e))?;
        }
        self.column().expire_by(rule).map_err(|e| self.refused(e))
    }

    #[cold]
    fn refused(&self, cause: Error) -> Error {
        cause.context(format!(
            "cannot set the time to live of state '{}' (its former rule stays)",
            self.column().name()
        ))
    }
}

/// The number that Java has for a kind.
pub fn kind(number: i32) -> Result<TtlKind> {
    [TtlKind::Disabled, TtlKind::Value, TtlKind::Map, TtlKind::List]
        .into_iter()
        .find(|kind| *kind as i32 == number)
        .ok_or_else(|| Error::invalid(format!("kind {number} of a state with a time to live")))
}
