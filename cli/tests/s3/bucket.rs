//! A bucket on an S3 server that lasts as long as it is held.
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::MultipartStore;
use object_store::{path::Path as Key, ObjectStoreExt};
use tokio::runtime::Runtime;

/// The exit code of scripts/s3-server where no server can be had.
const UNAVAILABLE: i32 = 69;

pub struct Server {
    process: Child,
    port: u16,
    store: AmazonS3,
    runtime: Runtime,
    /// Keys of uploads by their ids.
    begun: Mutex<HashMap<String, Key>>,
}

impl Server {
    /// None, which it says, where none can be had.
    pub fn start() -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/s3-server");
        let mut process = Command::new(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script");
        let mut port = String::new();
        let mut said = BufReader::new(process.stdout.take().expect("its output"));
        said.read_line(&mut port).expect("a line");
        if port.is_empty() {
            let ended = process.wait().expect("an end").code();
            assert_eq!(ended, Some(UNAVAILABLE), "the S3 server failed");
            // Not through eprintln, which is not shown of a test that passes.
            let _ = writeln!(std::io::stderr(), "not checked: no S3 server can be had here");
            return None;
        }
        let port = port.trim().parse().expect("a port");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = AmazonS3Builder::new()
            .with_endpoint(format!("http://127.0.0.1:{port}"))
            .with_allow_http(true)
            .with_bucket_name("bucket")
            .with_access_key_id("key")
            .with_secret_access_key("a secret")
            .build()
            .expect("a store");
        let runtime = Runtime::new().expect("a runtime");
        let server = Self { process, port, store, runtime, begun: Mutex::default() };
        server.plain("PUT", "/bucket", "");
        Some(server)
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// From now on: moto knows nobody, so that all are wrong.
    pub fn check_credentials(&self) {
        self.plain("POST", "/moto-api/reset-auth", "0");
    }

    fn plain(&self, method: &str, path: &str, body: &str) {
        let answer = self.ask(method, path, body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Without a signature, which moto does not ask for.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).expect("connected");
        let length = body.len();
        write!(
            connection,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("sent");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// All files below a directory.
    pub fn upload(&self, directory: &Path, key: &str) {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let key = format!("{key}/{}", path.file_name().expect("a name").to_string_lossy());
            if path.is_dir() {
                self.upload(&path, &key);
            } else {
                self.put(&key, std::fs::read(&path).expect("read"));
            }
        }
    }

    pub fn put(&self, key: &str, bytes: Vec<u8>) {
        let key = Key::from(key);
        let put = self.store.put(&key, bytes.into());
        self.runtime.block_on(put).expect("put");
    }

    /// A multipart upload of one part that is never completed; its id.
    pub fn begin(&self, key: &str, size: usize) -> String {
        let key = Key::from(key);
        let begun = self.runtime.block_on(async {
            let id = self.store.create_multipart(&key).await?;
            self.store.put_part(&key, &id, 0, vec![1; size].into()).await?;
            Ok::<_, object_store::Error>(id)
        });
        let id = begun.expect("begun");
        self.begun.lock().expect("unharmed").insert(id.clone(), key);
        id
    }

    /// Whether it was neither completed nor aborted.
    pub fn is_open(&self, id: &String) -> bool {
        let begun = self.begun.lock().expect("unharmed");
        let answer = self.ask("GET", &format!("/bucket/{}?uploadId={id}", begun[id]), "");
        let open = answer.starts_with("HTTP/1.1 200");
        assert!(open || answer.starts_with("HTTP/1.1 404"), "{answer}");
        open
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its input ends with this.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
