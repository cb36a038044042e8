//! The tool on S3 (scripts/s3-server): checkpoints read as they are from disk, open multipart uploads found
//! and ended, credentials that are missing or wrong told without telling any. Where no server can be had it
//! says "not checked".
#[path = "s3/bucket.rs"]
mod bucket;
mod common;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bucket::Server;
use common::schema::compare;
use common::{fixtures, json, latest, run, WRITTEN_AT};
use serde_json::Value;

const KIND: &str = "rocksdb-incremental";

/// The tool, told of the server.
fn tool(server: &Server) -> Command {
    let mut command = bare(server);
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "a secret");
    command
}

fn bare(server: &Server) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferrostate"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.args(["-o", &format!("aws_endpoint={}", server.endpoint())]);
    command.args(["--map", &format!("{WRITTEN_AT}=s3a://bucket/fixtures")]);
    command
}

/// Of a fixture's path, where it is in the bucket.
fn there(path: &Path) -> String {
    let below = path.strip_prefix(fixtures()).expect("a fixture");
    format!("s3a://bucket/fixtures/{}", below.display())
}

#[test]
fn on_s3() {
    let Some(server) = Server::start() else { return };
    server.upload(&fixtures().join(KIND), &format!("fixtures/{KIND}"));
    let snapshot = latest(&fixtures(), KIND);
    let job = snapshot.parent().expect("a job").to_owned();
    what_is_read_is_what_is_read_from_disk(&server, &snapshot);
    open_uploads_of_the_job_are_found_and_ended(&server, &job);
    credentials_are_told_without_telling_any(&server, &snapshot);
}

fn what_is_read_is_what_is_read_from_disk(server: &Server, snapshot: &Path) {
    let strip = |mut shown: Value| {
        shown.as_object_mut().expect("an object").remove("path");
        shown
    };
    let local = json(common::tool(&fixtures()).arg("show").arg(snapshot));
    let shown = json(tool(server).arg("show").arg(there(snapshot)));
    assert_eq!(strip(shown), strip(local));
    let (out, error, code) = run(tool(server).args(["verify", "--deep"]).arg(there(snapshot)));
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.starts_with("whole: s3://bucket/fixtures/"), "{out}");
    let job = there(snapshot.parent().expect("a job"));
    let shown = json(tool(server).arg("show").arg(&job));
    let shared = &shown["shared"];
    assert_eq!(shared["all"], shared["referenced"], "{shared}");
    assert!(shared["all"]["files"].as_u64() > Some(0), "{shared}");
    // What is above the job, and one of its files.
    let (out, _, code) =
        run(tool(server).arg("show").arg("s3://bucket/fixtures/rocksdb-incremental/checkpoints"));
    assert!(code == 0 && out.contains(&job.replace("s3a:", "s3:")), "{out}");
    let file =
        shown["checkpoints"][0]["path"].as_str().expect("a path").to_owned() + "/_metadata/x";
    let (_, error, code) = run(tool(server).arg("show").arg(file));
    assert_eq!(code, 2, "{error}");
}

/// Two pages of them, with one that may be in flight; and those of others.
fn open_uploads_of_the_job_are_found_and_ended(server: &Server, job: &Path) {
    let key = there(job).replace("s3a://bucket/", "");
    let left = ["shared/a&b", "shared/left", "shared/left", "chk-1/part", "taskowned/left"]
        .map(|name| server.begin(&format!("{key}/{name}"), 5));
    let flight = server.begin(&format!("{key}/chk-99/flight"), 7);
    // The key of the job is only the beginning of that of another one's.
    let other = server.begin(&format!("{key}-other/shared/x"), 3);
    let orphans = || {
        let mut command = tool(server);
        command.arg("orphans").arg(there(job));
        command
    };
    let ids = |report: &Value| -> Vec<String> {
        let uploads = report["uploads"].as_array().expect("uploads").iter();
        let mut ids: Vec<_> =
            uploads.map(|upload| upload["id"].as_str().expect("an id").to_owned()).collect();
        ids.sort();
        ids
    };
    let mut expected = left.to_vec();
    expected.sort();
    let report = json(orphans().args(["--min-age", "0s"]));
    assert_eq!(ids(&report), expected, "{report}");
    assert_eq!((&report["upload_bytes"], &report["files"]), (&25.into(), &0.into()));
    assert_eq!(report["spared_uploads"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["spared_uploads"][0]["why"], "in-flight");
    assert_eq!(report["spared_uploads"][0]["files"], 1);
    let rare = ["deleted.planned", "deleted.deleted", "deleted.bytes", "deleted.planned_uploads"];
    let files = ["orphans[].path", "orphans[].size", "orphans[].age_seconds", "notes[]"];
    let more = ["deleted.aborted", "deleted.journal", "deleted.failed[]"];
    let spared = ["spared[].why", "spared[].files", "spared[].bytes"];
    let times = ["spared[].first_in_seconds", "spared[].all_in_seconds"];
    let rare = [&rare[..], &files, &more, &spared, &times].concat();
    compare("orphans", std::slice::from_ref(&report), &rare);
    let (out, _, _) = run(orphans().args(["--min-age", "0s"]));
    assert!(out.contains("0 orphans, 0 B, 5 open uploads, 25 B"), "{out}");
    assert!(out.contains("shared/a&b"), "{out}");
    // moto says that all uploads began in 2010.
    let report = json(orphans().args(["--min-age", "36500d"]));
    assert_eq!(ids(&report), Vec::<String>::new());
    let young = &report["spared_uploads"][0];
    assert_eq!((&young["why"], &young["files"]), (&"young".into(), &6.into()), "{report}");
    assert!(young["first_in_seconds"].as_u64() > Some(86_400), "{young}");

    let directory = tempfile::tempdir().expect("a directory");
    let journal = directory.path().join("journal");
    let mut command = orphans();
    command.args(["--min-age", "0s", "--delete", "--yes", "--journal"]).arg(&journal);
    let done = json(&mut command);
    assert_eq!(
        (&done["deleted"]["aborted"], &done["deleted"]["planned_uploads"]),
        (&5.into(), &5.into())
    );
    let journal = std::fs::read_to_string(journal).expect("the journal");
    for id in &left {
        assert!(!server.is_open(id), "{id}");
        let lines = journal.lines().filter(|line| line.contains(id.as_str()));
        let steps: Vec<_> = lines.map(|line| line.contains("\"aborted\"")).collect();
        assert_eq!(steps, [false, true], "{journal}");
    }
    assert!(server.is_open(&flight) && server.is_open(&other));
    assert_eq!(ids(&json(orphans().args(["--min-age", "0s"]))), Vec::<String>::new());
    // The job does not run: a file that nothing refers to, and what seemed to be in flight.
    server.put(&format!("{key}/shared/left-file"), b"left".to_vec());
    let mut command = orphans();
    command.args(["--min-age", "0s", "--stopped", "--delete", "--yes", "--journal"]);
    let done = json(command.arg(directory.path().join("another")));
    let deleted = &done["deleted"];
    assert_eq!((&deleted["deleted"], &deleted["bytes"]), (&1.into(), &11.into()), "{done}");
    assert!(!server.is_open(&flight) && server.is_open(&other));
    let (out, error, code) = run(tool(server).args(["verify", "--deep"]).arg(there(job)));
    assert_eq!(code, 0, "{out}{error}");
}

fn credentials_are_told_without_telling_any(server: &Server, snapshot: &Path) {
    let begun = Instant::now();
    let path = there(snapshot);
    let mut command = bare(server);
    // A machine whose metadata service is none.
    command.args(["-o", "aws_metadata_endpoint=http://127.0.0.1:1", "show"]).arg(&path);
    let (out, error, code) = run(&mut command);
    assert_eq!((out.as_str(), code), ("", 1), "{error}");
    for told in
        ["no credentials", "AWS_ACCESS_KEY_ID", "-o aws_access_key_id", "aws_skip_signature"]
    {
        assert!(error.contains(told), "{error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let (_, error, code) = run(bare(server).env("AWS_ACCESS_KEY_ID", "k").arg("show").arg(&path));
    assert!(code == 1 && error.contains("without AWS_SECRET_ACCESS_KEY"), "{error}");

    server.check_credentials();
    let secret = "wJalrXUtnFEMI-K7MDENG-not-this-one";
    for command in ["show", "verify", "files", "orphans", "report"] {
        let mut wrong = bare(server);
        wrong.env("AWS_ACCESS_KEY_ID", "AKIAWRONG").env("AWS_SECRET_ACCESS_KEY", secret);
        wrong.env("AWS_SESSION_TOKEN", "token-of-a-session");
        let (out, error, code) = run(wrong.arg(command).arg(&path));
        let said = out + &error;
        assert_eq!(code, 1, "{command}: {said}");
        assert!(said.contains("Check the key and its secret"), "{command}: {said}");
        for never in [secret, "token-of-a-session", "Signature="] {
            assert!(!said.contains(never), "{command}: {said}");
        }
    }
}
