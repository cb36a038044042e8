//! `ferrostate`: what Flink's checkpoints consist of, without Flink. One file a command in `commands/`;
//! bytes are read by `ferrostate-formats`, stores by `store/`.
mod args;
mod changes;
mod commands;
mod databases;
mod deep;
mod failure;
mod find;
mod in_use;
mod journal;
mod leftovers;
mod page;
mod progress;
mod render;
mod sizes;
mod snapshot;
mod store;
mod usage;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser};

use args::{Command, CommandLine};
use failure::{Failure, Result, UNABLE, USAGE};
use store::Stores;

fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    let done = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::unable)
        .and_then(|runtime| runtime.block_on(run(&line)));
    let (text, code) = match done {
        Ok(done) => done,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "ferrostate: {}", render::lines(&failure.text));
            return ExitCode::from(failure.code);
        }
    };
    // Names are a user's: nothing in them may steer a terminal.
    let ours =
        line.common.json || matches!(line.command, Command::Completions { .. } | Command::Man);
    let text = if ours { text } else { render::lines(&text) };
    // Whoever reads may stop to: `ferrostate files ... | head`.
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::from(UNABLE),
        _ => ExitCode::from(code),
    }
}

/// What to print, and the exit code.
async fn run(line: &CommandLine) -> Result<(String, u8)> {
    let stores = Stores::new(&line.common)?;
    let (text, code) = command(line, &stores).await?;
    let unused = stores.unused_maps();
    for from in &unused {
        let text = format!("ferrostate: --map {from}=...: no path that a snapshot names begins so");
        let _ = writeln!(std::io::stderr(), "{}", render::lines(&text));
    }
    Ok((text, if code == 0 && !unused.is_empty() { USAGE } else { code }))
}

async fn command(line: &CommandLine, stores: &Stores) -> Result<(String, u8)> {
    let common = &line.common;
    let _shown = progress::show(common.quiet, Arc::clone(&stores.requests));
    let text = match &line.command {
        Command::Show(args) => commands::show::run(stores, args, common).await?,
        Command::Files(args) => commands::files::run(stores, args, common).await?,
        Command::Verify(args) => return commands::verify::run(stores, args, common).await,
        Command::Diff(args) => commands::diff::run(stores, args, common).await?,
        Command::Orphans(args) => return commands::orphans::run(stores, args, common).await,
        Command::Report(args) => commands::report::run(stores, args, common).await?,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut CommandLine::command(), "ferrostate", &mut script);
            String::from_utf8(script).map_err(Failure::unable)?
        }
        Command::Man => manual()?,
    };
    Ok((text, 0))
}

/// The page of the command and of each of its commands.
fn manual() -> Result<String> {
    let mut page = Vec::new();
    let mut command = CommandLine::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(Failure::unable)?;
    for part in command.get_subcommands().filter(|part| part.get_name() != "help") {
        let man = clap_mangen::Man::new(part.clone());
        writeln!(page, ".SH {}", part.get_name().to_uppercase()).map_err(Failure::unable)?;
        man.render_description_section(&mut page).map_err(Failure::unable)?;
        man.render_options_section(&mut page).map_err(Failure::unable)?;
        man.render_extra_section(&mut page).map_err(Failure::unable)?;
    }
    String::from_utf8(page).map_err(Failure::unable)
}
