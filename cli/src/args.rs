//! The command line. What the commands do is in `commands/`.
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

#[derive(Debug, Parser)]
#[command(
    name = "ferrostate",
    version,
    about = "What Flink's checkpoints and savepoints consist of, of any state backend",
    long_about = "What Flink's checkpoints and savepoints consist of, of any state backend: sizes, files, \
                  what changed, what is missing, what is left over. Needs no Flink and no JVM.",
    after_help = "A path is a checkpoint (chk-7), a savepoint, a _metadata file or a job's checkpoint \
                  directory; local, or s3://, s3a://, gs://, abfs://.\n\
                  Exit codes: 0 done and in order, 1 it could not be done, 2 no _metadata, 3 objects \
                  missing or short, 4 corrupt, 64 wrong usage.",
    arg_required_else_help = true
)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Write JSON for programs (docs/TOOL.md describes it)
    #[arg(long, global = true)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// An option of the object store, such as aws_endpoint=http://localhost:9000; variables of the
    /// environment (AWS_*, GOOGLE_*, AZURE_*) are read too
    #[arg(long = "option", short = 'o', value_name = "KEY=VALUE", value_parser = pair, global = true)]
    pub options: Vec<(String, String)>,
    /// Look for what the checkpoint says lies under FROM under TO: for copies
    #[arg(long = "map", value_name = "FROM=TO", value_parser = from_to, global = true)]
    pub maps: Vec<(String, String)>,
    /// Requests under way at once
    #[arg(long, value_name = "N", default_value_t = 64, global = true,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub concurrency: u16,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sizes by operator, subtask and state, largest first
    #[command(after_help = "Example: ferrostate show s3://bucket/checkpoints/4a1b.../chk-812")]
    Show(Show),
    /// Every file with its owner, size and scope; or who uses a file
    #[command(after_help = "Example: ferrostate files /checkpoints/4a1b... --of \
                            0b9d1a3e-6d1f-4a53-9f0e-3f4f0f2f9f61")]
    Files(Files),
    /// What was uploaded anew between two checkpoints, and why
    #[command(after_help = "Example: ferrostate diff /checkpoints/4a1b.../chk-811 \
                            /checkpoints/4a1b.../chk-812")]
    Diff(Diff),
    /// Whether a checkpoint is whole: exit code 0, or 2, 3, 4
    #[command(
        after_help = "Example: ferrostate verify --deep /savepoints/savepoint-4a1b2c-0d1e2f"
    )]
    Verify(Verify),
    /// Files that no checkpoint refers to: what failed uploads and crashes left
    #[command(
        after_help = "Example: ferrostate orphans s3://bucket/checkpoints/4a1b... --savepoint \
                            s3://bucket/savepoints/savepoint-4a1b2c-0d1e2f"
    )]
    Orphans(Orphans),
    /// All of this in one HTML page that needs no network
    #[command(after_help = "Example: ferrostate report s3://bucket/checkpoints/4a1b... --out \
                            checkpoints.html")]
    Report(Report),
    /// A script for the shell that completes commands and options
    #[command(after_help = "Example: ferrostate completions bash > \
                            /etc/bash_completion.d/ferrostate")]
    Completions { shell: Shell },
    /// The manual page
    #[command(after_help = "Example: ferrostate man > /usr/local/share/man/man1/ferrostate.1")]
    Man,
}

#[derive(Debug, Args)]
pub struct Show {
    /// A checkpoint, savepoint or job's checkpoint directory
    pub path: String,
    /// Rows of each table; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
}

#[derive(Debug, Args)]
pub struct Files {
    /// A checkpoint, savepoint or job's checkpoint directory
    pub path: String,
    /// Only files whose path, UUID or local name has this in it
    #[arg(long, value_name = "TEXT")]
    pub of: Option<String>,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// The earlier checkpoint or savepoint
    pub from: String,
    /// The later one
    pub to: String,
    /// Rows of each table; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// A checkpoint, savepoint or job's checkpoint directory
    pub path: String,
    /// Read the files too: checksums of all blocks, CURRENT and MANIFEST
    #[arg(long)]
    pub deep: bool,
}

#[derive(Debug, Args)]
pub struct Orphans {
    /// A job's checkpoint directory
    pub job: String,
    /// A savepoint or checkpoint elsewhere whose files are in use too; may be given again
    #[arg(long, value_name = "PATH")]
    pub savepoint: Vec<String>,
    /// The checkpoint directory of another job that may refer to this one's files; may be given
    /// again. Those right beside this one are read anyway
    #[arg(long, value_name = "DIR")]
    pub also: Vec<String>,
    /// Spare files younger than this, as in 24h, 90m or 7d
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = duration)]
    pub min_age: Duration,
    /// A checkpoint in flight is not older than this (execution.checkpointing.timeout)
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub checkpoint_timeout: Duration,
    /// The job does not run and will not go on: nothing is in flight
    #[arg(long)]
    pub stopped: bool,
    /// What a GiB costs in a month, to say what the orphans do; the default is that of S3 Standard in
    /// us-east-1
    #[arg(long, value_name = "PRICE", default_value_t = 0.023, value_parser = price)]
    pub price: f64,
    /// What the price is in
    #[arg(long, value_name = "NAME", default_value = "USD")]
    pub currency: String,
    /// Delete them; asks before it does. Refuses when a retained checkpoint is not whole
    #[arg(long)]
    pub delete: bool,
    /// With --delete: do so although retained checkpoints are not whole
    #[arg(long, requires = "delete")]
    pub although_damaged: bool,
    /// With --delete: do not ask
    #[arg(long, requires = "delete")]
    pub yes: bool,
    /// With --delete: where every path is written down before and after [default: ferrostate-orphans-<time>.jsonl]
    #[arg(long, value_name = "FILE", requires = "delete")]
    pub journal: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Report {
    /// A job's checkpoint directory
    pub job: String,
    /// The page to write
    #[arg(long, value_name = "FILE", default_value = "ferrostate-report.html")]
    pub out: PathBuf,
    /// A savepoint or checkpoint elsewhere whose files are in use too; may be given again
    #[arg(long, value_name = "PATH")]
    pub savepoint: Vec<String>,
}

/// A number and s, m, h or d.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("a number and s, m, h or d".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "a number and s, m, h or d".to_owned())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "too long".to_owned())
}

fn price(text: &str) -> Result<f64, String> {
    let price = text.parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0);
    price.ok_or_else(|| "it must be a number".to_owned())
}

fn from_to(text: &str) -> Result<(String, String), String> {
    pair(text).map_err(|_| "it must be FROM=TO".to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}
