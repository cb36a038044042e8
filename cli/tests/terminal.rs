//! On a pseudo-terminal (`script` makes it): `orphans --delete` deletes for whoever types the right number and
//! for nobody else; what takes longer than a second shows progress there, and nowhere else.
mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use common::{copied, latest, run, tool, WRITTEN_AT};

const PATIENCE: Duration = Duration::from_secs(60);

/// The tool with a terminal for its input, output and errors.
struct Terminal {
    child: Child,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(arguments: &[&str]) -> Self {
        let quoted = |text: &&str| format!("'{}'", text.replace('\'', "'\\''"));
        // Where the tests run in the background the interrupt key is ignored.
        let tool = ["env", "--default-signal=INT", env!("CARGO_BIN_EXE_ferrostate")];
        let command: Vec<_> = tool.iter().chain(arguments).map(quoted).collect();
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &command.join(" "), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script, of Debian's package bsdutils");
        let mut from = child.stdout.take().expect("a pipe");
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = vec![0; 4096];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                let _ = send.send(bytes[..read].to_vec());
            }
        });
        Self { child, output, seen: String::new() }
    }

    /// Until that is on the screen, or the tool has ended.
    fn read_until(&mut self, text: &str) -> bool {
        let end = Instant::now() + PATIENCE;
        while !self.seen.contains(text) {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => panic!("no {text:?} in {:?}", self.seen),
            }
        }
        true
    }

    /// All that was on the screen, and the exit code.
    fn end(mut self) -> (String, i32) {
        self.read_until("\0never");
        let status = self.child.wait().expect("it ends");
        (self.seen, status.code().expect("an exit code"))
    }
}

/// A job with three leftovers.
fn job() -> (tempfile::TempDir, PathBuf, Vec<PathBuf>) {
    let (root, _) = copied("rocksdb-incremental");
    let job = latest(root.path(), "rocksdb-incremental").parent().expect("a job").to_owned();
    let left = ["shared/a", "shared/b", "chk-1/c"].map(|name| job.join(name));
    fs::create_dir(job.join("chk-1")).expect("made");
    left.iter().for_each(|path| fs::write(path, b"left over").expect("written"));
    (root, job, left.into())
}

fn delete(root: &Path, job: &Path, typed: &str) -> (String, i32) {
    let map = format!("{WRITTEN_AT}={}", root.display());
    let journal = root.join("journal");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let mut terminal = Terminal::start(&[
        "orphans",
        &path(job),
        "--map",
        &map,
        "--stopped",
        "--min-age",
        "0s",
        "--delete",
        "--journal",
        &path(&journal),
    ]);
    assert!(terminal.read_until("would be deleted for good. Type "), "{}", terminal.seen);
    let mut input = terminal.child.stdin.take().expect("a pipe");
    input.write_all(typed.as_bytes()).expect("typed");
    let ended = terminal.end();
    drop(input);
    ended
}

#[test]
fn who_types_the_number_of_files_deletes_them() {
    let (root, job, left) = job();
    let (said, code) = delete(root.path(), &job, "3\n");
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("deleted 3 of 3 planned"), "{said}");
    left.iter().for_each(|path| assert!(!path.exists(), "{}", path.display()));
    let (out, _, code) = run(tool(root.path()).arg("verify").arg(&job));
    assert_eq!(code, 0, "{out}");
}

#[test]
fn who_types_something_else_deletes_nothing() {
    // Another number, yes, nothing, the end of the input, the interrupt key.
    for (typed, expected) in [("2\n", 1), ("yes\n", 1), ("\n", 1), ("\x04", 1), ("\x03", 130)] {
        let (root, job, left) = job();
        let (said, code) = delete(root.path(), &job, typed);
        assert_eq!(code, expected, "{typed:?}: {said}");
        assert_eq!(said.contains("not confirmed; nothing was deleted"), expected == 1, "{said}");
        left.iter().for_each(|path| assert!(path.exists(), "{typed:?}: {}", path.display()));
        assert!(!root.path().join("journal").exists(), "{typed:?}");
    }
}

/// An object store that has nothing, and takes long to say so. Returns its address.
fn slow_store() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || answer(stream.expect("a connection")));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        request.push(byte[0]);
    }
    std::thread::sleep(Duration::from_millis(1600));
    let body = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
    let (status, body) =
        if request.starts_with(b"HEAD") { ("404 Not Found", "") } else { ("200 OK", body) };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all((head + body).as_bytes());
}

#[test]
fn what_takes_long_shows_progress_on_a_terminal_only() {
    let store = slow_store();
    let endpoint = format!("aws_endpoint={store}");
    let job = "s3://bucket/checkpoints/job";
    let commands: [&[&str]; 7] = [
        &["show", job],
        &["files", job],
        &["diff", "s3://bucket/chk-1", "s3://bucket/chk-2"],
        &["verify", job],
        &["verify", job, "--deep"],
        &["orphans", job],
        &["report", job],
    ];
    let options = ["-o", &endpoint, "-o", "aws_allow_http=true", "-o", "aws_access_key_id=a"];
    let options = [&options[..], &["-o", "aws_secret_access_key=b"]].concat();
    // What can be counted has a bar: the files of this one are looked for in the slow store.
    let snapshot = latest(&common::fixtures(), "rocksdb-incremental");
    let map = format!("{WRITTEN_AT}=s3://bucket/fixtures");
    let verify = ["verify", snapshot.to_str().expect("UTF-8"), "--map", &map];
    let counted = [&verify[..], &options].concat();
    std::thread::scope(|scope| {
        for command in commands {
            let all = [command, &options].concat();
            let quiet = [&all[..], &["--quiet"]].concat();
            scope.spawn(move || {
                let (said, code) = Terminal::start(&all).end();
                assert!(said.contains(" requests, "), "{command:?}: {said}");
                assert!(code == 2 && said.contains("ferrostate: s3://bucket"), "{code}: {said}");
            });
            scope.spawn(move || {
                let (said, code) = Terminal::start(&quiet).end();
                assert!(code == 2 && said.starts_with("ferrostate: s3://bucket"), "{code}: {said}");
            });
        }
        scope.spawn(move || {
            let (said, code) = Terminal::start(&counted).end();
            assert!(said.contains("looking for files "), "{code}: {said}");
        });
        let all = [commands[0], &options].concat();
        let (out, error, code) = run(Command::new(env!("CARGO_BIN_EXE_ferrostate")).args(&all));
        assert!(code == 2 && out.is_empty(), "{code}: {error}");
        assert!(error.starts_with("ferrostate: s3://bucket"), "{error:?}");
    });
}
