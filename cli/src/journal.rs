//! A file that tells what is about to be deleted and what was: a line of JSON for each path and step, on
//! disk before the step that it tells of.
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::store::Entry;

pub struct Journal {
    file: File,
    pub path: PathBuf,
}

#[derive(Serialize)]
struct Line<'a> {
    step: &'a str,
    path: &'a str,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Journal {
    /// A new file: one that is there is not written over.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let named = || PathBuf::from(format!("ferrostate-orphans-{}.jsonl", now.as_millis()));
        let path = path.map_or_else(named, Path::to_owned);
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|cause| {
            Failure::unable(format!("the journal {}: {cause}; nothing was deleted", path.display()))
        })?;
        Ok(Self { file, path })
    }

    pub fn planned(&mut self, entries: &[Entry]) -> Result<()> {
        for entry in entries {
            self.line("planned", entry, None)?;
        }
        self.settle()
    }

    pub fn done(&mut self, entry: &Entry, result: &Result<()>) -> Result<()> {
        match result {
            Ok(()) => self.line("deleted", entry, None),
            Err(failure) => self.line("failed", entry, Some(&failure.text)),
        }
    }

    pub fn settle(&mut self) -> Result<()> {
        self.file.sync_all().map_err(|cause| self.failed(&cause))
    }

    fn line(&mut self, step: &str, entry: &Entry, error: Option<&str>) -> Result<()> {
        let path = entry.location.to_string();
        let line = Line { step, path: &path, size: entry.size, error };
        let mut text = serde_json::to_string(&line).map_err(Failure::unable)?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(|cause| self.failed(&cause))
    }

    fn failed(&self, cause: &std::io::Error) -> Failure {
        Failure::unable(format!("the journal {}: {cause}", self.path.display()))
    }
}
