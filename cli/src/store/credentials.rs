//! Whether a store's credentials can be had: asked once, before anything else is, so that what is missing is
//! told instead of what failed without it.
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use object_store::{CredentialProvider, Error};
use tokio::sync::OnceCell;

use crate::failure::{Failure, Result};

/// A machine's metadata service answers within milliseconds, or there is none.
const OF_THE_MACHINE: Duration = Duration::from_secs(5);
/// A token has to be exchanged for a credential.
const EXCHANGED: Duration = Duration::from_secs(60);

type Ask = Box<dyn Fn() -> BoxFuture<'static, std::result::Result<(), Error>> + Send + Sync>;

pub struct Credentials {
    ask: Option<Ask>,
    patience: Duration,
    given: bool,
    root: String,
    how: &'static str,
    asked: OnceCell<Result<()>>,
}

impl Credentials {
    /// None are needed: what is public is read.
    pub fn none() -> Self {
        Self {
            ask: None,
            patience: Duration::ZERO,
            given: false,
            root: String::new(),
            how: "",
            asked: OnceCell::new(),
        }
    }

    /// `given`: by options; otherwise the machine is asked. `how`: what a user may do.
    pub fn of<T: Send + Sync + 'static>(
        provider: &Arc<dyn CredentialProvider<Credential = T>>,
        root: &str,
        given: bool,
        how: &'static str,
    ) -> Self {
        let provider = Arc::clone(provider);
        let ask = move || -> BoxFuture<'static, _> {
            let provider = Arc::clone(&provider);
            Box::pin(async move { provider.get_credential().await.map(drop) })
        };
        let patience = if given { EXCHANGED } else { OF_THE_MACHINE };
        let root = root.to_owned();
        Self { ask: Some(Box::new(ask)), patience, given, root, how, asked: OnceCell::new() }
    }

    pub async fn ready(&self) -> Result<()> {
        let Some(ask) = &self.ask else { return Ok(()) };
        self.asked.get_or_init(|| self.once(ask())).await.clone()
    }

    async fn once(
        &self,
        asking: impl Future<Output = std::result::Result<(), Error>>,
    ) -> Result<()> {
        let cause = match tokio::time::timeout(self.patience, asking).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(cause)) => cause.to_string(),
            Err(_) => format!("no answer within {} s", self.patience.as_secs()),
        };
        let what = match self.given {
            false => "no credentials are given, and this machine has none",
            true => "the credentials that are given cannot be used",
        };
        Err(Failure::unable(format!("{}: {what} ({cause}). {}", self.root, self.how)))
    }
}

pub const S3: &str =
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN with temporary ones), or \
     AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or give -o aws_access_key_id=... -o \
     aws_secret_access_key=...; for a public bucket -o aws_skip_signature=true. Profiles in ~/.aws are not \
     read: eval \"$(aws configure export-credentials --format env)\"";

pub const GOOGLE: &str =
    "Set GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT to the path of a key file, or give -o \
     google_service_account=...; for a public bucket -o google_skip_signature=true";

pub const AZURE: &str =
    "Set AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_KEY, or AZURE_CLIENT_ID, AZURE_TENANT_ID and \
     AZURE_CLIENT_SECRET, or give them with -o, or -o azure_use_azure_cli=true; for a public container -o \
     azure_skip_signature=true";

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose metadata service swallows what it is sent: it is asked once, and not for long.
    #[tokio::test]
    async fn a_service_that_never_answers_is_not_waited_for() {
        let times = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let asked = Arc::clone(&times);
        let ask: Ask = Box::new(move || {
            asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Box::pin(std::future::pending())
        });
        let patience = Duration::from_millis(20);
        let credentials = Credentials { ask: Some(ask), patience, how: S3, ..Credentials::none() };
        for _ in 0..2 {
            let failure = credentials.ready().await.expect_err("none");
            for told in ["no answer within 0", "this machine has none", "AWS_ACCESS_KEY_ID"] {
                assert!(failure.text.contains(told), "{failure}");
            }
        }
        assert_eq!(times.load(std::sync::atomic::Ordering::SeqCst), 1);
    }
}
