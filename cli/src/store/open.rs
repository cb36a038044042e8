//! Opens object stores, through object_store. Options: variables of the environment, then those given.
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{Error, ObjectStore, ObjectStoreScheme, RetryConfig};

use super::credentials::{self, Credentials};
use super::s3::{self, S3};
use crate::failure::{Failure, Result, USAGE};

const PREFIXES: [&str; 3] = ["aws_", "google_", "azure_"];

pub struct Opened {
    pub store: Arc<dyn ObjectStore>,
    /// Where it is S3: what others do not have.
    pub s3: Option<Arc<S3>>,
    pub credentials: Credentials,
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
    let (scheme, _) = ObjectStoreScheme::parse(&url).map_err(|_| unknown(root))?;
    match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let (s3, credentials) = s3::open(root, &options)?;
            Ok(Opened { store: Arc::clone(&s3.store) as _, s3: Some(Arc::new(s3)), credentials })
        }
        ObjectStoreScheme::GoogleCloudStorage => google(root, &options),
        ObjectStoreScheme::MicrosoftAzure => azure(root, &options),
        _ => Err(unknown(root)),
    }
}

fn google(root: &str, options: &[(String, String)]) -> Result<Opened> {
    use GoogleConfigKey as Key;
    let builder = configured(options, GoogleCloudStorageBuilder::new().with_url(root));
    let has = |key| builder.get_config_value(&key);
    let keys = [Key::ServiceAccount, Key::ServiceAccountKey, Key::ApplicationCredentials];
    let given = keys.into_iter().any(|key| has(key).is_some());
    let anonymous = is_set(has(Key::SkipSignature));
    let store = builder.with_retry(retry()).build().map_err(|cause| wrong(root, &cause))?;
    let credentials = match anonymous {
        true => Credentials::none(),
        false => Credentials::of(store.credentials(), root, given, credentials::GOOGLE),
    };
    Ok(Opened { store: Arc::new(store), s3: None, credentials })
}

fn azure(root: &str, options: &[(String, String)]) -> Result<Opened> {
    use AzureConfigKey as Key;
    let builder = configured(options, MicrosoftAzureBuilder::new().with_url(root));
    let has = |key| builder.get_config_value(&key);
    let keys =
        [Key::AccessKey, Key::SasKey, Key::Token, Key::ClientSecret, Key::FederatedTokenFile];
    let given = keys.into_iter().any(|key| has(key).is_some()) || is_set(has(Key::UseAzureCli));
    let anonymous = is_set(has(Key::SkipSignature));
    let store = builder.with_retry(retry()).build().map_err(|cause| wrong(root, &cause))?;
    let credentials = match anonymous {
        true => Credentials::none(),
        false => Credentials::of(store.credentials(), root, given, credentials::AZURE),
    };
    Ok(Opened { store: Arc::new(store), s3: None, credentials })
}

pub fn wrong(root: &str, cause: &Error) -> Failure {
    Failure::unable(format!("{root}: {cause}"))
}

fn unknown(root: &str) -> Failure {
    let text = "this kind of store is not read; local paths, s3://, s3a://, gs:// and abfs:// are";
    Failure::unable(format!("{root}: {text}"))
}

/// Somebody may be waiting: an outage that lasts longer is said.
pub fn retry() -> RetryConfig {
    RetryConfig { retry_timeout: Duration::from_secs(45), ..RetryConfig::default() }
}

/// As object_store reads what is true.
pub fn is_set(value: Option<String>) -> bool {
    let value = value.unwrap_or_default().to_ascii_lowercase();
    ["1", "true", "on", "yes", "y"].contains(&value.as_str())
}

/// With those options that the store has; the others are of other stores.
fn configured<B: Builder>(options: &[(String, String)], builder: B) -> B {
    let with = |builder: B, (key, value): &(String, String)| match key.parse() {
        Ok(key) => builder.with(key, value),
        Err(_) => builder,
    };
    options.iter().fold(builder, with)
}

trait Builder: Sized {
    type Key: std::str::FromStr;
    fn with(self, key: Self::Key, value: &str) -> Self;
}

impl Builder for GoogleCloudStorageBuilder {
    type Key = GoogleConfigKey;
    fn with(self, key: Self::Key, value: &str) -> Self {
        self.with_config(key, value)
    }
}

impl Builder for MicrosoftAzureBuilder {
    type Key = AzureConfigKey;
    fn with(self, key: Self::Key, value: &str) -> Self {
        self.with_config(key, value)
    }
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

    #[test]
    fn other_schemes_are_told() {
        for root in ["hdfs://name", "memory://x", "nope://x"] {
            let failure = open(root, &[]).err().expect("a failure");
            assert!(
                failure.text.starts_with(root) && failure.text.contains("abfs://"),
                "{failure}"
            );
        }
    }
}
