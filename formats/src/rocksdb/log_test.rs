//! Records whole, in fragments, damaged.
use super::*;

#[test]
fn the_checksum_is_castagnolis() {
    // The check value of the CRC catalogue.
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}

fn written(fragments: &[(u8, &[u8])]) -> Vec<u8> {
    let mut log = Vec::new();
    for (kind, payload) in fragments {
        let mut covered = vec![*kind];
        covered.extend_from_slice(payload);
        let masked = crc32c(&covered).rotate_right(15).wrapping_add(0xa282_ead8);
        log.extend_from_slice(&masked.to_le_bytes());
        log.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        log.extend_from_slice(&covered);
    }
    log
}

fn payloads(log: &[u8]) -> Vec<Vec<u8>> {
    records(log).expect("well formed").into_iter().map(|record| record.bytes).collect()
}

#[test]
fn whole_and_fragmented_records() {
    let log = written(&[(FULL, b"one"), (FIRST, b"t"), (MIDDLE, b"w"), (LAST, b"o")]);
    assert_eq!(payloads(&log), [b"one".to_vec(), b"two".to_vec()]);
    assert!(records(b"").expect("empty").is_empty());
}

#[test]
fn a_record_over_a_block_border() {
    let first = vec![1; BLOCK - HEADER];
    let log = written(&[(FIRST, &first), (LAST, &[2; 9])]);
    assert_eq!(payloads(&log), [[first, vec![2; 9]].concat()]);
    // Fewer bytes than a header at a block's end are padding.
    let mut log = written(&[(FULL, &vec![1; BLOCK - HEADER - 3])]);
    log.extend_from_slice(&[0; 3]);
    log.extend(written(&[(FULL, b"next")]));
    assert_eq!(records(&log).expect("well formed").len(), 2);
}

#[test]
fn what_is_damaged_is_refused() {
    let good = written(&[(FULL, b"one"), (FIRST, b"two"), (LAST, b"three")]);
    for at in 0..good.len() {
        let mut damaged = good.clone();
        damaged[at] ^= 0x10;
        assert!(records(&damaged).is_err(), "every byte counts");
    }
    for length in 1..good.len() {
        // At the end of the first record it is another whole file.
        assert_eq!(records(&good[..length]).is_ok(), length == HEADER + 3, "{length}");
    }
    let mut zeroed = good.clone();
    zeroed[HEADER + 3..].fill(0);
    assert!(records(&zeroed).is_err());
    let cut = written(&[(FIRST, b"two")]);
    assert!(records(&cut).expect_err("cut off").what.contains("cut off"));
    assert!(records(&written(&[(LAST, b"two")])).is_err());
}

#[test]
fn what_is_written_over_blocks_is_read() {
    let sizes = [0, 1, BLOCK - HEADER - 3, 3 * BLOCK, BLOCK, 7];
    let written: Vec<Vec<u8>> = sizes.iter().map(|size| vec![9; *size]).collect();
    assert_eq!(payloads(&write(written.iter().map(Vec::as_slice))), written);
}
