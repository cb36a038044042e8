//! What is asked of object stores, and how their errors are told. How they are opened: `open.rs`.
use std::time::SystemTime;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};

use super::{missing, Entry, Location};
use crate::failure::{Failure, Result};

fn key(location: &Location) -> Result<Path> {
    Path::parse(location.key()).map_err(|cause| Failure::unable(format!("{location}: {cause}")))
}

/// What the store says of a refusal may repeat the request: only its code is passed on.
pub fn failed(location: &Location, cause: &Error) -> Failure {
    let refused = |what: &str, source: &dyn std::error::Error| {
        let code = code(&source.to_string());
        let code = if code.is_empty() { code } else { format!(" ({code})") };
        Failure::unable(format!("{location}: {what}{code}. {CHECK}"))
    };
    match cause {
        Error::NotFound { .. } => missing(location),
        Error::PermissionDenied { source, .. } => {
            refused("the store does not permit this with these credentials", &**source)
        }
        Error::Unauthenticated { source, .. } => {
            refused("the store does not accept these credentials", &**source)
        }
        _ => Failure::unable(format!("{location}: {cause}")),
    }
}

const CHECK: &str = "Check the key and its secret (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \
                     GOOGLE_SERVICE_ACCOUNT, AZURE_STORAGE_ACCOUNT_NAME and _KEY, or their -o), whether \
                     they have expired, and what the bucket allows them";

/// The code of an error as S3 and Azure write it; empty where there is none.
pub fn code(body: &str) -> String {
    let found = body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    let code = found.map_or("", |(code, _)| code);
    let plain = code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric());
    if plain { code } else { "" }.to_owned()
}

pub async fn read_range(
    store: &dyn ObjectStore,
    location: &Location,
    offset: u64,
    length: u64,
) -> Result<Bytes> {
    if length == 0 {
        return Ok(Bytes::new());
    }
    let range = offset..offset.saturating_add(length);
    store.get_range(&key(location)?, range).await.map_err(|cause| failed(location, &cause))
}

async fn head(
    store: &dyn ObjectStore,
    location: &Location,
) -> Result<Option<object_store::ObjectMeta>> {
    match store.head(&key(location)?).await {
        Ok(object) => Ok(Some(object)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(cause) => Err(failed(location, &cause)),
    }
}

pub async fn size(store: &dyn ObjectStore, location: &Location) -> Result<Option<u64>> {
    Ok(head(store, location).await?.map(|object| object.size))
}

pub async fn modified(store: &dyn ObjectStore, location: &Location) -> Result<Option<SystemTime>> {
    Ok(head(store, location).await?.map(|object| object.last_modified.into()))
}

pub async fn directories(store: &dyn ObjectStore, directory: &Location) -> Result<Vec<String>> {
    let listed = store.list_with_delimiter(Some(&key(directory)?)).await;
    let listed = listed.map_err(|cause| failed(directory, &cause))?;
    let names = listed.common_prefixes.iter().filter_map(|prefix| prefix.filename());
    Ok(names.map(str::to_owned).collect())
}

/// No more than `most`.
pub async fn list(
    store: &dyn ObjectStore,
    directory: &Location,
    most: usize,
) -> Result<Vec<Entry>> {
    let root = Location::parse(directory.root())?;
    let entry = |object: object_store::ObjectMeta| Entry {
        location: root.join(object.location.as_ref()),
        size: object.size,
        modified: SystemTime::from(object.last_modified),
    };
    let listed = store.list(Some(&key(directory)?)).take(most).map_ok(entry).try_collect().await;
    listed.map_err(|cause| failed(directory, &cause))
}

pub async fn delete(store: &dyn ObjectStore, location: &Location) -> Result<()> {
    match store.delete(&key(location)?).await {
        Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
        Err(cause) => Err(failed(location, &cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only its code: the rest may hold a key or the text that was signed.
    #[test]
    fn of_a_refusal_only_the_code_is_told() {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        let source: Box<dyn std::error::Error + Send + Sync> = body.into();
        let cause = Error::PermissionDenied { path: "job".to_owned(), source };
        let failure = failed(&Location::parse("s3://b/job").expect("a location"), &cause);
        assert!(failure.text.contains("(SignatureDoesNotMatch)"), "{failure}");
        assert!(!failure.text.contains("AKIA"), "{failure}");
        for hostile in
            ["<Code>a\u{1b}[31m</Code>", "<Code>", &format!("<Code>{}</Code>", "a".repeat(65))]
        {
            assert_eq!(code(hostile), "", "{hostile}");
        }
    }
}
