//! Whether a snapshot's shared files are missing because its directory was moved or copied: their paths are
//! absolute. Looks for one of them where it would be then.
use crate::store::{Location, Stores};

/// How far above a file, and above the checkpoint, the two places may part.
const LEVELS: usize = 4;

/// `missing`: all files that do not lie in the snapshot's own directory.
pub async fn hint(stores: &Stores, snapshot: &Location, missing: &[&Location]) -> Option<String> {
    let common = common(missing)?;
    let text = format!("hint: all {} shared files are missing, all under {common}", missing.len());
    if stores.maps() {
        return Some(format!("{text}: does --map say where they are now?"));
    }
    Some(match place(stores, snapshot, &common, missing).await {
        Some((from, to)) => {
            format!("{text}, and lie under {to}: the directory was moved or copied. Add --map {from}={to}")
        }
        None => format!(
            "{text}: if the directory was moved or copied, say where it is now: --map {common}=<directory>"
        ),
    })
}

/// `away`: as `missing` above, but all of them are there. Whether they are the originals of copies that lie
/// with the snapshot, and that nobody has looked at.
pub async fn copied(stores: &Stores, snapshot: &Location, away: &[&Location]) -> Option<String> {
    let job = snapshot.parent()?;
    if stores.maps() || away.iter().any(|file| file.below(&job).is_some()) {
        return None;
    }
    let (from, to) = place(stores, snapshot, &common(away)?, away).await?;
    Some(format!(
        "hint: the {} shared files that were looked at lie under {from}, as the snapshot says; those under {to} were \
         not. If this is a copy, look at it with --map {from}={to}",
        away.len()
    ))
}

/// Directories that stand for one another.
async fn place(
    stores: &Stores,
    snapshot: &Location,
    common: &Location,
    missing: &[&Location],
) -> Option<(Location, Location)> {
    let (first, last) = (missing.first()?, missing.last()?);
    for from in above(common.clone()) {
        for to in above(snapshot.parent()?) {
            if to == from {
                continue;
            }
            let moved = |file: &Location| Some(to.join(file.below(&from)?));
            let found = stores.size(&moved(first)?).await.is_ok_and(|size| size.is_some())
                && stores.size(&moved(last)?).await.is_ok_and(|size| size.is_some());
            if found {
                return Some((from, to));
            }
        }
    }
    None
}

fn above(location: Location) -> impl Iterator<Item = Location> {
    std::iter::successors(Some(location), Location::parent).take(LEVELS)
}

/// The directory that all of them lie in; none, where it is that of everything.
fn common(files: &[&Location]) -> Option<Location> {
    let mut common = files.first()?.parent()?;
    for file in files {
        while file.below(&common).is_none() {
            common = common.parent()?;
        }
    }
    (!common.key().is_empty()).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_directory() {
        let location = |text: &str| Location::parse(text).expect("a location");
        let of = |files: &[&str]| {
            let files: Vec<_> = files.iter().map(|file| location(file)).collect();
            common(&files.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(&["/c/job/shared/a"]), Some(location("/c/job/shared")));
        assert_eq!(of(&["/c/job/shared/a", "/c/job2/shared/a"]), Some(location("/c")));
        assert_eq!(of(&["/c/a", "/d/a"]), None);
        assert_eq!(of(&["s3://b/c/a", "s3://d/c/a"]), None);
        assert_eq!(of(&["s3://b/c/a", "s3://b/c/x/a"]), Some(location("s3://b/c")));
    }
}
