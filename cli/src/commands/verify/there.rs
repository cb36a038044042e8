//! How large files are, asked with few requests: where many are of one directory, it is listed.
use std::collections::{BTreeMap, HashMap};

use futures::stream::{self, StreamExt};

use crate::failure::Result;
use crate::store::{Location, Stores};

/// From so many files of one directory on, it is listed rather than asked for each.
const WORTH_A_LISTING: usize = 16;
/// A page of a listing has a thousand, and pages come one after the other: a directory with many more files
/// than are wanted is not listed to its end.
const PAGE: usize = 1000;
const TOO_MANY: usize = 8;

pub type Sizes = HashMap<Location, Result<Option<u64>>>;

pub async fn sizes(stores: &Stores, wanted: &[&Location], bar: &indicatif::ProgressBar) -> Sizes {
    let mut by_directory: BTreeMap<Option<Location>, Vec<&Location>> = BTreeMap::new();
    for location in wanted.iter().copied() {
        by_directory.entry(location.parent()).or_default().push(location);
    }
    let groups = stream::iter(by_directory).map(|(directory, locations)| async move {
        let sizes = match directory {
            Some(directory) if locations.len() >= WORTH_A_LISTING => {
                from_listing(stores, &directory, &locations).await
            }
            _ => one_by_one(stores, &locations).await,
        };
        bar.inc(sizes.len() as u64);
        sizes
    });
    groups.buffer_unordered(stores.concurrency).concat().await.into_iter().collect()
}

type Found = Vec<(Location, Result<Option<u64>>)>;

async fn from_listing(stores: &Stores, directory: &Location, wanted: &[&Location]) -> Found {
    let most = PAGE.max(wanted.len().saturating_mul(TOO_MANY));
    // It may be allowed to read files, but not to list them.
    let Ok(entries) = stores.list_most(directory, most).await else {
        return one_by_one(stores, wanted).await;
    };
    let all = entries.len() < most;
    let sizes: HashMap<_, _> =
        entries.into_iter().map(|entry| (entry.location, entry.size)).collect();
    let (listed, left): (Vec<_>, Vec<_>) =
        wanted.iter().copied().partition(|location| all || sizes.contains_key(*location));
    let known = |location: &Location| (location.clone(), Ok(sizes.get(location).copied()));
    let mut found: Found = listed.into_iter().map(known).collect();
    found.extend(one_by_one(stores, &left).await);
    found
}

async fn one_by_one(stores: &Stores, wanted: &[&Location]) -> Found {
    let sizes = stream::iter(wanted)
        .map(|location| async move { ((*location).clone(), stores.size(location).await) });
    sizes.buffer_unordered(stores.concurrency).collect().await
}
