use super::*;
use proptest::prelude::*;

/// A file with the keys `first..=last`, all of the one version `seqno`.
fn file(level: u32, first: u8, last: u8, seqno: u64) -> TableFile {
    let trailer = (seqno << 8 | 1).to_le_bytes();
    TableFile {
        number: seqno,
        size: 1,
        level,
        smallest: [&[first][..], &trailer].concat(),
        largest: [&[last][..], &trailer].concat(),
        smallest_seqno: seqno,
        largest_seqno: seqno,
        epoch: seqno,
    }
}

fn levels(files: &[TableFile]) -> Vec<(u64, u32)> {
    let mut levels: Vec<_> = files.iter().map(|file| (file.number, file.level)).collect();
    levels.sort_unstable();
    levels
}

/// The version of a key that RocksDB would find: the first one on the way down.
fn found(files: &[TableFile], key: u8) -> Option<u64> {
    let has = |file: &&TableFile| file.first_key() <= &[key][..] && &[key][..] <= file.last_key();
    let on = |level: u32| files.iter().filter(move |file| file.level == level).filter(has);
    on(0)
        .max_by_key(|file| file.epoch)
        .or_else(|| (1..=6).find_map(|l| on(l).next()))
        .map(|file| file.number)
}

#[test]
fn files_of_disjoint_parts_leave_level_0() {
    let part = |key: u8| vec![file(0, key, key + 1, 1), file(0, key, key + 5, 2)];
    let mut parts = vec![part(0), part(10), part(20)];
    relieve_level_0(&mut parts);
    for files in &parts {
        assert_eq!(levels(files), [(1, 2), (2, 1)]);
    }
}

#[test]
fn deeper_files_make_room_for_newer_ones() {
    let mut parts = vec![
        vec![file(1, 0, 9, 1), file(0, 5, 6, 2), file(0, 12, 13, 3), file(0, 6, 12, 4)],
        vec![file(1, 20, 29, 1), file(1, 30, 39, 2), file(0, 20, 21, 3)],
    ];
    relieve_level_0(&mut parts);
    assert_eq!(levels(&parts[0]), [(1, 3), (2, 2), (3, 2), (4, 1)]);
    assert_eq!(levels(&parts[1]), [(1, 2), (2, 1), (3, 1)]);
}

#[test]
fn a_part_with_too_many_versions_stays() {
    let deep: Vec<_> = (1..=7).map(|seqno| file(0, 0, 9, seqno)).collect();
    let mut parts = vec![deep.clone(), vec![file(0, 20, 29, 1)]];
    relieve_level_0(&mut parts);
    assert_eq!(parts[0], deep);
    assert_eq!(levels(&parts[1]), [(1, 1)]);
}

#[test]
fn few_files_and_single_parts_stay_as_they_are() {
    let one = vec![vec![file(0, 0, 9, 1), file(0, 0, 9, 2), file(0, 0, 9, 3)]];
    let few = vec![vec![file(0, 0, 9, 1)], vec![file(0, 10, 19, 1)]];
    for mut parts in [one, few] {
        let before = parts.clone();
        relieve_level_0(&mut parts);
        assert_eq!(parts, before);
    }
}

/// A part as RocksDB would leave it: levels deeper down are older, files on one do not overlap.
fn part() -> impl Strategy<Value = Vec<TableFile>> {
    let file = (0..4_u32, 0..20_u8, 0..6_u8);
    proptest::collection::vec(file, 0..16).prop_map(|mut wanted| {
        wanted.sort_by_key(|(level, ..)| std::cmp::Reverse(*level));
        let mut files: Vec<TableFile> = Vec::new();
        for (seqno, (level, first, length)) in (1..).zip(wanted) {
            let new = file_of(level, first, length, seqno);
            if level == 0 || files.iter().all(|old| old.level != level || !overlap(old, &new)) {
                files.push(new);
            }
        }
        files
    })
}

fn file_of(level: u32, first: u8, length: u8, seqno: u64) -> TableFile {
    file(level, first, first + length, seqno)
}

proptest! {
    #[test]
    fn every_key_keeps_its_newest_version(part in part()) {
        let before: Vec<_> = (0..=30).map(|key| found(&part, key)).collect();
        let count = part.iter().filter(|file| file.level == 0).count();
        let mut parts = vec![part, vec![file(0, 100, 100, 1), file(0, 101, 101, 2), file(0, 102, 102, 3)]];
        relieve_level_0(&mut parts);
        let part = &parts[0];
        let after: Vec<_> = (0..=30).map(|key| found(part, key)).collect();
        prop_assert_eq!(before, after);
        for (at, one) in part.iter().enumerate().filter(|(_, file)| file.level > 0) {
            for two in part[at + 1..].iter().filter(|two| two.level == one.level) {
                prop_assert!(!overlap(one, two), "two files of one level overlap");
            }
        }
        prop_assert!(part.iter().filter(|file| file.level == 0).count() <= count);
    }
}
