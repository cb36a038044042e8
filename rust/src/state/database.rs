//! A database and the buffer and timer queues in front of it: what looks at all states at once.
use super::timers::Queues;
use super::State;
use crate::buffer::Buffer;
use crate::config::Config;
use crate::db::Db;
use crate::error::Result;
use crate::memory::Memory;
use std::path::Path;
use std::sync::Arc;

pub struct Database {
    pub(super) buffer: Option<Arc<Buffer>>,
    pub(super) queues: Arc<Queues>,
    db: Arc<Db>,
}

impl Database {
    /// See `Db::open`.
    pub fn open(path: &Path, config: &Config, memory: Option<Arc<Memory>>) -> Result<Self> {
        let db = Db::open(path, config, memory.clone())?;
        let queues = Arc::new(Queues::new(config, memory.clone()));
        Ok(Self { buffer: Buffer::new(config, memory), queues, db })
    }

    #[must_use]
    pub fn db(&self) -> &Arc<Db> {
        &self.db
    }

    /// The state `name`; its column family is created when absent.
    pub fn state(&self, name: &str) -> Result<State> {
        State::open(self, name)
    }

    fn flush_buffer(&self) -> Result<()> {
        self.db.check()?;
        self.queues.flush()?;
        match &self.buffer {
            Some(buffer) => buffer.flush(),
            None => Ok(()),
        }
    }

    /// See `Db::checkpoint`.
    pub fn checkpoint(&self, directory: &Path) -> Result<()> {
        self.flush_buffer()?;
        self.db.checkpoint(directory)
    }

    /// See `Db::flush`.
    pub fn flush(&self) -> Result<()> {
        self.flush_buffer()?;
        self.db.flush()
    }

    /// See `Db::compact`. What the filters drop is not known any longer.
    pub fn compact(&self) -> Result<()> {
        self.past_buffer(Db::compact)
    }

    /// Writes to the database past the buffer.
    pub fn past_buffer<R>(&self, write: impl FnOnce(&Arc<Db>) -> Result<R>) -> Result<R> {
        self.flush_buffer()?;
        let result = write(&self.db);
        let forgotten = self.buffer.as_ref().map_or(Ok(()), |buffer| buffer.forget());
        let forgotten = forgotten.and_then(|()| self.queues.forget());
        let result = result?;
        forgotten.map(|()| result)
    }

    /// As `Db::property`, and what is counted of the buffer: "ferrostate.buffer-" and hits, misses, flushes,
    /// written (rows or maps), dirty-bytes, bytes.
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        let Some(of_buffer) = name.strip_prefix("ferrostate.buffer-") else {
            return self.db.property(name);
        };
        self.db.check()?;
        Ok(self.buffer.as_ref().and_then(|buffer| property(buffer, of_buffer)))
    }
}

fn property(buffer: &Buffer, name: &str) -> Option<String> {
    let counters = buffer.counters();
    let value = match name {
        "hits" => counters.hits,
        "misses" => counters.misses,
        "flushes" => counters.flushes,
        "written" => counters.written,
        "dirty-bytes" => buffer.usage().0 as u64,
        "bytes" => buffer.usage().1 as u64,
        _ => return None,
    };
    Some(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a query or another thread of a task might.
    #[test]
    fn what_is_written_through_the_buffer_while_somebody_writes_past_it_is_kept() {
        let directory = tempfile::tempdir().expect("temp dir");
        let config = Config::parse([("buffer.enabled", "true")]).expect("config");
        let database = Database::open(directory.path(), &config, None).expect("open");
        let state = database.state("state").expect("state");
        assert_eq!(state.get(b"below").expect("get"), None);
        let write = |_: &Arc<Db>| {
            state.column().put(b"below", b"past")?;
            state.put(b"key", 0, b"through")
        };
        database.past_buffer(write).expect("written");
        for (key, value) in [(&b"below"[..], &b"past"[..]), (b"key", b"through")] {
            assert_eq!(state.get(key).expect("get").as_deref(), Some(value));
            assert_eq!(state.column().get(key).expect("get").as_deref(), Some(value));
        }
    }
}
