//! What `verify --deep` reads: CURRENT, MANIFEST and the blocks of the table files of each database.
use std::collections::{BTreeSet, HashMap, HashSet};

use ferrostate_formats::metadata::{Incremental, Reference};
use ferrostate_formats::{sst, Malformed};
use futures::stream::{self, StreamExt};

use crate::commands::verify::Finding;
use crate::databases::{self, Database, Databases};
use crate::failure::{Failure, CORRUPT};
use crate::progress;
use crate::snapshot::{Place, Snapshot};
use crate::store::Stores;

/// Table files read at once: each holds some of its blocks in memory.
const AT_ONCE: usize = 8;

#[derive(Default)]
pub struct Deep {
    pub table_files: u64,
    pub blocks: u64,
    pub findings: Vec<Finding>,
}

/// `absent`: files that are not there, which has been said already.
pub async fn check(
    stores: &Stores,
    snapshot: &Snapshot,
    databases: &Databases,
    absent: &HashSet<String>,
    quiet: bool,
) -> Deep {
    let references = snapshot.metadata.references();
    let mut deep = Deep::default();
    let mut seen = HashSet::new();
    for handle in references.iter().filter_map(|reference| reference.database) {
        if seen.insert(std::ptr::from_ref(handle)) {
            deep.findings.extend(database(stores, snapshot, handle).await);
        }
    }
    let mut places = HashSet::new();
    let tables: Vec<_> = references
        .iter()
        .filter(|reference| reference.name.is_some_and(|name| name.ends_with(".sst")))
        .filter_map(|reference| Some((reference, snapshot.place(stores, reference.stream).ok()?)))
        .filter(|(_, place)| match place {
            Place::File { location, start, .. } => {
                !absent.contains(&location.to_string()) && places.insert((location.clone(), *start))
            }
            _ => true,
        })
        .collect();
    let bar = progress::bar(quiet, tables.len() as u64, "reading table files");
    let checked: Vec<_> = stream::iter(tables)
        .map(|(reference, place)| {
            let bar = &bar;
            async move {
                let checked = table(stores, snapshot, &place).await;
                bar.inc(1);
                (reference, place, checked)
            }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    bar.finish_and_clear();
    let of = |reference: &Reference<'_>| databases.of(reference.database?);
    for (reference, place, checked) in checked {
        deep.table_files += 1;
        match checked {
            Ok(checked) => deep.blocks += checked.blocks,
            Err(failure) => {
                let path = match place {
                    Place::File { location, .. } => location.to_string(),
                    _ => snapshot.directory.join("_metadata").to_string(),
                };
                deep.findings.push(Finding::of(
                    failure,
                    path,
                    vec![owner(reference, of(reference))],
                ));
            }
        }
    }
    deep
}

/// Who refers to a file, for people; with the state where the database is known and tells it.
pub fn owner(reference: &Reference<'_>, database: Option<&Database>) -> String {
    let mut text = Snapshot::owner(reference);
    if let Some(subtask) = reference.subtask {
        text += &format!(", subtask {subtask}");
    }
    let table = database.and_then(|database| database.tables.get(reference.name?));
    if let Some(table) = table {
        text += &format!(", state {}", table.state);
    }
    text += &format!(", {}", reference.role.name());
    if let Some(name) = reference.name {
        text += &format!(" {name}");
    }
    text
}

/// Whether CURRENT and MANIFEST say what the handle says.
async fn database(stores: &Stores, snapshot: &Snapshot, handle: &Incremental) -> Vec<Finding> {
    let finding = |code, what: String| Finding {
        exit_code: code,
        path: snapshot.directory.join("_metadata").to_string(),
        what: format!("database {}: {what}", handle.backend),
        owners: Vec::new(),
    };
    let manifest = match databases::manifest(stores, snapshot, handle).await {
        Ok(manifest) => manifest,
        Err(failure) => return vec![finding(failure.code, failure.text)],
    };
    let files = handle.shared.iter().chain(&handle.private);
    let sizes: HashMap<_, _> =
        files.map(|file| (file.name.as_str(), file.stream.size() as u64)).collect();
    let mut findings = Vec::new();
    let mut live = BTreeSet::new();
    for file in manifest.columns.values().flat_map(|column| column.files.values()) {
        let name = file.name();
        match sizes.get(name.as_str()) {
            None => findings.push(finding(CORRUPT, format!("its MANIFEST has {name}, it has not"))),
            Some(size) if *size != file.size => {
                let text = format!("{name} has {size} bytes, by its MANIFEST {}", file.size);
                findings.push(finding(CORRUPT, text));
            }
            Some(_) => {}
        }
        live.insert(name);
    }
    for name in sizes.keys().filter(|name| name.ends_with(".sst") && !live.contains(**name)) {
        findings.push(finding(CORRUPT, format!("it has {name}, which its MANIFEST has not")));
    }
    findings
}

/// The table reader asks for bytes as it goes: on a thread that may wait for them.
async fn table(
    stores: &Stores,
    snapshot: &Snapshot,
    place: &Place,
) -> Result<sst::Checked, Failure> {
    let (location, start, size) = match place.clone() {
        Place::Nowhere => return Err(Failure::new(CORRUPT, "a table file that is nowhere")),
        Place::Inline(range) => {
            let bytes = snapshot.raw.slice(range);
            let mut read = |offset: u64, length: usize| {
                let from = offset as usize;
                Ok::<_, Wrong>(bytes[from..from + length].to_vec())
            };
            return sst::check(bytes.len() as u64, &mut read).map_err(|Wrong(failure)| failure);
        }
        Place::File { location, start, size, .. } => (location, start, size),
    };
    let stores = stores.clone();
    let runtime = tokio::runtime::Handle::current();
    let checked = tokio::task::spawn_blocking(move || {
        let mut read = |offset: u64, length: usize| {
            let bytes = stores.read_range(&location, start + offset, length as u64);
            runtime.block_on(bytes).map(|bytes| bytes.to_vec()).map_err(Wrong)
        };
        sst::check(size, &mut read).map_err(|Wrong(failure)| failure)
    });
    checked.await.map_err(Failure::unable)?
}

struct Wrong(Failure);

impl From<Malformed> for Wrong {
    fn from(malformed: Malformed) -> Self {
        Self(Failure::new(CORRUPT, malformed))
    }
}
