//! Whether database files and a list of states are of one snapshot. Pure.
use std::collections::BTreeSet;

use crate::error::{Error, Kind, Result};

/// Each state has a column family, which holds its data, and each column family but "default" is a
/// state's: nobody would read or delete another one.
pub fn check<'a>(columns: impl IntoIterator<Item = &'a str>, states: &[String]) -> Result<()> {
    let mut without_state: BTreeSet<&str> = columns.into_iter().collect();
    without_state.remove("default");
    let damaged = |text: String| Err(Error::new(Kind::Corrupted, text));
    for state in states {
        if !without_state.remove(state.as_str()) {
            return damaged(format!(
                "the meta file lists the state '{state}', but the database files have no column \
                 family for it"
            ));
        }
    }
    match without_state.first() {
        None => Ok(()),
        Some(column) => damaged(format!(
            "the database files have a column family '{column}', but the meta file lists no such \
             state"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn what_one_side_lacks_is_named() {
        let states = ["a".to_owned(), "b".to_owned()];
        check(["default", "b", "a"], &states).expect("complete");
        check(["a", "b"], &states).expect("complete");
        for (columns, named) in [(&["a"][..], "'b'"), (&["a", "b", "c"], "'c'"), (&[], "'a'")] {
            let error = check(columns.iter().copied(), &states).expect_err("not complete");
            assert!(error.text.contains(named), "{error}");
        }
        let twice = ["a".to_owned(), "a".to_owned()];
        assert!(check(["a"], &twice).expect_err("listed twice").text.contains("'a'"));
    }
}
