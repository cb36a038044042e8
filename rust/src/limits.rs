//! What the other side of the door can hold. RocksDB joins list elements without asking, so that a value
//! may have become larger than any array.
use crate::error::{Error, Kind, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Java's arrays and buffers end here, less a header.
const JAVA: usize = i32::MAX as usize - 64;

static LARGEST: AtomicUsize = AtomicUsize::new(JAVA);

/// For tests: what is larger is treated as too large for Java. None: what really is.
pub fn set_largest(bytes: Option<usize>) {
    LARGEST.store(bytes.unwrap_or(JAVA), Ordering::Relaxed);
}

/// Fails for what Java cannot hold.
#[inline]
pub fn check(length: usize, key: &[u8]) -> Result<()> {
    if length > LARGEST.load(Ordering::Relaxed) {
        return Err(too_large(length, key));
    }
    Ok(())
}

#[cold]
fn too_large(length: usize, key: &[u8]) -> Error {
    Error::new(
        Kind::TooLarge,
        format!("the value at key {} has {length} bytes: Java takes at most {JAVA}", hex(key)),
    )
}

/// The first bytes of a key, for messages.
fn hex(key: &[u8]) -> String {
    const SHOWN: usize = 32;
    let mut text: String = key.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if key.len() > SHOWN {
        text.push_str(&format!("... ({} bytes)", key.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_named_by_its_key_and_size() {
        check(JAVA, b"key").expect("fits");
        let error = check(JAVA + 1, b"\x01key").expect_err("does not fit");
        assert_eq!(error.kind, Kind::TooLarge);
        assert!(error.text.contains("016b6579") && error.text.contains("2147483584"), "{error}");
        let error = check(1 << 33, &[7; 100]).expect_err("does not fit");
        assert!(error.text.contains("... (100 bytes)"), "{error}");
    }
}
