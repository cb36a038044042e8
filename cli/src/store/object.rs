//! Object stores, through object_store. Options: variables of the environment, then those given.
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};

use super::s3::{self, S3};
use super::{missing, Entry, Location};
use crate::failure::{Failure, Result, USAGE};

const PREFIXES: [&str; 3] = ["aws_", "google_", "azure_"];

pub struct Opened {
    pub store: Arc<dyn ObjectStore>,
    /// Where it is S3: what others do not have.
    pub s3: Option<Arc<S3>>,
}

pub fn open(root: &str, given: &[(String, String)]) -> Result<Opened> {
    // Fails where it is installed already: by the store before this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url =
        reqwest::Url::parse(root).map_err(|cause| Failure::unable(format!("{root}: {cause}")))?;
    given.iter().try_for_each(|(key, _)| known(key))?;
    let environment = std::env::vars().map(|(key, value)| (key.to_ascii_lowercase(), value));
    let of_stores =
        environment.filter(|(key, _)| PREFIXES.iter().any(|begin| key.starts_with(begin)));
    let given = given.iter().map(|(key, value)| (key.to_ascii_lowercase(), value.clone()));
    let options: Vec<_> = of_stores.chain(given).collect();
    if url.scheme() == "s3" {
        let s3 = s3::open(root, &options)?;
        return Ok(Opened { store: Arc::clone(&s3.store) as _, s3: Some(Arc::new(s3)) });
    }
    let (store, _) = object_store::parse_url_opts(&url, options).map_err(|cause| {
        let text = "local paths, s3://, s3a://, gs:// and abfs:// are read";
        Failure::unable(format!("{root}: {cause} ({text})"))
    })?;
    Ok(Opened { store: store.into(), s3: None })
}

/// Whether any store has such an option: a misspelt one would be passed over.
fn known(key: &str) -> Result<()> {
    let key = key.to_ascii_lowercase();
    let known = key.parse::<AmazonS3ConfigKey>().is_ok()
        || key.parse::<GoogleConfigKey>().is_ok()
        || key.parse::<AzureConfigKey>().is_ok();
    let text = "-o: no store has this option; those of S3 begin with aws_, as in aws_endpoint";
    known.then_some(()).ok_or_else(|| Failure::new(USAGE, format!("{text}: {key}")))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_option_is_named_without_its_value() {
        let wrong = [("aws_secret_acces_key".to_owned(), "s3cr3t".to_owned())];
        let failure = open("s3://b", &wrong).err().expect("a failure");
        assert_eq!(failure.code, USAGE);
        assert!(failure.text.ends_with(": aws_secret_acces_key"), "{failure}");
    }

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
