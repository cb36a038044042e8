//! Lists the files of a local checkpoint directory. Judges none of them: that is `plan`'s job.
use std::fs;
use std::path::Path;

use super::plan::LiveFile;
use crate::error::{Error, Result};

/// Every file in `directory`, in no particular order.
pub fn live_files(directory: &Path) -> Result<Vec<LiveFile>> {
    let step = "list the local checkpoint directory";
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(|cause| Error::io(step, directory, &cause))? {
        let entry = entry.map_err(|cause| Error::io(step, directory, &cause))?;
        let path = entry.path();
        // Follows links: what counts is the bytes that would be uploaded.
        let metadata = fs::metadata(&path).map_err(|cause| Error::io("read", &path, &cause))?;
        let name = entry.file_name().into_string().ok();
        match name.filter(|_| metadata.is_file()) {
            Some(local_name) => files.push(LiveFile { local_name, size: metadata.len() }),
            None => {
                return Err(Error::invalid(format!(
                    "{} is not a file of RocksDB's: {} is no checkpoint directory",
                    path.display(),
                    directory.display()
                )))
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn lists_names_and_sizes() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("000012.sst"), b"four").expect("written");
        fs::write(directory.path().join("000013.log"), b"").expect("written");
        let mut files = live_files(directory.path()).expect("listed");
        files.sort_by(|a, b| a.local_name.cmp(&b.local_name));
        let names: Vec<_> = files.iter().map(|f| (f.local_name.as_str(), f.size)).collect();
        assert_eq!(names, [("000012.sst", 4), ("000013.log", 0)]);
    }

    #[test]
    fn names_a_directory_that_is_not_there_and_one_that_is_no_checkpoint() {
        let directory = tempfile::tempdir().expect("a directory");
        let absent = directory.path().join("absent");
        let error = live_files(&absent).expect_err("absent");
        assert_eq!(error.kind, Kind::Missing);
        assert!(error.text.contains("absent"), "{error}");
        fs::create_dir(&absent).expect("created");
        assert_eq!(live_files(directory.path()).expect_err("a sub-directory").kind, Kind::Invalid);
    }
}
