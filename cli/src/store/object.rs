//! Object stores, through object_store. Options: variables of the environment, then those given.
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};

use super::{missing, Entry, Location};
use crate::failure::{Failure, Result};

const PREFIXES: [&str; 3] = ["aws_", "google_", "azure_"];

pub fn open(root: &str, given: &[(String, String)]) -> Result<Arc<dyn ObjectStore>> {
    // Fails where it is installed already: by the store before this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url =
        reqwest::Url::parse(root).map_err(|cause| Failure::unable(format!("{root}: {cause}")))?;
    let environment = std::env::vars().map(|(key, value)| (key.to_ascii_lowercase(), value));
    let known = environment.filter(|(key, _)| PREFIXES.iter().any(|begin| key.starts_with(begin)));
    let options = known.chain(given.iter().cloned());
    let (store, _) = object_store::parse_url_opts(&url, options).map_err(|cause| {
        let text = "local paths, s3://, s3a://, gs:// and abfs:// are read";
        Failure::unable(format!("{root}: {cause} ({text})"))
    })?;
    Ok(store.into())
}

fn key(location: &Location) -> Result<Path> {
    Path::parse(location.key()).map_err(|cause| Failure::unable(format!("{location}: {cause}")))
}

fn failed(location: &Location, cause: &Error) -> Failure {
    match cause {
        Error::NotFound { .. } => missing(location),
        _ => Failure::unable(format!("{location}: {cause}")),
    }
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

pub async fn list(store: &dyn ObjectStore, directory: &Location) -> Result<Vec<Entry>> {
    let root = Location::parse(directory.root())?;
    let entry = |object: object_store::ObjectMeta| Entry {
        location: root.join(object.location.as_ref()),
        size: object.size,
        modified: SystemTime::from(object.last_modified),
    };
    let listed = store.list(Some(&key(directory)?)).map_ok(entry).try_collect().await;
    listed.map_err(|cause| failed(directory, &cause))
}

pub async fn delete(store: &dyn ObjectStore, location: &Location) -> Result<()> {
    match store.delete(&key(location)?).await {
        Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
        Err(cause) => Err(failed(location, &cause)),
    }
}
