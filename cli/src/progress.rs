//! What is shown of work that takes longer than a second, on a terminal's error output: a line with the
//! requests so far, and a bar for what can be counted. Elsewhere, nothing.
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use indicatif::{
    HumanBytes, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};

/// Whoever waits less than this needs no progress.
const LATE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(200);

/// All that is shown; hidden until it is late.
static LINES: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::hidden()));

/// What was asked of stores.
#[derive(Debug, Default)]
pub struct Requests {
    begun: AtomicU64,
    bytes: AtomicU64,
}

impl Requests {
    pub fn begin(&self) {
        self.begun.fetch_add(1, Relaxed);
    }

    pub fn read(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }
}

/// Until it is dropped, nothing of it is left then.
pub struct Shown(ProgressBar);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The line of all commands.
pub fn show(quiet: bool, requests: Arc<Requests>) -> Shown {
    let line = LINES.add(ProgressBar::new_spinner());
    let said = move |_: &ProgressState, out: &mut dyn Write| {
        let (begun, bytes) = (requests.begun.load(Relaxed), requests.bytes.load(Relaxed));
        let _ = write!(out, "{begun} requests, {} read", HumanBytes(bytes));
    };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {requests}") {
        line.set_style(style.with_key("requests", said));
    }
    if !quiet {
        let late = line.clone();
        std::thread::spawn(move || {
            std::thread::sleep(LATE);
            if !late.is_finished() {
                LINES.set_draw_target(ProgressDrawTarget::stderr());
                late.enable_steady_tick(TICK);
            }
        });
    }
    Shown(line)
}

/// A bar over `length` steps.
pub fn bar(quiet: bool, length: u64, what: &'static str) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let bar = LINES.add(ProgressBar::new(length));
    let template = "{msg} {wide_bar} {human_pos}/{human_len} {elapsed}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    // What is drawn while all is hidden is forgotten.
    bar.enable_steady_tick(TICK);
    bar
}

/// Nothing is shown while a person is asked.
pub fn asking<T>(ask: impl FnOnce() -> T) -> T {
    LINES.suspend(ask)
}
