//! The states that a description of keyed state names (`KeyedBackendSerializationProxy`: the meta file of a
//! RocksDB checkpoint, the begin of a stream of key groups), and their kinds. The serializers in it have no
//! length, so that it cannot be walked; but each state has a mark that nothing else has.

/// A state of a keyed backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    pub name: String,
    /// VALUE, LIST, MAP, REDUCING, AGGREGATING or TIMERS, as Flink names them.
    pub kind: String,
}

/// The most that is looked at: more serializers than this no job has.
const MOST: usize = 4 << 20;

/// The states in the order in which they are described. None are found in what is no such description.
#[must_use]
pub fn states(bytes: &[u8]) -> Vec<State> {
    let bytes = &bytes[..bytes.len().min(MOST)];
    let mut states = Vec::new();
    let mut at = 0;
    while let Some((mark, kind, end)) = next(bytes, at) {
        if let Some(name) = name_before(&bytes[..mark]) {
            states.push(State { name, kind });
        }
        at = end;
    }
    states
}

/// One option, KEYED_STATE_TYPE, after a BackendStateType that is KEY_VALUE or KEY_VALUE_V2.
const KEYED: &[u8] = b"\0\0\0\x01\0\x10KEYED_STATE_TYPE";
/// BackendStateType PRIORITY_QUEUE, no options, one serializer.
const TIMERS: &[u8] = b"\0\0\0\x03\0\0\0\0\0\0\0\x01\0\x10VALUE_SERIALIZER";

/// The next mark: where it begins, the kind of state, where the search goes on.
fn next(bytes: &[u8], from: usize) -> Option<(usize, String, usize)> {
    (from..bytes.len()).find_map(|at| {
        let rest = &bytes[at..];
        if rest.starts_with(TIMERS) {
            return Some((at, "TIMERS".to_owned(), at + TIMERS.len()));
        }
        let value = rest.strip_prefix(KEYED)?;
        let mark = at.checked_sub(4).filter(|mark| *mark >= from)?;
        if !matches!(bytes[mark..at], [0, 0, 0, 0 | 4]) {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([*value.first()?, *value.get(1)?]));
        let kind = std::str::from_utf8(value.get(2..2 + length)?).ok()?;
        let known = kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        (known && !kind.is_empty()).then(|| (mark, kind.to_owned(), at + KEYED.len() + 2 + length))
    })
}

/// The `writeUTF` that ends here. Modified UTF-8 has no zero byte, so the last one is in its length.
fn name_before(bytes: &[u8]) -> Option<String> {
    let zero = bytes.iter().rposition(|byte| *byte == 0)?;
    let name = bytes.get(zero + 2..)?;
    if name.is_empty() || usize::from(bytes[zero + 1]) != name.len() {
        return None;
    }
    String::from_utf8(name.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf(text: &str) -> Vec<u8> {
        [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
    }

    #[test]
    fn states_are_found_between_serializers() {
        let mut bytes = b"\0\0\0\x06\0serializer of keys\0\0\x01".to_vec();
        for (name, kind) in [("counts", "VALUE"), ("by user", "MAP")] {
            bytes.extend(utf(name));
            bytes.extend([0, 0, 0, 0, 0, 0, 0, 1]);
            bytes.extend(utf("KEYED_STATE_TYPE"));
            bytes.extend(utf(kind));
            bytes.extend(b"\0\0\0\x02 serializers \0\0 \0");
        }
        bytes.extend(utf("_timer_state/event_x"));
        bytes.extend([0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend(utf("VALUE_SERIALIZER"));
        let found: Vec<_> = states(&bytes).into_iter().map(|s| (s.name, s.kind)).collect();
        let named = |name: &str, kind: &str| (name.to_owned(), kind.to_owned());
        assert_eq!(
            found,
            [
                named("counts", "VALUE"),
                named("by user", "MAP"),
                named("_timer_state/event_x", "TIMERS")
            ]
        );
        assert!(states(b"KEYED_STATE_TYPE").is_empty());
        assert!(states(&bytes[..40]).is_empty());
    }
}
