//! A store whose transfers wait for their turn at this process's one limiter. Retries nothing.
use std::path::Path;

use futures::future::BoxFuture;
use futures::FutureExt as _;

use super::{Bring, Store};
use crate::cancel::Cancel;
use crate::error::Result;
use crate::runtime::transfer_turn;

#[derive(Debug)]
pub struct Limited<S>(S);

impl<S: Store> Limited<S> {
    pub fn new(store: S) -> Self {
        Self(store)
    }
}

impl<S: Store> Store for Limited<S> {
    fn uri(&self) -> &str {
        self.0.uri()
    }

    fn put<'a>(
        &'a self,
        from: &'a Path,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<u64>> {
        async move {
            let _turn = transfer_turn(cancel, "the upload").await?;
            self.0.put(from, name, cancel).await
        }
        .boxed()
    }

    fn duplicate<'a>(
        &'a self,
        source: &'a str,
        size: u64,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            let _turn = transfer_turn(cancel, "the copy within the store").await?;
            self.0.duplicate(source, size, name, cancel).await
        }
        .boxed()
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        size: u64,
        to: &'a Path,
        how: Bring,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            let _turn = transfer_turn(cancel, "the download").await?;
            self.0.get(name, size, to, how, cancel).await
        }
        .boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<()>> {
        self.0.settle()
    }

    // Not limited: what undoes a transfer must not wait behind others.
    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.0.delete(name)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.0.list()
    }
}
