//! Local files. Follows no symbolic links when it lists all that is below, so that no listing is endless.
use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;

use super::{missing, Entry, Location};
use crate::failure::{Failure, Result};

async fn blocking<T: Send + 'static>(
    location: &Location,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let path = PathBuf::from(location.path());
    let done = tokio::task::spawn_blocking(move || work(&path)).await.map_err(Failure::unable)?;
    done.map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => missing(location),
        _ => Failure::unable(format!("{location}: {cause}")),
    })
}

pub async fn read_range(location: &Location, offset: u64, length: u64) -> Result<Bytes> {
    blocking(location, move |path| {
        let mut file = fs::File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    })
    .await
}

pub async fn size(location: &Location) -> Result<Option<u64>> {
    let metadata = blocking(location, |path| there(fs::metadata(path))).await?;
    Ok(metadata.filter(fs::Metadata::is_file).map(|metadata| metadata.len()))
}

pub async fn modified(location: &Location) -> Result<Option<SystemTime>> {
    blocking(location, |path| there(fs::metadata(path).and_then(|metadata| metadata.modified())))
        .await
}

/// Whether something is there that leads nowhere or is not what it should be: a link to what is not there,
/// or, where a file is meant, anything else.
pub async fn unclear(location: &Location, file: bool) -> Result<bool> {
    blocking(location, move |path| {
        if there(fs::symlink_metadata(path))?.is_none() {
            return Ok(false);
        }
        let found = there(fs::metadata(path))?;
        // What another process deletes meanwhile is not there.
        let gone = there(fs::symlink_metadata(path))?.is_none();
        Ok(!gone && found.is_none_or(|found| file && !found.is_file()))
    })
    .await
}

/// As the system resolves it.
pub async fn real(location: &Location) -> Result<Option<String>> {
    blocking(location, |path| there(fs::canonicalize(path)))
        .await
        .map(|path| path.and_then(|path| path.to_str().map(str::to_owned)))
}

/// With links to directories, and to what is not there.
pub async fn directories(directory: &Location) -> Result<Vec<String>> {
    blocking(directory, |path| {
        let mut names = Vec::new();
        for entry in entries(path)? {
            let kind = entry.file_type()?;
            let is_dir =
                || there(fs::metadata(entry.path())).map(|to| to.is_none_or(|to| to.is_dir()));
            if kind.is_dir() || (kind.is_symlink() && is_dir()?) {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    })
    .await
}

/// No more than `most`.
pub async fn list(directory: &Location, most: usize) -> Result<Vec<Entry>> {
    let above = directory.clone();
    blocking(directory, move |path| {
        let mut found = Vec::new();
        let mut left = vec![(path.to_owned(), above)];
        while let Some((path, location)) = left.pop() {
            for entry in entries(&path)? {
                let Ok(name) = entry.file_name().into_string() else { continue };
                // What another process deletes meanwhile is not there.
                let Some(metadata) = there(entry.metadata())? else { continue };
                let location = location.join(&name);
                if metadata.is_dir() {
                    left.push((entry.path(), location));
                } else if metadata.is_file() {
                    let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    found.push(Entry { location, size: metadata.len(), modified });
                }
                if found.len() >= most {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    })
    .await
}

pub async fn delete(location: &Location) -> Result<()> {
    blocking(location, |path| there(fs::remove_file(path)).map(drop)).await
}

/// One that is not empty stays.
pub async fn delete_empty(directory: &Location) {
    let _ = blocking(directory, |path| fs::remove_dir(path)).await;
}

fn entries(path: &Path) -> io::Result<Vec<fs::DirEntry>> {
    there(fs::read_dir(path))?.into_iter().flatten().collect()
}

fn there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(cause) => Err(cause),
    }
}
