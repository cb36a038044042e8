//! What S3 has beyond object_store's common interface: multipart uploads that were never completed, listed by
//! signed requests and aborted.
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpRequest, HttpRequestBody, ReqwestConnector,
};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{ClientOptions, Error};
use reqwest::Method;

use super::credentials::{self, Credentials};
use super::object::failed;
use super::open::{is_set, retry, wrong};
use super::uploads::{page_of_parts, page_of_uploads, Page, Upload};
use super::Location;
use crate::failure::{Failure, Result};

/// Of a page of a listing, which has at most a thousand entries.
const LARGEST_PAGE: usize = 16 << 20;

pub struct S3 {
    pub store: Arc<AmazonS3>,
    client: HttpClient,
    /// Public buckets are read without a signature; their uploads cannot be listed.
    anonymous: bool,
}

pub fn open(root: &str, options: &[(String, String)]) -> Result<(S3, Credentials)> {
    let mut builder = AmazonS3Builder::new().with_url(root);
    let mut client = ClientOptions::new();
    for (key, value) in options {
        if let Ok(key) = key.parse::<AmazonS3ConfigKey>() {
            if let AmazonS3ConfigKey::Client(key) = &key {
                client = client.with_config(*key, value);
            }
            builder = builder.with_config(key, value);
        }
    }
    let has = |key| builder.get_config_value(&key);
    let endpoint = has(AmazonS3ConfigKey::S3Endpoint).or(has(AmazonS3ConfigKey::Endpoint));
    // Whoever names an endpoint without TLS means it.
    let plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
    let anonymous = is_set(has(AmazonS3ConfigKey::SkipSignature));
    let given = anonymous || given(root, &builder)?;
    if plain {
        let key = ClientConfigKey::AllowHttp;
        client = client.with_config(key, "true");
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), "true");
    }
    let store = builder.with_retry(retry()).build().map_err(|cause| wrong(root, &cause))?;
    let client =
        ReqwestConnector::default().connect(&client).map_err(|cause| wrong(root, &cause))?;
    let credentials = match anonymous {
        true => Credentials::none(),
        false => Credentials::of(store.credentials(), root, given, credentials::S3),
    };
    Ok((S3 { store: Arc::new(store), client, anonymous }, credentials))
}

/// Half of a pair is told; without any the machine is asked.
fn given(root: &str, builder: &AmazonS3Builder) -> Result<bool> {
    use AmazonS3ConfigKey as Key;
    let has = |key| builder.get_config_value(&key).is_some_and(|value| !value.is_empty());
    let half = match (has(Key::AccessKeyId), has(Key::SecretAccessKey)) {
        (true, false) => "AWS_ACCESS_KEY_ID is given without AWS_SECRET_ACCESS_KEY",
        (false, true) => "AWS_SECRET_ACCESS_KEY is given without AWS_ACCESS_KEY_ID",
        (true, true) => return Ok(true),
        (false, false) => {
            let container =
                has(Key::ContainerCredentialsRelativeUri) || has(Key::ContainerCredentialsFullUri);
            return Ok(container || has(Key::WebIdentityTokenFile) && has(Key::RoleArn));
        }
    };
    Err(Failure::unable(format!("{root}: {half}. {}", credentials::S3)))
}

impl S3 {
    /// Multipart uploads whose keys lie below the directory, that were begun and neither completed nor
    /// aborted; without their sizes.
    pub async fn uploads(&self, directory: &Location) -> Result<Vec<Upload>> {
        let prefix = match directory.key() {
            "" => String::new(),
            key => format!("{key}/"),
        };
        let root = Location::parse(directory.root())?;
        let below =
            |upload: &Upload| upload.location.below(directory).is_some_and(|b| !b.is_empty());
        let parse = |text: &str| page_of_uploads(text, &root);
        let query = [("prefix", prefix.as_str()), ("uploads", "")];
        let all = self.pages(directory, &Path::default(), &query, parse).await?;
        Ok(all.into_iter().filter(below).collect())
    }

    /// The bytes of the parts that arrived.
    pub async fn size(&self, upload: &Upload) -> Result<u64> {
        let query = [("uploadId", upload.id.as_str())];
        let parts = self.pages(&upload.location, &key(upload)?, &query, page_of_parts).await?;
        Ok(parts.into_iter().fold(0, u64::saturating_add))
    }

    /// One that is gone already is a success.
    pub async fn abort(&self, upload: &Upload) -> Result<()> {
        match self.store.abort_multipart(&key(upload)?, &upload.id).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(cause) => Err(failed(&upload.location, &cause)),
        }
    }

    /// All pages of a listing. One that does not go on is not asked again.
    async fn pages<T>(
        &self,
        about: &Location,
        path: &Path,
        query: &[(&str, &str)],
        parse: impl Fn(&str) -> std::result::Result<Page<T>, String>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        let mut next: Vec<(String, String)> = Vec::new();
        loop {
            let asked: Vec<_> = query
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .chain(next.iter().cloned())
                .collect();
            let text = self.get(about, path, asked).await?;
            let page = parse(&text).map_err(|cause| {
                Failure::unable(format!("{about}: the store's list of uploads: {cause}"))
            })?;
            all.extend(page.entries);
            if page.next.is_empty() || page.next == next {
                return Ok(all);
            }
            next = page.next;
        }
    }

    async fn get(
        &self,
        about: &Location,
        path: &Path,
        query: Vec<(String, String)>,
    ) -> Result<String> {
        if self.anonymous {
            return Err(Failure::unable(format!(
                "{about}: open uploads are not told without credentials"
            )));
        }
        let options = SignedUrlOptions::new().with_query(query);
        let minutes = Duration::from_secs(300);
        let url = self.store.signed_url_opts(Method::GET, path, minutes, &options).await;
        let url = url.map_err(|cause| failed(about, &cause))?;
        // The address is signed: it is in no message.
        let unable = |what: &str| Failure::unable(format!("{about}: open uploads: {what}"));
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = url.as_str().parse().map_err(|_| unable("an address that is none"))?;
        let answer = self.client.execute(request).await;
        let answer = answer.map_err(|cause| unable(&format!("no answer ({:?})", cause.kind())))?;
        let status = answer.status();
        let mut body = Vec::new();
        let mut arriving = answer.into_body().bytes_stream();
        while let Some(bytes) = arriving.next().await {
            let bytes = bytes.map_err(|cause| unable(&format!("cut off ({:?})", cause.kind())))?;
            if body.len() + bytes.len() > LARGEST_PAGE {
                return Err(unable("an answer that is too long"));
            }
            body.extend_from_slice(&bytes);
        }
        match (status.is_success(), String::from_utf8(body)) {
            (true, Ok(text)) => Ok(text),
            (true, Err(_)) => Err(unable("an answer that is not UTF-8")),
            (false, text) => {
                let code = super::object::code(&text.unwrap_or_default());
                Err(unable(format!("the store answers {status} {code}").trim_end()))
            }
        }
    }
}

fn key(upload: &Upload) -> Result<Path> {
    let location = &upload.location;
    Path::parse(location.key()).map_err(|cause| Failure::unable(format!("{location}: {cause}")))
}

/// Of a time as S3 writes it.
pub fn time(text: &str) -> Option<SystemTime> {
    chrono::DateTime::parse_from_rfc3339(text).ok().map(SystemTime::from)
}
