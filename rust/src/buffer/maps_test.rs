//! What is known of a map after its rows were read, cleared, or could not be written.
use super::model_tests::{stored, Subject, SMALLEST};
use crate::db;

fn get(s: &Subject, key: &[u8], map: usize) -> Option<Vec<u8>> {
    let mut page = vec![0; 1 << 12];
    let length = s.maps.get(key, map, &mut page).expect("get")?;
    Some(page[..length].to_vec())
}

/// To read a map makes room, for which the map itself may be flushed.
#[test]
fn a_row_flushed_while_its_map_was_read_is_deleted_below_too() {
    let s = Subject::new(SMALLEST);
    let mut page = [0; 1 << 10];
    for n in 0u32..4000 {
        let map = [&b"m"[..], &n.to_be_bytes()].concat();
        let row = |user: u8| [&map[..], &[user]].concat();
        s.maps.column().put(&row(b'a'), &[b'-'; 20]).expect("put");
        s.maps.put(&row(b'b'), map.len(), b"value").expect("put");
        s.maps.scan_map(&map, map.len(), false, 9, &mut page).expect("scan");
        s.maps.delete(&row(b'b'), map.len()).expect("delete");
    }
    s.buffer.flush().expect("flush");
    let left = stored(&s.maps).iter().filter(|(key, _)| key.last() == Some(&b'b')).count();
    assert_eq!(left, 0, "rows that were deleted");
}

/// About the limit from which on a map has no record.
#[test]
fn a_cleared_map_with_any_prefix_takes_rows() {
    let s = Subject::new(SMALLEST);
    for length in 1..150 {
        let row = vec![u8::try_from(length).expect("short"); length + 1];
        s.maps.clear_map(&row[..length]).expect("clear");
        s.maps.put(&row, length, b"value").expect("put");
        assert_eq!(get(&s, &row, length).as_deref(), Some(&b"value"[..]), "{length}");
        assert!(s.maps.map_has_rows(&row[..length]).expect("look"), "{length}");
    }
}

#[test]
fn of_a_map_that_was_cleared_half_way_nothing_is_known() {
    let s = Subject::new(8 << 20);
    let row = |n: u32| [&b"map"[..], &n.to_be_bytes(), &[b'k'; 1 << 10]].concat();
    for n in 0..3000 {
        s.maps.put(&row(n), 3, b"value").expect("put");
    }
    s.buffer.flush().expect("flush");
    db::fail_writes_after(1);
    let cleared = s.maps.clear_map(b"map");
    db::fail_writes(false);
    cleared.expect_err("the second batch fails");
    let left = stored(&s.maps).len();
    assert!(0 < left && left < 3000, "{left}");
    let seen = (0..3000).filter(|n| get(&s, &row(*n), 3).is_some()).count();
    assert_eq!(seen, left);
}
