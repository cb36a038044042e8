use super::*;

const POINT: u64 = 1 << 8 | 1;
const RANGE_END: u64 = u64::MAX << 8 | 0xf;

fn file(first: &[u8], last: &[u8], last_trailer: u64) -> TableFile {
    TableFile {
        number: 1,
        size: 1,
        level: 1,
        smallest: [first, &POINT.to_le_bytes()].concat(),
        largest: [last, &last_trailer.to_le_bytes()].concat(),
        smallest_seqno: 1,
        largest_seqno: 1,
        epoch: 1,
    }
}

fn points(first: &[u8], last: &[u8]) -> TableFile {
    file(first, last, POINT)
}

fn range(from: u8, to: u8) -> KeyRange {
    KeyRange { from: vec![from], to: Some(vec![to]) }
}

fn columns(files: &[TableFile]) -> Columns {
    Columns::from([("state".to_owned(), files.to_vec())])
}

#[test]
fn only_files_that_may_have_wanted_keys_are_taken() {
    let wanted = range(10, 20);
    assert!(wanted.touches(&points(&[9, 1], &[10, 0])));
    assert!(wanted.touches(&points(&[19, 255], &[30])));
    assert!(wanted.touches(&points(&[1], &[200])));
    assert!(!wanted.touches(&points(&[9], &[9, 255])));
    assert!(!wanted.touches(&points(&[20], &[30])));
    assert!(wanted.touches(&points(&[5], &[10])));
    assert!(!wanted.touches(&file(&[5], &[10], RANGE_END)), "ends before its last key");
    assert!(KeyRange { from: vec![10], to: None }.touches(&points(&[200], &[255])));
}

#[test]
fn dead_keys_are_named_exactly() {
    let wanted = range(10, 20);
    assert!(wanted.outside(&[points(&[10], &[19, 7])]).is_empty());
    assert!(wanted.outside(&[]).is_empty());
    let below = (vec![8, 3], vec![10]);
    let above = (vec![20], vec![25, 4, 0]);
    assert_eq!(wanted.outside(&[points(&[8, 3], &[12])]), std::slice::from_ref(&below));
    assert_eq!(wanted.outside(&[points(&[8, 3], &[12]), points(&[19], &[25, 4])]), [below, above]);
    assert!(wanted.outside(&[file(&[11], &[20], RANGE_END)]).is_empty(), "not a key of its own");
}

#[test]
fn the_part_with_dead_keys_is_in_the_way() {
    let (low, high) = (range(0, 10), range(10, 20));
    let clean = columns(&[points(&[10, 0], &[19])]);
    let dead = columns(&[points(&[1], &[10, 5])]);
    let dead_before = columns(&[points(&[1], &[10])]);
    assert_eq!(in_each_others_way(&[(&low, &dead), (&high, &clean)]), BTreeSet::from([0]));
    assert!(!are_apart(&[(&low, &dead), (&high, &clean)]));
    assert!(in_each_others_way(&[(&low, &dead_before), (&high, &clean)]).is_empty());
    assert!(are_apart(&[(&high, &clean), (&low, &dead_before)]));
    let both = columns(&[points(&[9], &[12])]);
    assert_eq!(in_each_others_way(&[(&low, &dead), (&high, &both)]), BTreeSet::from([0, 1]));
    // Other column families do not matter.
    let other = Columns::from([("other".to_owned(), vec![points(&[10, 0], &[19])])]);
    assert!(in_each_others_way(&[(&low, &dead), (&high, &other)]).is_empty());
    assert!(are_apart(&[(&low, &dead), (&high, &other)]));
}

#[test]
fn dead_keys_may_reach_over_a_neighbour() {
    let (first, second, third) = (range(0, 10), range(10, 20), range(20, 30));
    let (empty, last) = (Columns::new(), columns(&[points(&[20], &[29])]));
    let reaching = columns(&[points(&[1], &[22])]);
    let parts = [(&first, &reaching), (&second, &empty), (&third, &last)];
    assert_eq!(in_each_others_way(&parts), BTreeSet::from([0]));
}

#[test]
fn column_families_without_wanted_files_are_left_out() {
    let manifest = Manifest {
        columns: Columns::from([
            ("here".to_owned(), vec![points(&[1], &[2]), points(&[30], &[40])]),
            ("elsewhere".to_owned(), vec![points(&[30], &[40])]),
            ("empty".to_owned(), Vec::new()),
        ]),
    };
    let selected = select(manifest, &range(0, 10));
    assert_eq!(selected.keys().collect::<Vec<_>>(), ["here"]);
    assert_eq!(selected["here"].len(), 1);
}
