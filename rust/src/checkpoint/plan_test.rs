use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::ledger::{Ledger, Origin, SharedFile};
use super::*;

fn confirmed<S: AsRef<str>>(files: &[(S, u64)]) -> Base {
    let mut ledger = Ledger::new();
    let shared = |(name, size): &(S, u64)| SharedFile {
        local_name: name.as_ref().to_string(),
        size: *size,
        physical_id: format!("id of {}", name.as_ref()),
        origin: Origin::Uploaded,
        merged: name.as_ref().contains("merged"),
    };
    ledger.restore(1, files.iter().map(shared).collect());
    ledger.base()
}

fn live<S: AsRef<str>>(files: &[(S, u64)]) -> Vec<LiveFile> {
    let file = |(name, size): &(S, u64)| LiveFile { local_name: name.as_ref().into(), size: *size };
    files.iter().map(file).collect()
}

fn summary(planned: &[PlannedFile]) -> Vec<(&str, Role, bool)> {
    let reused = |file: &PlannedFile| matches!(file.action, Action::Reuse { .. });
    planned.iter().map(|f| (f.local_name.as_str(), f.role, reused(f))).collect()
}

#[test]
fn reuses_confirmed_ssts_and_uploads_the_rest_largest_first() {
    let base = confirmed(&[("000001.sst", 10), ("000002.sst", 20), ("CURRENT", 16)]);
    let files = [
        ("CURRENT", 16),
        ("000001.sst", 10),
        ("000003.sst", 900),
        ("MANIFEST-000004", 300),
        ("000005.log", 0),
        ("000006.log", 5),
    ];
    let planned = plan(live(&files), &base, Sharing::Refer);
    assert_eq!(
        summary(&planned),
        [
            ("000003.sst", Role::Sst, false),
            ("MANIFEST-000004", Role::Misc, false),
            ("CURRENT", Role::Misc, false),
            ("000001.sst", Role::Sst, true),
            ("000006.log", Role::Misc, false),
        ]
    );
    let reuse = Action::Reuse { physical_id: "id of 000001.sst".into(), merged: false };
    assert_eq!(planned[3].action, reuse);
}

#[test]
fn keeps_whether_a_file_was_merged() {
    let base = confirmed(&[("merged.sst", 10)]);
    let planned = plan(live(&[("merged.sst", 10)]), &base, Sharing::Refer);
    let reuse = Action::Reuse { physical_id: "id of merged.sst".into(), merged: true };
    assert_eq!(planned[0].action, reuse);
}

#[test]
fn uploads_a_file_whose_size_is_not_the_confirmed_one() {
    let base = confirmed(&[("000001.sst", 10)]);
    for sharing in [Sharing::Refer, Sharing::Own] {
        let planned = plan(live(&[("000001.sst", 11)]), &base, sharing);
        assert_eq!(planned[0].action, Action::Upload);
    }
}

#[test]
fn what_owns_all_its_files_copies_those_that_the_store_has_alone() {
    let base = confirmed(&[("000001.sst", 10), ("merged.sst", 10), ("CURRENT", 16)]);
    let files = [("000001.sst", 10), ("merged.sst", 10), ("new.sst", 10), ("CURRENT", 16)];
    let planned = plan(live(&files), &base, Sharing::Own);
    let copies: Vec<_> = planned.iter().filter(|file| file.action != Action::Upload).collect();
    let copy = Action::Copy { source: "id of 000001.sst".into() };
    assert_eq!(copies.iter().map(|file| &file.action).collect::<Vec<_>>(), [&copy]);
}

#[test]
fn what_may_not_be_referred_to_yet_is_copied() {
    let mut ledger = Ledger::new();
    let file = |id: &str| SharedFile {
        local_name: "a.sst".into(),
        size: 1,
        physical_id: id.into(),
        origin: Origin::Uploaded,
        merged: false,
    };
    ledger.record(1, vec![file("x")]);
    let planned = plan(live(&[("a.sst", 1)]), &ledger.base(), Sharing::Refer);
    assert_eq!(planned[0].action, Action::Copy { source: "x".into() });
}

#[test]
fn nothing_live_is_nothing_planned() {
    assert!(plan(Vec::new(), &confirmed(&[("000001.sst", 10)]), Sharing::Refer).is_empty());
}

fn files() -> impl Strategy<Value = BTreeMap<String, u64>> {
    let name = prop_oneof!["0000[0-9]{2}\\.(sst|log)", Just("CURRENT".into()), "MANIFEST-[0-9]"];
    proptest::collection::btree_map(name, 0..4_u64, 0..30)
}

proptest! {
    /// Flink's rule, said once more: an SST is reused iff its name is in the confirmed map.
    #[test]
    fn follows_the_rule_for_every_file(
        live_files in files(),
        confirmed_files in files(),
        own in any::<bool>(),
    ) {
        let pairs = |files: &BTreeMap<String, u64>| -> Vec<(String, u64)> {
            files.iter().map(|(name, size)| (name.clone(), *size)).collect()
        };
        let sharing = if own { Sharing::Own } else { Sharing::Refer };
        let base = confirmed(&pairs(&confirmed_files));
        let planned = plan(live(&pairs(&live_files)), &base, sharing);

        let expected = live_files.iter().filter(|(name, size)| !name.ends_with(".log") || **size > 0);
        prop_assert_eq!(planned.len(), expected.count());
        prop_assert!(planned.windows(2).all(|pair| pair[0].size >= pair[1].size));
        for file in &planned {
            prop_assert_eq!(live_files.get(&file.local_name), Some(&file.size));
            let sst = file.local_name.ends_with(".sst");
            prop_assert_eq!(file.role == Role::Sst, sst);
            let same = confirmed_files.get(&file.local_name) == Some(&file.size);
            prop_assert_eq!(file.action != Action::Upload, sst && same);
            let refers = matches!(file.action, Action::Reuse { .. });
            let copies = matches!(file.action, Action::Copy { .. });
            prop_assert_eq!(refers && own || copies && !own, false);
        }
    }
}
