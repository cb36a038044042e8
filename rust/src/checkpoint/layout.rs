//! Every name and directory that checkpoints use, and how they are spelled. Decides names only: no
//! I/O, and where Flink wants a file (shared, chk-N) is Flink's own decision.
//!
//! URIs are those of Flink's `Path.toUri().toString()`: `file:/a%20b/c`, non-ASCII letters as they are.
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const SCHEME: &str = "file:";

/// Files that checkpoints may share: RocksDB never changes one and never uses its name again.
#[must_use]
pub fn is_sst(local_name: &str) -> bool {
    local_name.ends_with(".sst")
}

/// RocksDB 11 leaves a log without a byte in a checkpoint; Flink has no handle for an empty file.
#[must_use]
pub fn is_empty_log(local_name: &str, size: u64) -> bool {
    size == 0 && local_name.ends_with(".log")
}

/// A name that no object has yet, as Flink makes them.
#[must_use]
pub fn new_object_name() -> String {
    uuid::Uuid::new_v4().hyphenated().to_string()
}

/// True if the library reads and writes this URI itself.
#[must_use]
pub fn is_reached(uri: &str) -> bool {
    local_path(uri).is_ok()
}

/// The path behind a `file:` URI, in Flink's spelling or in that of Java's `File.toURI()`.
pub fn local_path(uri: &str) -> Result<PathBuf> {
    let rest = uri
        .strip_prefix(SCHEME)
        .ok_or_else(|| Error::invalid(format!("{uri} is not a {SCHEME} URI")))?;
    let path = match rest.strip_prefix("//") {
        // An authority: only the empty one is this machine.
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err(Error::invalid(format!("{uri} names another host"))),
        None => rest,
    };
    if !path.starts_with('/') {
        return Err(Error::invalid(format!("{uri} is not an absolute path")));
    }
    if path.contains(['?', '#']) {
        return Err(Error::invalid(format!("{uri} has a query or a fragment")));
    }
    decode(path)
        .map(PathBuf::from)
        .ok_or_else(|| Error::invalid(format!("{uri} is not well formed")))
}

/// Directory and name of an object: the URI up to its last slash, and the decoded rest.
pub fn split(uri: &str) -> Result<(String, String)> {
    let path = local_path(uri)?;
    let name = path.file_name().and_then(|name| name.to_str());
    match (name, uri.rfind('/')) {
        (Some(name), Some(slash)) if !uri.ends_with('/') => {
            let directory = if uri[..slash].ends_with([':', '/']) { slash + 1 } else { slash };
            Ok((uri[..directory].to_string(), name.to_string()))
        }
        _ => Err(Error::invalid(format!("{uri} names no object"))),
    }
}

/// The URI of an object in a directory, as Flink's `new Path(directory, name)` spells it: without
/// `//` and without an empty authority. `name` is one of [`new_object_name`].
#[must_use]
pub fn object_uri(directory_uri: &str, name: &str) -> String {
    let path = directory_uri.strip_prefix(SCHEME).unwrap_or(directory_uri);
    let path = path.strip_prefix("//").unwrap_or(path);
    format!("{SCHEME}{}/{name}", path.trim_end_matches('/'))
}

/// The URI of a local path, spelled as Flink does: no slash twice and none at the end.
pub fn uri(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) if text.starts_with('/') => {
            let names: Vec<_> = text.split('/').filter(|name| !name.is_empty()).collect();
            Ok(format!("{SCHEME}/{}", encode(&names.join("/"))))
        }
        _ => Err(Error::invalid(format!(
            "{} is not an absolute path in UTF-8: it has no {SCHEME} URI",
            path.display()
        ))),
    }
}

/// Refuses names that would lead out of their directory.
pub fn check_local_name(name: &str) -> Result<()> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(Error::invalid(format!("{name:?} is not a file name")));
    }
    Ok(())
}

/// What java.net.URI leaves as it is in a path; everything else in ASCII becomes `%XX`.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/_-!.~'()*:@&=+$,;".contains(letter)
}

fn encode(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for letter in path.chars() {
        let other = !letter.is_ascii() && !letter.is_control() && !letter.is_whitespace();
        if is_plain(letter) || other {
            uri.push(letter);
        } else {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                uri.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    uri
}

/// None where a `%` is not followed by two hex digits or the bytes are not UTF-8.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok().filter(|path| !path.contains('\0'))
}

#[cfg(test)]
#[path = "layout_test.rs"]
mod tests;
