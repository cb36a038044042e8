//! The JSON is what docs/TOOL.md says: every path in it is there, with its type, and no other.
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{fixtures, json, latest, snapshots, tool};
use serde_json::Value;

/// Paths of the document for a command, with their types.
fn documented(command: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/TOOL.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let (_, schema) = text.split_once("```schema\n").expect("the schema");
    let (schema, _) = schema.split_once("```").expect("its end");
    let mut paths = BTreeMap::new();
    for line in schema.lines() {
        let [of, path, kind] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if of == command {
            paths.insert(path.to_owned(), kind.to_owned());
        }
    }
    paths
}

fn walk(value: &Value, path: &str, found: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(value, &path, found);
            }
            return;
        }
        Value::Array(values) => {
            values.iter().for_each(|value| walk(value, &format!("{path}[]"), found));
            return;
        }
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    found.entry(path.to_owned()).or_default().insert(kind);
}

/// `rare`: paths that these documents need not have.
fn compare(command: &str, documents: &[Value], rare: &[&str]) {
    let documented = documented(command);
    let mut found = BTreeMap::new();
    documents.iter().for_each(|document| walk(document, "", &mut found));
    for (path, kinds) in &found {
        let kind =
            documented.get(path).unwrap_or_else(|| panic!("{command} {path}: not in the document"));
        for found in kinds {
            let fits =
                kind.trim_end_matches('?') == *found || (kind.ends_with('?') && *found == "null");
            assert!(fits, "{command} {path}: {found}, documented {kind}");
        }
    }
    for path in documented.keys().filter(|path| !rare.contains(&path.as_str())) {
        assert!(found.contains_key(path), "{command} {path}: documented, but not there");
    }
}

#[test]
fn show() {
    let fixtures = fixtures();
    let show = |path: &Path| json(tool(&fixtures).arg("show").arg(path));
    let snapshots = snapshots(&fixtures);
    let documents: Vec<_> = snapshots.iter().map(|path| show(path)).collect();
    compare("show", &documents, &["notes[]"]);
    let latest = latest(&fixtures, "rocksdb-incremental");
    let mut job = show(latest.parent().expect("a job"));
    let shown = job.as_object_mut().expect("an object").remove("latest").expect("latest");
    assert_eq!(shown, show(&latest));
    compare("show-job", &[job], &["checkpoints[].error", "incomplete[]"]);
}

#[test]
fn files() {
    let fixtures = fixtures();
    let files = |path: &std::path::PathBuf| json(tool(&fixtures).arg("files").arg(path));
    compare("files", &snapshots(&fixtures).iter().map(files).collect::<Vec<_>>(), &[]);
}

#[test]
fn verify() {
    let fixtures = fixtures();
    let latest = latest(&fixtures, "rocksdb-incremental");
    let whole = json(tool(&fixtures).args(["verify", "--deep"]).arg(&latest));
    // What is shared lies nowhere.
    let missing = json(tool(Path::new("/nowhere")).arg("verify").arg(&latest));
    compare("verify", &[whole, missing], &["incomplete[]"]);
}

#[test]
fn diff() {
    let fixtures = fixtures();
    let diff = |kind: &str| json(tool(&fixtures).arg("diff").args(snapshots(&fixtures.join(kind))));
    compare("diff", &["rocksdb-incremental", "hashmap"].map(diff), &["notes[]"]);
}

#[test]
fn orphans() {
    let (root, job) = common::copied("rocksdb-incremental");
    let job = latest(&job, "").parent().expect("a job").to_owned();
    for name in ["shared/left", "notes"] {
        std::fs::write(job.join(name), b"left").expect("written");
    }
    let mut command = tool(root.path());
    command.arg("orphans").arg(&job).args(["--min-age", "0s", "--stopped", "--delete", "--yes"]);
    let deleted = json(command.arg("--journal").arg(root.path().join("journal")));
    compare("orphans", &[deleted], &["deleted.failed[]"]);
}

/// What the report has of other commands is what they say.
#[test]
fn report() {
    let (root, job) = common::copied("rocksdb-incremental");
    let latest = latest(&job, "");
    let job = latest.parent().expect("a job");
    let mut report = json(tool(root.path()).arg("report").arg(job));
    let fields = report.as_object_mut().expect("an object");
    let said = fields.remove("latest").expect("latest");
    assert_eq!(said, json(tool(root.path()).arg("show").arg(&latest)));
    let said = fields.remove("orphans").expect("orphans");
    assert_eq!(said, json(tool(root.path()).arg("orphans").arg(job)));
    let steps = fields.remove("steps").expect("steps");
    let mut step = steps[0].clone();
    let diff = json(tool(root.path()).arg("diff").args(snapshots(job)));
    for field in ["from", "to"] {
        let id = step.as_object_mut().expect("an object").remove(field);
        assert_eq!(id.as_ref(), Some(&diff[field]["checkpoint_id"]));
    }
    for (field, value) in step.as_object().expect("an object") {
        assert_eq!(value, &diff[field], "{field}");
    }
    compare("report", &[report], &["notes[]"]);
}
