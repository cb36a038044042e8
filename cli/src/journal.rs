//! A file that tells what is about to be deleted and what was: a line of JSON for each path and step, on
//! disk before the step that it tells of.
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::leftovers::OpenUpload;
use crate::store::Entry;

pub struct Journal {
    file: File,
    pub path: PathBuf,
}

#[derive(Serialize)]
struct Line<'a> {
    step: &'a str,
    path: &'a str,
    /// Of a multipart upload: its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    upload: Option<&'a str>,
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

    pub fn planned(&mut self, entries: &[Entry], uploads: &[OpenUpload]) -> Result<()> {
        for entry in entries {
            self.line(of_file("planned", &entry.location.to_string(), entry.size))?;
        }
        for open in uploads {
            self.line(of_upload("planned", &open.upload.location.to_string(), open))?;
        }
        self.settle()
    }

    pub fn deleted(&mut self, entry: &Entry, result: &Result<()>) -> Result<()> {
        let path = entry.location.to_string();
        let error = result.as_ref().err().map(|failure| failure.text.as_str());
        let step = if error.is_none() { "deleted" } else { "failed" };
        self.line(Line { error, ..of_file(step, &path, entry.size) })
    }

    pub fn aborted(&mut self, open: &OpenUpload, result: &Result<()>) -> Result<()> {
        let path = open.upload.location.to_string();
        let error = result.as_ref().err().map(|failure| failure.text.as_str());
        let step = if error.is_none() { "aborted" } else { "failed" };
        self.line(Line { error, ..of_upload(step, &path, open) })
    }

    pub fn settle(&mut self) -> Result<()> {
        self.file.sync_all().map_err(|cause| self.failed(&cause))
    }

    fn line(&mut self, line: Line<'_>) -> Result<()> {
        let mut text = serde_json::to_string(&line).map_err(Failure::unable)?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(|cause| self.failed(&cause))
    }

    fn failed(&self, cause: &std::io::Error) -> Failure {
        Failure::unable(format!("the journal {}: {cause}", self.path.display()))
    }
}

fn of_file<'a>(step: &'a str, path: &'a str, size: u64) -> Line<'a> {
    Line { step, path, upload: None, size, error: None }
}

fn of_upload<'a>(step: &'a str, path: &'a str, open: &'a OpenUpload) -> Line<'a> {
    Line { step, path, upload: Some(&open.upload.id), size: open.size, error: None }
}
