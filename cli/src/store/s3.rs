//! What S3 has beyond object_store's common interface: credentials that are told to be absent at once, and
//! multipart uploads that were never completed, listed by signed requests and aborted.
use std::net::{TcpStream, ToSocketAddrs};
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
use object_store::{ClientOptions, Error, RetryConfig};
use reqwest::Method;

use super::object::failed;
use super::uploads::{page_of_parts, page_of_uploads, Page, Upload};
use super::Location;
use crate::failure::{Failure, Result};

/// The metadata service of an instance answers within milliseconds, or there is none.
const METADATA_PATIENCE: Duration = Duration::from_secs(1);
/// Of a page of a listing, which has at most a thousand entries.
const LARGEST_PAGE: usize = 16 << 20;

pub struct S3 {
    pub store: Arc<AmazonS3>,
    client: HttpClient,
    /// Public buckets are read without a signature; their uploads cannot be listed.
    anonymous: bool,
}

pub fn open(root: &str, options: &[(String, String)]) -> Result<S3> {
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
    let skip = has(AmazonS3ConfigKey::SkipSignature).unwrap_or_default().to_ascii_lowercase();
    let anonymous = ["1", "true", "on", "yes", "y"].contains(&skip.as_str());
    if !anonymous {
        credentials(root, &builder)?;
    }
    if plain {
        let key = ClientConfigKey::AllowHttp;
        client = client.with_config(key, "true");
        builder = builder.with_config(AmazonS3ConfigKey::Client(key), "true");
    }
    // Somebody may be waiting: an outage that lasts longer is said.
    let retry = RetryConfig { retry_timeout: Duration::from_secs(45), ..RetryConfig::default() };
    let wrong = |cause: Error| Failure::unable(format!("{root}: {cause}"));
    let store = builder.with_retry(retry).build().map_err(wrong)?;
    let client = ReqwestConnector::default().connect(&client).map_err(wrong)?;
    Ok(S3 { store: Arc::new(store), client, anonymous })
}

/// Without any the store would ask an instance's metadata service, for minutes where there is none.
fn credentials(root: &str, builder: &AmazonS3Builder) -> Result<()> {
    use AmazonS3ConfigKey as Key;
    let has = |key| builder.get_config_value(&key).is_some_and(|value| !value.is_empty());
    let text = match (has(Key::AccessKeyId), has(Key::SecretAccessKey)) {
        (true, true) => return Ok(()),
        (true, false) => "AWS_ACCESS_KEY_ID is given without AWS_SECRET_ACCESS_KEY".to_owned(),
        (false, true) => "AWS_SECRET_ACCESS_KEY is given without AWS_ACCESS_KEY_ID".to_owned(),
        (false, false) => {
            let token = has(Key::WebIdentityTokenFile) && has(Key::RoleArn);
            let container =
                has(Key::ContainerCredentialsRelativeUri) || has(Key::ContainerCredentialsFullUri);
            let given = builder.get_config_value(&Key::MetadataEndpoint);
            let service = given.unwrap_or_else(|| "http://169.254.169.254".to_owned());
            if token || container || answers(&service) {
                return Ok(());
            }
            format!(
                "no credentials are given, and no instance's metadata service answers at {service}"
            )
        }
    };
    Err(Failure::unable(format!("{root}: {text}. {HOW}")))
}

const HOW: &str =
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN with temporary ones), \
     or AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or give -o aws_access_key_id=... -o \
     aws_secret_access_key=...; for a public bucket -o aws_skip_signature=true. Profiles in ~/.aws are not \
     read: eval \"$(aws configure export-credentials --format env)\"";

fn answers(service: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(service) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or(80);
    let addresses = (host, port).to_socket_addrs().into_iter().flatten();
    addresses.take(2).any(|address| TcpStream::connect_timeout(&address, METADATA_PATIENCE).is_ok())
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
