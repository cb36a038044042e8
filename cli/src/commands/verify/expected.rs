//! Which files a snapshot needs, how long, for whom; and what is wrong with what was found instead.
use std::collections::{BTreeMap, HashMap};

use ferrostate_formats::metadata::Role;

use super::Finding;
use crate::databases::Databases;
use crate::deep;
use crate::failure::{Result, CORRUPT, MISSING, UNABLE};
use crate::snapshot::{Place, Snapshot};
use crate::store::{Location, Stores};

/// How long a file must be.
#[derive(Debug, Default)]
pub struct Expected {
    pub at_least: u64,
    /// Where a handle stands for the whole file.
    exactly: Option<u64>,
}

pub fn expected(
    stores: &Stores,
    snapshot: &Snapshot,
    findings: &mut Vec<Finding>,
) -> Result<BTreeMap<Location, Expected>> {
    let mut files: BTreeMap<Location, Expected> = BTreeMap::new();
    for reference in snapshot.metadata.references() {
        let place = match snapshot.place(stores, reference.stream) {
            Ok(place) => place,
            Err(failure) => {
                let owners = vec![deep::owner(&reference, None)];
                findings.push(Finding::of(failure, snapshot.directory.to_string(), owners));
                continue;
            }
        };
        let Place::File { location, start, size, part } = place else { continue };
        let file = files.entry(location).or_default();
        file.at_least = file.at_least.max(start.saturating_add(size));
        // Flink's changelog counts a byte less than its files have.
        if !part && reference.role != Role::Changelog {
            file.exactly = Some(file.exactly.map_or(size, |known| known.max(size)));
        }
    }
    Ok(files)
}

/// Who refers to the files that something is wrong with; of each a few.
pub fn owners(
    stores: &Stores,
    snapshot: &Snapshot,
    databases: &Databases,
    wrong: &HashMap<&Location, (u8, String)>,
) -> HashMap<Location, Vec<String>> {
    const MOST: usize = 4;
    let mut owners: HashMap<Location, Vec<String>> = HashMap::new();
    if wrong.is_empty() {
        return owners;
    }
    for reference in snapshot.metadata.references() {
        let Ok(Place::File { location, .. }) = snapshot.place(stores, reference.stream) else {
            continue;
        };
        if wrong.contains_key(&location) {
            let of_file = owners.entry(location).or_default();
            if of_file.len() < MOST {
                let database = reference.database.and_then(|handle| databases.of(handle));
                of_file.push(deep::owner(&reference, database));
            }
        }
    }
    owners
}

/// The exit code, and what is wrong.
pub fn compare(expected: &Expected, found: Option<&Result<Option<u64>>>) -> Option<(u8, String)> {
    Some(match found {
        None | Some(Ok(None)) => (MISSING, format!("missing, {} bytes", expected.at_least)),
        Some(Err(failure)) => (failure.code.max(UNABLE), failure.text.clone()),
        Some(Ok(Some(size))) if *size < expected.at_least => {
            (MISSING, format!("short: {size} of {} bytes", expected.at_least))
        }
        Some(Ok(Some(size))) if expected.exactly.is_some_and(|exactly| *size > exactly) => {
            (CORRUPT, format!("long: {size} instead of {} bytes", expected.at_least))
        }
        Some(Ok(Some(_))) => return None,
    })
}
