//! Two models: Flink's rules restated over a plain log of events, and a JobManager that deletes files
//! as Flink's SharedStateRegistry does.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::super::plan::{plan, Action, LiveFile, Sharing};
use super::*;

fn file(name: &str, id: &str, origin: Origin) -> SharedFile {
    SharedFile { local_name: name.into(), size: 1, physical_id: id.into(), origin, merged: false }
}

fn uploaded(name: &str, id: &str) -> SharedFile {
    file(name, id, Origin::Uploaded)
}

fn placeholder(name: &str, id: &str) -> SharedFile {
    file(name, id, Origin::Placeholder)
}

fn reusable(ledger: &Ledger) -> BTreeMap<String, String> {
    let base = ledger.base();
    base.files.into_iter().map(|(name, file)| (name, file.physical_id)).collect()
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, id)| (name.to_string(), id.to_string())).collect()
}

#[test]
fn a02_nothing_unconfirmed_is_reused() {
    let mut ledger = Ledger::new();
    ledger.record(1, vec![uploaded("a", "x")]);
    assert!(ledger.base().is_empty());
    ledger.confirm(1);
    assert_eq!(reusable(&ledger), map(&[("a", "x")]));
}

#[test]
fn a03_overlapping_checkpoints_keep_their_own_copies() {
    let mut ledger = Ledger::new();
    ledger.record(1, vec![uploaded("a", "x")]);
    ledger.record(2, vec![uploaded("a", "y"), uploaded("b", "z")]);
    ledger.confirm(1);
    // The JobManager may complete 2 and delete x before the next checkpoint is acknowledged.
    assert!(ledger.base().is_empty());
    ledger.confirm(2);
    assert_eq!(reusable(&ledger), map(&[("a", "y"), ("b", "z")]));
}

#[test]
fn a26_a_savepoint_changes_nothing() {
    let mut ledger = Ledger::new();
    ledger.record(1, vec![uploaded("a", "x")]);
    ledger.confirm(1);
    ledger.confirm(2);
    assert_eq!(reusable(&ledger), map(&[("a", "x")]));
    ledger.record(3, vec![placeholder("a", "x"), uploaded("b", "y")]);
    assert_eq!(reusable(&ledger), map(&[("a", "x")]));
    ledger.confirm(3);
    assert_eq!(reusable(&ledger), map(&[("a", "x"), ("b", "y")]));
}

#[test]
fn a_late_confirmation_changes_nothing() {
    let mut ledger = Ledger::new();
    ledger.record(1, vec![uploaded("a", "x")]);
    ledger.record(2, vec![uploaded("a", "y")]);
    ledger.confirm(2);
    ledger.confirm(1);
    assert_eq!(reusable(&ledger), map(&[("a", "y")]));
}

#[test]
fn an_aborted_checkpoint_is_forgotten() {
    let mut ledger = Ledger::new();
    ledger.record(1, vec![uploaded("a", "x")]);
    ledger.confirm(1);
    ledger.record(2, vec![uploaded("a", "y")]);
    assert!(ledger.base().is_empty());
    ledger.abort(2);
    assert_eq!(reusable(&ledger), map(&[("a", "x")]));
    ledger.confirm(2);
    assert_eq!(reusable(&ledger), map(&[("a", "x")]));
}

#[test]
fn a_restored_checkpoint_counts_as_confirmed() {
    let mut ledger = Ledger::new();
    ledger.restore(7, vec![uploaded("a", "x")]);
    ledger.confirm(6);
    assert_eq!(reusable(&ledger), map(&[("a", "x")]));
    ledger.record(8, vec![placeholder("a", "x")]);
    ledger.confirm(8);
    assert_eq!(reusable(&ledger), map(&[("a", "x")]));
}

#[test]
fn a_base_stays_as_it_was_frozen() {
    let mut ledger = Ledger::new();
    ledger.restore(1, vec![uploaded("a", "x")]);
    let base = ledger.base();
    ledger.record(2, vec![uploaded("b", "y")]);
    ledger.confirm(2);
    assert_eq!((base.len(), base.get("a").map(|f| f.physical_id.as_str())), (1, Some("x")));
}

#[test]
fn what_a_checkpoint_on_its_way_may_upload_again_is_not_reused() {
    let ledger = Arc::new(SharedLedger::default());
    ledger.lock().restore(1, vec![uploaded("a", "x")]);
    let incremental = FrozenBase::freeze(Arc::clone(&ledger));
    assert_eq!(reusable(&ledger.lock()), map(&[("a", "x")]));

    ledger.lock().record(2, vec![uploaded("a", "x"), uploaded("b", "y")]);
    ledger.lock().confirm(2);
    assert_eq!(reusable(&ledger.lock()), map(&[("a", "x")]), "b may go up a second time");

    incremental.reuses_nothing();
    assert!(ledger.lock().base().is_empty());
    drop(incremental);
    assert_eq!(reusable(&ledger.lock()), map(&[("a", "x"), ("b", "y")]));
}

fn copied(ledger: &Ledger, name: &str) -> Option<String> {
    ledger.base().copy_of(name).map(|file| file.physical_id.clone())
}

#[test]
fn copies_are_made_of_the_youngest_object_whether_confirmed_or_not() {
    let mut ledger = Ledger::new();
    ledger.restore(1, vec![uploaded("a", "x"), uploaded("b", "y")]);
    assert_eq!(copied(&ledger, "a").as_deref(), Some("x"));
    ledger.record(2, vec![uploaded("a", "own")]);
    assert_eq!(copied(&ledger, "a").as_deref(), Some("own"));
    assert_eq!(copied(&ledger, "b").as_deref(), Some("y"));
    ledger.abort(2);
    assert_eq!(copied(&ledger, "a").as_deref(), Some("x"));
}

#[test]
fn nothing_is_copied_out_of_a_merged_file() {
    let mut ledger = Ledger::new();
    ledger.restore(1, vec![SharedFile { merged: true, ..uploaded("a", "x") }]);
    assert_eq!((copied(&ledger, "a"), reusable(&ledger).len()), (None, 1));
}

#[test]
fn lent_files_are_copied_until_a_checkpoint_is_confirmed_and_never_referred_to() {
    let mut ledger = Ledger::new();
    ledger.restore(1, Vec::new());
    ledger.lend(vec![uploaded("a", "theirs")]);
    assert_eq!(copied(&ledger, "a").as_deref(), Some("theirs"));
    assert!(reusable(&ledger).is_empty());
    ledger.record(2, vec![uploaded("b", "own")]);
    assert_eq!(copied(&ledger, "a").as_deref(), Some("theirs"));
    ledger.confirm(2);
    assert_eq!(copied(&ledger, "a"), None);
}

#[test]
fn a_savepoint_on_its_way_holds_nobody_up() {
    let ledger = Arc::new(SharedLedger::default());
    ledger.lock().restore(1, vec![uploaded("a", "x")]);
    let savepoint = FrozenBase::freeze(Arc::clone(&ledger));
    savepoint.concerns_nobody();
    ledger.lock().record(2, vec![uploaded("b", "y")]);
    ledger.lock().confirm(2);
    assert_eq!(reusable(&ledger.lock()), map(&[("b", "y")]));
    assert!(savepoint.base().copy_of("a").is_some(), "it still knows what it may copy");
}

// ---- Flink's rules over a log of events ----

#[derive(Debug, Clone)]
enum Event {
    Record(i64, Vec<SharedFile>),
    Restore(i64, Vec<SharedFile>),
    Confirm(i64),
    Abort(i64),
}

/// Whether checkpoint `id` is remembered after `log`, and with what.
fn remembered(log: &[Event], id: i64) -> Option<&Vec<SharedFile>> {
    let mut files = None;
    for (index, event) in log.iter().enumerate() {
        match event {
            Event::Record(other, new) | Event::Restore(other, new) if *other == id => {
                files = Some(new);
            }
            Event::Abort(other) if *other == id => files = None,
            Event::Confirm(other) if *other > id && takes_effect(&log[..index], *other) => {
                files = None;
            }
            _ => {}
        }
    }
    files
}

fn takes_effect(before: &[Event], id: i64) -> bool {
    id > last_completed(before) && remembered(before, id).is_some()
}

fn last_completed(log: &[Event]) -> i64 {
    for (index, event) in log.iter().enumerate().rev() {
        match event {
            Event::Restore(id, _) => return *id,
            Event::Confirm(id) if takes_effect(&log[..index], *id) => return *id,
            _ => {}
        }
    }
    -1
}

fn expected(log: &[Event]) -> BTreeMap<String, String> {
    let last = last_completed(log);
    let uploaded_later = |name: &str| {
        (last + 1..MAX_ID)
            .filter_map(|id| remembered(log, id))
            .flatten()
            .any(|file| file.local_name == name && file.origin == Origin::Uploaded)
    };
    let confirmed = remembered(log, last).into_iter().flatten();
    confirmed
        .filter(|file| !uploaded_later(&file.local_name))
        .map(|file| (file.local_name.clone(), file.physical_id.clone()))
        .collect()
}

const MAX_ID: i64 = 8;

fn shared_files() -> impl Strategy<Value = Vec<SharedFile>> {
    let one = ("[a-d]", "[w-z]", any::<bool>());
    proptest::collection::btree_map("[a-d]", one, 0..4).prop_map(|files| {
        let origin = |new| if new { Origin::Uploaded } else { Origin::Placeholder };
        files.into_iter().map(|(name, (_, id, new))| file(&name, &id, origin(new))).collect()
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..MAX_ID, shared_files()).prop_map(|(id, files)| Event::Record(id, files)),
        3 => (0..MAX_ID).prop_map(Event::Confirm),
        2 => (0..MAX_ID).prop_map(Event::Abort),
    ]
}

fn restored() -> impl Strategy<Value = Option<Event>> {
    let restore = (0..3_i64, shared_files()).prop_map(|(id, files)| Event::Restore(id, files));
    proptest::option::of(restore)
}

proptest! {
    #[test]
    fn follows_flinks_rules(first in restored(), events in proptest::collection::vec(event(), 0..14)) {
        let log: Vec<_> = first.into_iter().chain(events).collect();
        let mut ledger = Ledger::new();
        for (index, event) in log.iter().enumerate() {
            match event.clone() {
                Event::Record(id, files) => ledger.record(id, files),
                Event::Restore(id, files) => ledger.restore(id, files),
                Event::Confirm(id) => ledger.confirm(id),
                Event::Abort(id) => ledger.abort(id),
            }
            prop_assert_eq!(reusable(&ledger), expected(&log[..=index]));
        }
    }
}

// ---- against a JobManager that deletes ----

/// Registers and deletes as Flink's SharedStateRegistry does, with one retained checkpoint.
#[derive(Default)]
struct JobManager {
    /// Physical id -> last checkpoint that used it.
    registered: BTreeMap<String, i64>,
    pending: BTreeMap<i64, Vec<SharedFile>>,
    completed: i64,
    /// What the task has not been told yet, in order.
    notices: VecDeque<(i64, bool)>,
}

impl JobManager {
    fn acknowledge(&mut self, id: i64, files: Vec<SharedFile>) {
        for file in &files {
            let known = self.registered.get(&file.physical_id).copied();
            assert!(
                file.origin == Origin::Uploaded || known.is_some(),
                "checkpoint {id} refers to {} that is deleted",
                file.physical_id
            );
            let used = known.unwrap_or(id).max(id);
            self.registered.insert(file.physical_id.clone(), used);
        }
        self.pending.insert(id, files);
    }

    fn complete(&mut self, id: i64) {
        let files = self.pending.remove(&id).expect("acknowledged");
        let older: Vec<_> = self.pending.range(..id).map(|(older, _)| *older).collect();
        for older in older {
            self.abort(older);
        }
        self.completed = id;
        self.registered.retain(|_, used| *used >= id);
        for file in files {
            assert!(self.registered.contains_key(&file.physical_id), "{id} is not whole");
        }
        self.notices.push_back((id, true));
    }

    fn abort(&mut self, id: i64) {
        self.pending.remove(&id);
        self.notices.push_back((id, false));
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// New SSTs and a compaction that removes some, then the synchronous part of a checkpoint.
    Begin {
        new: usize,
        gone: usize,
        full: bool,
    },
    /// An asynchronous part ends, in any order.
    End(prop::sample::Index),
    Fail(prop::sample::Index),
    Savepoint,
    Complete(prop::sample::Index),
    Abort(prop::sample::Index),
    /// The task hears the next notice.
    Notice,
}

fn step() -> impl Strategy<Value = Step> {
    let full = prop::bool::weighted(0.2);
    prop_oneof![
        4 => (0..3_usize, 0..2_usize, full).prop_map(|(new, gone, full)| Step::Begin { new, gone, full }),
        4 => any::<prop::sample::Index>().prop_map(Step::End),
        1 => any::<prop::sample::Index>().prop_map(Step::Fail),
        1 => Just(Step::Savepoint),
        3 => any::<prop::sample::Index>().prop_map(Step::Complete),
        1 => any::<prop::sample::Index>().prop_map(Step::Abort),
        4 => Just(Step::Notice),
    ]
}

/// A checkpoint between its synchronous part and its end.
struct Running {
    id: i64,
    live: BTreeSet<usize>,
    full: bool,
    base: FrozenBase,
}

/// A task with several checkpoints on their way; everything the JobManager says may be late.
#[derive(Default)]
struct Task {
    ledger: Arc<SharedLedger>,
    live: BTreeSet<usize>,
    running: Vec<Running>,
    next_file: usize,
    next_checkpoint: i64,
}

impl Task {
    fn churn(&mut self, new: usize, gone: usize) {
        for _ in 0..gone {
            self.live.pop_first();
        }
        self.live.extend(self.next_file..self.next_file + new);
        self.next_file += new;
    }

    fn begin(&mut self, full: bool) {
        self.next_checkpoint += 1;
        let base = FrozenBase::freeze(Arc::clone(&self.ledger));
        if full {
            base.reuses_nothing();
        }
        let (id, live) = (self.next_checkpoint, self.live.clone());
        self.running.push(Running { id, live, full, base });
    }

    fn end(&mut self, which: usize) -> (i64, Vec<SharedFile>) {
        let Running { id, live, full, base } = self.running.remove(which);
        let live = live.iter().map(|n| LiveFile { local_name: format!("{n}.sst"), size: 1 });
        let sharing = if full { Sharing::Own } else { Sharing::Refer };
        let planned = plan(live.collect(), base.base(), sharing);
        let files: Vec<_> = planned
            .into_iter()
            .map(|planned| match planned.action {
                Action::Reuse { physical_id, .. } => placeholder(&planned.local_name, &physical_id),
                new => {
                    if let Action::Copy { source } = new {
                        let same = format!("{} of ", planned.local_name);
                        assert!(source.starts_with(&same), "{source} is not {same}");
                    }
                    uploaded(&planned.local_name, &format!("{} of {id}", planned.local_name))
                }
            })
            .collect();
        self.ledger.lock().record(id, files.clone());
        (id, files)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_checkpoint_refers_to_a_file_that_the_job_manager_deleted(
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let (mut task, mut jobs) = (Task::default(), JobManager::default());
        for step in steps {
            let pending: Vec<_> = jobs.pending.keys().copied().collect();
            let running: Vec<_> = (0..task.running.len()).collect();
            match step {
                Step::Begin { new, gone, full } => {
                    task.churn(new, gone);
                    task.begin(full);
                }
                Step::End(which) if !running.is_empty() => {
                    let (id, files) = task.end(*which.get(&running));
                    // Older than a completed one: nobody restores from it.
                    if id > jobs.completed {
                        jobs.acknowledge(id, files);
                    }
                }
                Step::Fail(which) if !running.is_empty() => {
                    let failed = task.running.remove(*which.get(&running));
                    jobs.notices.push_back((failed.id, false));
                }
                Step::Savepoint => {
                    task.next_checkpoint += 1;
                    jobs.notices.push_back((task.next_checkpoint, true));
                }
                Step::Complete(which) if !pending.is_empty() => jobs.complete(*which.get(&pending)),
                Step::Abort(which) if !pending.is_empty() => jobs.abort(*which.get(&pending)),
                Step::Notice => match jobs.notices.pop_front() {
                    Some((id, true)) => task.ledger.lock().confirm(id),
                    Some((id, false)) => task.ledger.lock().abort(id),
                    None => {}
                },
                Step::End(_) | Step::Fail(_) | Step::Complete(_) | Step::Abort(_) => {}
            }
        }
    }
}
