//! Since which retained checkpoint a file is in use without a gap.
use std::collections::{BTreeMap, HashSet};

use super::File;
use crate::find::checkpoints;
use crate::snapshot::{Place, Snapshot};
use crate::store::{Location, Stores};

/// `has` and `all` are ids in the order of the checkpoints.
pub fn since(has: &[i64], all: &[i64]) -> i64 {
    let last = has.last().copied().unwrap_or_default();
    let back = all.iter().rev().skip_while(|id| **id != last);
    back.take_while(|id| has.contains(id)).last().copied().unwrap_or(last)
}

/// Of the files of a single checkpoint: goes back through those that the job retains before it, as far as any
/// of the files does. One that cannot be read ends it.
pub async fn go_back(stores: &Stores, snapshot: &Location, files: &mut BTreeMap<Location, File>) {
    let id = |name: &str| name.strip_prefix("chk-").and_then(|id| id.parse::<u64>().ok());
    let (Some(this), Some(job)) = (id(snapshot.name()), snapshot.parent()) else { return };
    let retained = checkpoints(stores, &job).await.unwrap_or_default();
    let older = retained.iter().rev().filter(|other| other.complete && other.id < this);
    let mut left: HashSet<Location> = files.keys().cloned().collect();
    for checkpoint in older {
        let Ok(read) = Snapshot::read(stores, checkpoint.directory.clone()).await else { return };
        let has = places(stores, &read);
        left.retain(|location| has.contains(location));
        if left.is_empty() {
            return;
        }
        for location in &left {
            if let Some(file) = files.get_mut(location) {
                file.since = read.metadata.checkpoint_id;
            }
        }
    }
}

fn places(stores: &Stores, snapshot: &Snapshot) -> HashSet<Location> {
    let references = snapshot.metadata.references();
    let places = references.iter().filter_map(|r| snapshot.place(stores, r.stream).ok());
    let files = places.filter_map(|place| match place {
        Place::File { location, .. } => Some(location),
        Place::Inline(_) | Place::Nowhere => None,
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn since_is_without_a_gap() {
        assert_eq!(since(&[1, 2, 3], &[1, 2, 3]), 1);
        assert_eq!(since(&[1, 3], &[1, 2, 3]), 3);
        assert_eq!(since(&[1, 2], &[1, 2, 3]), 1);
    }
}
