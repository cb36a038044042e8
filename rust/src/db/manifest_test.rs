use super::*;
use crate::config::Config;
use crate::db::Db;
use ferrostate_formats::rocksdb::log::{BLOCK, HEADER};
use std::path::PathBuf;

/// The files of a checkpoint with two states, each with a row, and the path of its MANIFEST.
fn files(directory: &Path) -> (PathBuf, PathBuf) {
    let files = directory.join("files");
    let db = Db::open(&directory.join("db"), &Config::default(), None).expect("open");
    for name in ["first", "second"] {
        db.column(name).expect("column").put(b"key", b"value").expect("put");
    }
    db.checkpoint(&files).expect("checkpoint");
    let current = fs::read_to_string(files.join("CURRENT")).expect("CURRENT");
    let manifest = files.join(current.trim_end());
    (files, manifest)
}

fn rows(files: &Path) -> Result<Vec<Option<Vec<u8>>>> {
    let db = Db::open(files, &Config::default(), None)?;
    ["first", "second"].iter().map(|name| db.column(name)?.get(b"key")).collect()
}

/// Whatever is damaged or missing: an error that names the MANIFEST or the directory, or all rows. Never
/// a database with less in it.
#[test]
fn a_damaged_manifest_never_opens_with_less_in_it() {
    let directory = tempfile::tempdir().expect("temp dir");
    let (files, manifest) = files(directory.path());
    let good = fs::read(&manifest).expect("the MANIFEST");
    let mut damaged: Vec<Vec<u8>> = (0..good.len()).map(|length| good[..length].to_vec()).collect();
    let records = boundaries(&good);
    // Each byte of each header and the first one behind it; the others are under the checksum too.
    for at in records.iter().flat_map(|record| *record..=record + HEADER) {
        for change in [0x00, 0x01, 0x80, 0xFF] {
            let mut bytes = good.clone();
            bytes[at] = if change == 0 { 0 } else { bytes[at] ^ change };
            damaged.push(bytes);
        }
        let mut zeroed = good.clone();
        zeroed[at..].fill(0);
        damaged.push(zeroed);
    }
    for bytes in damaged.iter().filter(|bytes| **bytes != good) {
        fs::write(&manifest, bytes).expect("written");
        // Shorter by whole records it is another good MANIFEST: that is for the size to tell.
        let shorter = bytes.len() < good.len() && records.contains(&bytes.len());
        match check_manifest(&files) {
            Err(error) => {
                assert_eq!(error.kind, Kind::Corrupted);
                assert!(error.text.contains("MANIFEST-"), "{error}");
            }
            Ok(()) if shorter => {}
            Ok(()) => assert!(fails_in_rocksdb(&files), "opened without a word"),
        }
    }
    fs::write(&manifest, &good).expect("written");
    let value = Some(b"value".to_vec());
    assert_eq!(rows(&files).expect("whole again"), [value.clone(), value]);
}

/// Where records begin.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut at = 0;
    std::iter::from_fn(|| {
        let start = at;
        let length = bytes.get(at + 4..at + 6)?;
        at += HEADER + usize::from(u16::from_le_bytes([length[0], length[1]]));
        Some(start)
    })
    .collect()
}

/// Without the check of ours; read only, so that the files stay.
fn fails_in_rocksdb(files: &Path) -> bool {
    let options = crate::db::read_only_options().expect("options");
    rocksdb::DB::list_cf(&options, files).is_err()
        || rocksdb::DB::open_cf_for_read_only(
            &options,
            files,
            ["default", "first", "second"],
            false,
        )
        .is_err()
}

#[test]
fn records_over_several_blocks_are_whole() {
    let record = |kind: u8, length: usize| {
        let length = u16::try_from(length).expect("fits");
        [&[0; 4][..], &length.to_le_bytes(), &[kind], &vec![7; length.into()]].concat()
    };
    let first = BLOCK - HEADER;
    let spanning = [record(FIRST, first), record(MIDDLE, first), record(LAST, 9)].concat();
    assert_eq!(whole(&spanning), Ok(()));
    assert_eq!(whole(&spanning[..2 * BLOCK]), Err(0), "without its last part");
    assert_eq!(whole(&spanning[BLOCK..]), Err(0), "without its first part");
    // Six bytes at the end of a block are too few for a header and are skipped.
    let mut padded = record(FULL, BLOCK - HEADER - 6);
    padded.extend([0; 6]);
    padded.extend(record(FULL, 1));
    assert_eq!(whole(&padded), Ok(()));
    assert_eq!(whole(&[padded.as_slice(), &[0; 7]].concat()), Err(padded.len()));
    assert_eq!(whole(&padded[..BLOCK - 3]), Err(BLOCK - 6), "cut off in what is skipped");
    assert_eq!(whole(&[]), Ok(()));
}

#[test]
fn a_current_that_leads_nowhere_is_named() {
    let directory = tempfile::tempdir().expect("temp dir");
    let (files, manifest) = files(directory.path());
    let name = manifest.file_name().and_then(|name| name.to_str()).expect("a name");
    for content in [&name[..name.len() - 1], &format!("{name}7\n"), &format!("{name}\0\n")] {
        fs::write(files.join("CURRENT"), content).expect("written");
        let error = Db::open(&files, &Config::default(), None).err().expect("refused");
        assert!(error.text.contains("CURRENT"), "{error}");
    }
}

#[test]
fn database_files_without_their_current_are_no_new_database() {
    let directory = tempfile::tempdir().expect("temp dir");
    let (files, _) = files(directory.path());
    fs::remove_file(files.join("CURRENT")).expect("removed");
    let error = Db::open(&files, &Config::default(), None).err().expect("refused");
    assert_eq!(error.kind, Kind::Missing);
    assert!(error.text.contains("CURRENT"), "{error}");
    assert!(error.text.contains(&*files.to_string_lossy()), "{error}");
}
