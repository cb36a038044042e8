//! Where an object is: Flink's URIs, spelled in one way. No I/O.
use std::fmt;

use crate::failure::{Failure, Result};

/// A local path, or a key in a bucket or container.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Empty for local files, else as in `s3://bucket`.
    root: String,
    /// Begins with a slash, ends with none.
    path: String,
}

impl Location {
    /// From a URI as Flink writes it, or a local path.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Failure::unable(format!("{text}: {why}"));
        if text.contains('\0') {
            return Err(wrong("a path with a zero byte"));
        }
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
            _ => (String::new(), text),
        };
        match scheme.as_str() {
            "" => {
                let absolute = std::path::absolute(rest).map_err(|_| wrong("an empty path"))?;
                let path = absolute.to_str().ok_or_else(|| wrong("a path that is not UTF-8"))?;
                Ok(Self { root: String::new(), path: normal(path) })
            }
            "file" => {
                let path = match rest.strip_prefix("//") {
                    Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
                    None => rest,
                };
                match path.starts_with('/') {
                    true => Ok(Self { root: String::new(), path: normal(path) }),
                    false => Err(wrong("a path that is not absolute")),
                }
            }
            _ => {
                let rest = rest.strip_prefix("//").ok_or_else(|| wrong("no bucket or host"))?;
                let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
                if authority.is_empty() {
                    return Err(wrong("no bucket or host"));
                }
                // The same bucket through any of Flink's and Hadoop's clients.
                let scheme = match scheme.as_str() {
                    "s3a" | "s3n" | "s3p" => "s3",
                    other => other,
                };
                Ok(Self { root: format!("{scheme}://{authority}"), path: normal(path) })
            }
        }
    }

    pub fn is_local(&self) -> bool {
        self.root.is_empty()
    }

    /// Of the store that it is in; empty for local files.
    pub fn root(&self) -> &str {
        &self.root
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// The key of an object store.
    pub fn key(&self) -> &str {
        self.path.trim_start_matches('/')
    }

    /// What lies below, by a relative path.
    #[must_use]
    pub fn join(&self, below: &str) -> Self {
        Self { root: self.root.clone(), path: normal(&format!("{}/{below}", self.path)) }
    }

    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (parent, _) = self.path.rsplit_once('/')?;
        (self.path != "/").then(|| {
            let path = if parent.is_empty() { "/".to_owned() } else { parent.to_owned() };
            Self { root: self.root.clone(), path }
        })
    }

    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    /// The path from `above`, if this is below it.
    pub fn below<'a>(&'a self, above: &Self) -> Option<&'a str> {
        if self.root != above.root {
            return None;
        }
        let rest = self.path.strip_prefix(above.path.trim_end_matches('/'))?;
        match rest {
            "" => Some(rest),
            _ => rest.strip_prefix('/'),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.root, self.path)
    }
}

fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Without empty and dot components; dots cannot lead above the root.
fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Location::parse(text).expect("a location").to_string()
    }

    #[test]
    fn spellings_of_one_place_are_one_location() {
        for text in
            ["/a/b", "file:/a/b", "file:///a/b", "file://host/a/b", "/a//./x/../b/", "FILE:/a/b"]
        {
            assert_eq!(shown(text), "/a/b", "{text}");
        }
        for text in ["s3://bucket/a/b", "s3a://bucket//a/b/", "s3p://bucket/a/c/../b"] {
            assert_eq!(shown(text), "s3://bucket/a/b", "{text}");
        }
        assert_eq!(
            shown("abfss://c@acc.dfs.core.windows.net/x"),
            "abfss://c@acc.dfs.core.windows.net/x"
        );
        assert_eq!(shown("/../../etc"), "/etc");
        for wrong in ["s3:bucket", "s3:///key", "file:relative", "a\0b", ""] {
            assert!(Location::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn above_and_below() {
        let job = Location::parse("/c/job").expect("a location");
        let file = job.join("shared/x");
        assert_eq!(file.below(&job), Some("shared/x"));
        assert_eq!(job.below(&job), Some(""));
        assert_eq!(Location::parse("/c/jobs/x").expect("a location").below(&job), None);
        assert_eq!(file.parent().expect("a parent").parent(), Some(job));
        assert_eq!(Location::parse("/").expect("the root").parent(), None);
        assert_eq!(file.name(), "x");
    }
}
