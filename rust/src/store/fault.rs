//! A store in which one call goes wrong. For tests.
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::FutureExt as _;

use super::{Bring, Store};
use crate::cancel::Cancel;
use crate::error::{Error, Kind, Result};

/// What goes wrong; transfers (put, duplicate and get alike) are counted from 0.
#[derive(Debug)]
pub enum Fault {
    /// The k-th transfer fails before it moved a byte.
    Refuse(usize),
    /// The k-th transfer fails after all bytes are there, as when an answer is lost.
    LoseAnswer(usize),
    /// The k-th transfer panics after all bytes are there.
    Panic(usize),
    /// The k-th transfer sets this flag, then goes on.
    CancelAt(usize, Cancel),
    /// Every transfer says that it began and hangs until it is told to stop.
    Hang(Mutex<Sender<()>>),
    /// Names cannot be made durable.
    Settle,
    /// Nothing can be deleted, and the k-th transfer fails.
    Stuck(usize),
}

#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Store>,
    fault: Fault,
    transfers: AtomicUsize,
}

impl Faulty {
    pub fn wrap(inner: Arc<dyn Store>, fault: Fault) -> Arc<dyn Store> {
        Arc::new(Self { inner, fault, transfers: AtomicUsize::new(0) })
    }

    async fn around<T>(
        &self,
        cancel: &Cancel,
        transfer: impl std::future::Future<Output = Result<T>>,
    ) -> Result<T> {
        let number = self.transfers.fetch_add(1, Ordering::SeqCst);
        match &self.fault {
            Fault::Refuse(k) | Fault::Stuck(k) if number == *k => return Err(injected("refused")),
            Fault::CancelAt(k, caller) if number == *k => caller.trigger(),
            Fault::Hang(began) => {
                let _ = began.lock().expect("no panic here").send(());
                cancel.triggered().await;
                return Err(Error::cancelled("the hanging transfer"));
            }
            _ => {}
        }
        let result = transfer.await;
        match &self.fault {
            Fault::LoseAnswer(k) if number == *k => Err(injected("answer lost")),
            Fault::Panic(k) if number == *k => panic!("injected panic"),
            _ => result,
        }
    }
}

fn injected(what: &str) -> Error {
    Error::new(Kind::Io, format!("injected: {what}"))
}

impl Store for Faulty {
    fn uri(&self) -> &str {
        self.inner.uri()
    }

    fn put<'a>(
        &'a self,
        from: &'a Path,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<u64>> {
        self.around(cancel, self.inner.put(from, name, cancel)).boxed()
    }

    fn duplicate<'a>(
        &'a self,
        source: &'a str,
        size: u64,
        name: &'a str,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>> {
        self.around(cancel, self.inner.duplicate(source, size, name, cancel)).boxed()
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        size: u64,
        to: &'a Path,
        how: Bring,
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<()>> {
        self.around(cancel, self.inner.get(name, size, to, how, cancel)).boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<()>> {
        match self.fault {
            Fault::Settle => async { Err(injected("not durable")) }.boxed(),
            _ => self.inner.settle(),
        }
    }

    fn delete<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        match self.fault {
            Fault::Stuck(_) => async { Err(injected("not deleted")) }.boxed(),
            _ => self.inner.delete(name),
        }
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.inner.list()
    }
}
