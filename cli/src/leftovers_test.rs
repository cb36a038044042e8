//! One test a rule: what may be in use is spared.
use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn at(hours: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) + HOUR * hours as u32
}

fn job() -> Location {
    Location::parse("s3://b/job").expect("a location")
}

fn entry(path: &str, hours: u64) -> Entry {
    Entry { location: job().join(path), size: 10, modified: at(hours) }
}

/// Now is hour 100; checkpoint 7 completed at hour 50.
fn rules() -> Rules {
    Rules { now: at(100), min_age: HOUR * 24, checkpoint_timeout: HOUR, stopped: false }
}

fn in_use() -> InUse {
    InUse { newest: Some((7, at(50))), ..InUse::default() }
}

fn decided(entry: Entry, in_use: &InUse, rules: &Rules) -> Option<Spared> {
    let decision = decide(&job(), vec![entry], in_use, rules);
    assert_eq!(decision.leftovers.len() + decision.spared.len() + decision.used.0 as usize, 1);
    decision.spared.keys().next().copied()
}

#[test]
fn old_files_that_nothing_refers_to_are_leftovers() {
    for path in ["shared/x", "chk-3/x", "chk-7/x", "taskowned/x", "shared/deep/er/x"] {
        let decision = decide(&job(), vec![entry(path, 10)], &in_use(), &rules());
        assert_eq!(decision.leftovers.len(), 1, "{path}");
    }
}

#[test]
fn what_is_referred_to_is_used() {
    let mut in_use = in_use();
    in_use.files.insert(job().join("shared/x"));
    let decision =
        decide(&job(), vec![entry("shared/x", 1), entry("chk-7/_metadata", 1)], &in_use, &rules());
    assert_eq!((decision.leftovers.len(), decision.used), (0, (2, 20)));
}

#[test]
fn what_is_referred_to_by_another_path_is_used() {
    let mut in_use = in_use();
    in_use.files.insert(Location::parse("hdfs://elsewhere/job/shared/uuid").expect("a location"));
    in_use.names.insert("uuid".to_owned());
    let decision = decide(&job(), vec![entry("shared/uuid", 1)], &in_use, &rules());
    assert_eq!((decision.leftovers.len(), decision.used), (0, (1, 10)));
}

#[test]
fn young_files_are_spared() {
    assert_eq!(decided(entry("shared/x", 77), &in_use(), &rules()), Some(Spared::Young));
    // Whatever the other rules say, and even if its clock is ahead of ours.
    let stopped = Rules { stopped: true, ..rules() };
    assert_eq!(decided(entry("shared/x", 77), &in_use(), &stopped), Some(Spared::Young));
    assert_eq!(decided(entry("shared/x", 200), &in_use(), &stopped), Some(Spared::Young));
    let none = Rules { min_age: Duration::ZERO, ..stopped };
    assert_eq!(decided(entry("shared/x", 200), &in_use(), &none), Some(Spared::Young));
}

#[test]
fn what_a_checkpoint_in_flight_may_have_written_is_spared() {
    let young = Rules { min_age: Duration::ZERO, ..rules() };
    // Since the newest completed.
    assert_eq!(decided(entry("shared/x", 51), &in_use(), &young), Some(Spared::InFlight));
    assert_eq!(decided(entry("shared/x", 50), &in_use(), &young), Some(Spared::InFlight));
    assert_eq!(decided(entry("shared/x", 49), &in_use(), &young), None);
    // Several at a time: begun before the newest completed, but within the time-out.
    let long = Rules { checkpoint_timeout: HOUR * 60, ..young };
    assert_eq!(decided(entry("shared/x", 49), &in_use(), &long), Some(Spared::InFlight));
    assert_eq!(decided(entry("shared/x", 39), &in_use(), &long), None);
    // By its number.
    assert_eq!(decided(entry("chk-8/x", 10), &in_use(), &young), Some(Spared::InFlight));
    // No checkpoint completed yet.
    assert_eq!(decided(entry("shared/x", 10), &InUse::default(), &young), Some(Spared::InFlight));
    let stopped = Rules { stopped: true, ..young };
    assert_eq!(decided(entry("chk-8/x", 51), &in_use(), &stopped), None);
}

#[test]
fn what_task_managers_own_is_spared_for_a_day() {
    let soon = Rules { min_age: HOUR, ..rules() };
    let newest = InUse { newest: Some((7, at(95))), ..InUse::default() };
    assert_eq!(decided(entry("taskowned/x", 90), &newest, &soon), Some(Spared::TaskOwned));
    assert_eq!(decided(entry("shared/x", 90), &newest, &soon), None);
    assert_eq!(decided(entry("taskowned/x", 70), &newest, &soon), None);
}

#[test]
fn directories_of_file_merging_are_spared() {
    let mut in_use = in_use();
    in_use.merging.insert(job().join("shared/job_1"));
    assert_eq!(decided(entry("shared/job_1/x", 1), &in_use, &rules()), Some(Spared::Merging));
    assert_eq!(decided(entry("shared/job_1/a/x", 1), &in_use, &rules()), Some(Spared::Merging));
    assert_eq!(decided(entry("shared/job_12/x", 1), &in_use, &rules()), None);
}

#[test]
fn what_flink_did_not_write_is_spared() {
    for path in ["notes.txt", "chk-x/x", "backup/shared/x", "shared"] {
        assert_eq!(decided(entry(path, 1), &in_use(), &rules()), Some(Spared::Unknown), "{path}");
    }
}
