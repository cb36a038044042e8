//! What is shown of work that takes longer than a second, on a terminal's error output.
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `length` steps; with `quiet`, or where no terminal is, none.
pub fn bar(quiet: bool, length: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
    if quiet {
        return bar;
    }
    let template = "{msg} {wide_bar} {human_pos}/{human_len} {elapsed}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what);
    let late = bar.clone();
    // Whoever waits less than this needs no bar.
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        if !late.is_finished() {
            late.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
    bar
}
