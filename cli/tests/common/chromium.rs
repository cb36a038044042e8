//! Headless Chromium, steered over the pipe of its debugging protocol: one page of it. Nothing about what
//! is tried on it.
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::{json, Value};

/// For an answer; a browser that starts on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// 3 and 4 are where Chromium reads commands and writes answers.
const START: &str = "for browser in \"${CHROMIUM:-}\" chromium chromium-browser google-chrome; do \
    command -v \"$browser\" >/dev/null && exec \"$browser\" --headless --no-sandbox --disable-gpu \
    --disable-dev-shm-usage --no-first-run --disable-background-networking --window-size=1100,900 \
    --remote-debugging-pipe --user-data-dir=\"$1\" 3<&0 4>&1 </dev/null >/dev/null 2>&1; done; exit 127";

pub struct Page {
    browser: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Value,
    last: u64,
    /// Addresses that it asked for, of whichever kind.
    pub requests: Vec<String>,
    loaded: bool,
}

impl Page {
    pub fn start(directory: &Path) -> Self {
        let mut browser = Command::new("sh")
            .args(["-c", START, "sh"])
            .arg(directory.join("profile"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = browser.stdin.take().expect("a pipe");
        let output = BufReader::new(browser.stdout.take().expect("a pipe"));
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for message in output.split(0) {
                let Ok(message) = message else { break };
                let message = serde_json::from_slice(&message).expect("JSON");
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let mut page = Self {
            browser,
            commands,
            answers,
            session: Value::Null,
            last: 0,
            requests: Vec::new(),
            loaded: false,
        };
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = page.call(
            "Target.attachToTarget",
            json!({ "targetId": target["targetId"], "flatten": true }),
        );
        page.session = attached["sessionId"].clone();
        for domain in ["Page.enable", "Network.enable"] {
            page.call(domain, json!({}));
        }
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        page
    }

    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_null() {
            command["sessionId"] = self.session.clone();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("Chromium runs");
        loop {
            let answer = self.next(method);
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The next answer or event.
    fn next(&mut self, during: &str) -> Value {
        let message = self.answers.recv_timeout(PATIENCE);
        let message = message.unwrap_or_else(|_| panic!("{during}: Chromium does not answer"));
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let url = message["params"]["request"]["url"].as_str().expect("an address");
                self.requests.push(url.to_owned());
            }
            Some("Page.loadEventFired") => self.loaded = true,
            _ => {}
        }
        message
    }

    pub fn open(&mut self, url: &str) {
        self.loaded = false;
        self.call("Page.navigate", json!({ "url": url }));
        while !self.loaded {
            self.next(url);
        }
    }

    /// The value of an expression.
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let said = self.call("Runtime.evaluate", parameters);
        assert!(said["exceptionDetails"].is_null(), "{expression}: {said}");
        said["result"]["value"].clone()
    }

    pub fn key(&mut self, key: &str, code: u32) {
        let event = |kind: &str| json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
        let mut down = event("keyDown");
        if key == "Enter" {
            down["text"] = json!("\r");
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", event("keyUp"));
    }

    /// A PNG of all of the page.
    pub fn picture(&mut self) -> Vec<u8> {
        let parameters = json!({ "format": "png", "captureBeyondViewport": true });
        let picture = self.call("Page.captureScreenshot", parameters);
        BASE64_STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base 64")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
