//! Sizes as Flink's own handles give them, to the byte: of Flink's snapshots of 1.8 to 2.2 and of those that
//! Flink 2.3.0 wrote for us. `java/tool-fixtures.gradle` makes both and the numbers.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ferrostate_formats::metadata::Metadata;
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn numbers(path: &Path) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(path).expect("what Flink says");
    serde_json::from_str(&text).expect("JSON")
}

fn compare(name: &str, metadata: &Metadata, said: &Value) {
    assert_eq!(metadata.checkpoint_id, said["id"].as_i64().expect("an id"), "{name}");
    let operators = said["operators"].as_array().expect("operators");
    assert_eq!(metadata.operators.len(), operators.len(), "{name}");
    let by_id: BTreeMap<_, _> =
        operators.iter().map(|said| (said["id"].as_str().expect("an id"), said)).collect();
    for operator in &metadata.operators {
        let id = operator.id.to_string();
        let said = by_id.get(id.as_str()).unwrap_or_else(|| panic!("{name}: operator {id}"));
        let sizes = operator.sizes();
        assert_eq!(Some(sizes.full), said["full"].as_i64(), "{name}: full size of {id}");
        assert_eq!(Some(sizes.new), said["new"].as_i64(), "{name}: new size of {id}");
        let mut subtasks: Vec<_> = operator.subtasks.iter().flatten().collect();
        subtasks.sort_by_key(|subtask| subtask.index);
        let said = said["subtasks"].as_array().expect("subtasks");
        assert_eq!(subtasks.len(), said.len(), "{name}: subtasks of {id}");
        for (subtask, said) in subtasks.into_iter().zip(said) {
            let sizes = subtask.state.as_ref().map(|state| state.sizes()).unwrap_or_default();
            let pair = (said["full"].as_i64(), said["new"].as_i64());
            assert_eq!(
                (Some(sizes.full), Some(sizes.new)),
                pair,
                "{name}: {id}, {}",
                subtask.index
            );
        }
    }
}

/// Compares what is there of a tree with the numbers; returns how many and of which versions.
fn compare_tree(root: &Path, numbers: &BTreeMap<String, Value>) -> (usize, Vec<u32>) {
    let mut versions = Vec::new();
    let mut compared = 0;
    for (name, said) in numbers {
        let Ok(bytes) = fs::read(root.join(name)) else { continue };
        let metadata = Metadata::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        compare(name, &metadata, said);
        versions.push(metadata.version);
        compared += 1;
    }
    versions.sort_unstable();
    versions.dedup();
    (compared, versions)
}

/// One of each kind and version is committed.
#[test]
fn flinks_old_snapshots() {
    let numbers = numbers(&fixtures().join("flink-tests-sizes.json"));
    let (compared, versions) = compare_tree(&fixtures().join("flink-tests"), &numbers);
    assert_eq!(versions, [2, 3, 4, 5, 6]);
    assert!(compared >= 25, "{compared}");
}

/// All of them, where Gradle has unpacked them: `gradle :java:unpackFlinkTests`.
#[test]
fn all_of_flinks_old_snapshots() {
    let numbers = numbers(&fixtures().join("flink-tests-sizes.json"));
    let unpacked = fixtures().join("../../java/build/flink-tests");
    if unpacked.is_dir() {
        let (compared, _) = compare_tree(&unpacked, &numbers);
        assert_eq!(compared, numbers.len());
    }
}

#[test]
fn what_flink_2_3_0_wrote() {
    let numbers = numbers(&fixtures().join("flink-2.3.0/flink-sizes.json"));
    let (compared, versions) = compare_tree(&fixtures().join("flink-2.3.0"), &numbers);
    assert_eq!((compared, versions), (numbers.len(), vec![6]));
    let kinds = ["hashmap", "rocksdb-merging", "rocksdb-changelog", "unaligned", "ferrostate"];
    for kind in kinds {
        assert!(numbers.keys().any(|name| name.starts_with(kind)), "{kind}");
    }
}
