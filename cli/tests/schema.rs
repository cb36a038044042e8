//! The JSON is what docs/TOOL.md says: every path in it is there, with its type, and no other.
mod common;

use std::path::Path;

use common::schema::compare;
use common::{fixtures, json, latest, snapshots, tool};

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
    compare("show-job", &[job], &["checkpoints[].error", "incomplete[]", "notes[]"]);
}

/// A directory that holds several jobs.
#[test]
fn show_of_several() {
    let root = tempfile::tempdir().expect("a directory");
    let job = latest(&fixtures(), "hashmap").parent().expect("a job").to_owned();
    common::copy(&job, &root.path().join("job"));
    common::copy(&latest(&fixtures(), "rocksdb-canonical"), &root.path().join("savepoint-1"));
    compare("show-several", &[json(tool(&fixtures()).arg("show").arg(root.path()))], &[]);
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
    // What only S3 has is compared by tests/s3.rs.
    let uploads = ["uploads[].path", "uploads[].id", "uploads[].size", "uploads[].age_seconds"];
    let spared = [
        "spared_uploads[].why",
        "spared_uploads[].files",
        "spared_uploads[].bytes",
        "spared_uploads[].first_in_seconds",
        "spared_uploads[].all_in_seconds",
    ];
    let rare = [&uploads[..], &spared, &["deleted.failed[]", "notes[]"]].concat();
    compare("orphans", &[deleted], &rare);
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
    let said = fields.remove("shared").expect("shared");
    assert_eq!(said, json(tool(root.path()).arg("show").arg(job))["shared"]);
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
