//! The filter's decisions: a model in Rust that says the same in a few lines, known cases, and bytes
//! that mean nothing.
use super::pass::{Decision, Pass};
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

// ---- layouts: the description that Java sends, bytes of that layout, and the model's walk ----------

#[derive(Debug, Clone)]
enum Layout {
    Fixed(u32),
    Text,
    Array(u32),
    Sequence(Vec<Layout>),
    List(Box<Layout>),
    Map(Box<Layout>, Box<Layout>),
    Nullable(u32, Box<Layout>),
    Pojo(Vec<Layout>),
    BigInteger(u32),
}

use Layout::{Array, BigInteger, Fixed, List, Map, Nullable, Pojo, Sequence, Text};

impl Layout {
    fn describe(&self, out: &mut Vec<u8>) {
        let int = |out: &mut Vec<u8>, value: usize| out.extend((value as i32).to_be_bytes());
        let kind = match self {
            Fixed(_) => 1,
            Text => 2,
            Array(_) => 3,
            Sequence(_) => 4,
            List(_) => 5,
            Map(..) => 6,
            Nullable(..) => 7,
            Pojo(_) => 8,
            BigInteger(_) => 9,
        };
        out.push(kind);
        match self {
            Text => {}
            Fixed(n) | Array(n) | BigInteger(n) => int(out, *n as usize),
            Sequence(parts) | Pojo(parts) => {
                int(out, parts.len());
                parts.iter().for_each(|part| part.describe(out));
            }
            List(part) => part.describe(out),
            Map(key, value) => {
                key.describe(out);
                value.describe(out);
            }
            Nullable(n, part) => {
                int(out, *n as usize);
                part.describe(out);
            }
        }
    }

    /// Bytes of one element; `seed` chooses lengths, contents and nulls.
    fn write(&self, seed: &mut Seed, out: &mut Vec<u8>) {
        match self {
            Fixed(n) => seed.bytes(*n as usize, out),
            Text => seed.text(out),
            Array(n) => {
                let count = seed.count(out);
                seed.bytes(count * *n as usize, out);
            }
            Sequence(parts) => parts.iter().for_each(|part| part.write(seed, out)),
            List(part) => (0..seed.count(out)).for_each(|_| part.write(seed, out)),
            Map(key, value) => (0..seed.count(out)).for_each(|_| {
                key.write(seed, out);
                value.write_unless_null(seed, out);
            }),
            Nullable(n, part) => match seed.null(out) {
                true => seed.bytes(*n as usize, out),
                false => part.write(seed, out),
            },
            Pojo(_) if seed.next(4) == 0 => out.push(1),
            Pojo(parts) => {
                out.push(2);
                parts.iter().for_each(|part| part.write_unless_null(seed, out));
            }
            BigInteger(n) => {
                let code = seed.next(9) as i32;
                out.extend(code.to_be_bytes());
                seed.bytes((code - 4).max(0) as usize, out);
                seed.bytes(if code == 0 { 0 } else { *n as usize }, out);
            }
        }
    }

    fn write_unless_null(&self, seed: &mut Seed, out: &mut Vec<u8>) {
        if !seed.null(out) {
            self.write(seed, out);
        }
    }

    /// What is left behind one element; None where the bytes do not fit.
    fn walk<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Fixed(n) => bytes.get(*n as usize..),
            Text => text(bytes),
            Array(n) => {
                let (count, bytes) = count(bytes)?;
                bytes.get(count.checked_mul(*n as usize)?..)
            }
            Sequence(parts) => parts.iter().try_fold(bytes, |bytes, part| part.walk(bytes)),
            List(part) => repeat(bytes, |bytes| part.walk(bytes)),
            Map(key, value) => repeat(bytes, |bytes| value.walk_unless_null(key.walk(bytes)?)),
            Nullable(n, part) => match bytes.split_first()? {
                (1, bytes) => bytes.get(*n as usize..),
                (0, bytes) => part.walk(bytes),
                _ => None,
            },
            Pojo(parts) => match bytes.split_first()? {
                (1, bytes) => Some(bytes),
                (2, bytes) => {
                    parts.iter().try_fold(bytes, |bytes, part| part.walk_unless_null(bytes))
                }
                _ => None,
            },
            BigInteger(n) => match count(bytes)? {
                (0, bytes) => Some(bytes),
                (code, bytes) => bytes.get(code.saturating_sub(4)..)?.get(*n as usize..),
            },
        }
    }

    fn walk_unless_null<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        Nullable(0, Box::new(self.clone())).walk(bytes)
    }
}

fn count(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (int, bytes) = bytes.split_first_chunk::<4>()?;
    Some((usize::try_from(i32::from_be_bytes(*int)).ok()?, bytes))
}

fn repeat<'a>(bytes: &'a [u8], walk: impl Fn(&'a [u8]) -> Option<&'a [u8]>) -> Option<&'a [u8]> {
    let (count, mut bytes) = count(bytes)?;
    for _ in 0..count {
        let after = walk(bytes)?;
        if after.len() == bytes.len() {
            break;
        }
        bytes = after;
    }
    Some(bytes)
}

fn varint(bytes: &[u8], groups: usize) -> Option<(u64, &[u8])> {
    let last = bytes.iter().take(groups).position(|byte| *byte < 0x80)?;
    let value = bytes[..=last].iter().rev().fold(0, |all, byte| all << 7 | u64::from(byte & 0x7f));
    Some((value, &bytes[last + 1..]))
}

fn text(bytes: &[u8]) -> Option<&[u8]> {
    let (length, mut bytes) = varint(bytes, 5)?;
    for _ in 1..length {
        let (character, rest) = varint(bytes, 3)?;
        (character <= 0xffff).then_some(())?;
        bytes = rest;
    }
    Some(bytes)
}

/// Numbers from a list that repeats.
struct Seed<'a>(std::iter::Cycle<std::slice::Iter<'a, u32>>);

impl Seed<'_> {
    fn next(&mut self, below: u32) -> u32 {
        self.0.next().expect("not empty") % below
    }

    fn bytes(&mut self, count: usize, out: &mut Vec<u8>) {
        (0..count).for_each(|_| out.push(self.next(256) as u8));
    }

    fn count(&mut self, out: &mut Vec<u8>) -> usize {
        let count = self.next(4);
        out.extend((count as i32).to_be_bytes());
        count as usize
    }

    fn null(&mut self, out: &mut Vec<u8>) -> bool {
        let null = self.next(3) == 0;
        out.push(u8::from(null));
        null
    }

    /// As StringValue writes it; null, empty, and chars of one, two and three bytes.
    fn text(&mut self, out: &mut Vec<u8>) {
        let length = self.next(150);
        write_varint(length, out);
        for _ in 1..length {
            let most = [0x7f, 0x3fff, 0xffff][self.next(3) as usize];
            let character = self.next(most + 1);
            write_varint(character, out);
        }
    }
}

fn write_varint(mut value: u32, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn layouts() -> impl Strategy<Value = Layout> {
    let leaf = prop_oneof![
        (0u32..20).prop_map(Fixed),
        Just(Text),
        (0u32..9).prop_map(Array),
        prop_oneof![Just(0u32), Just(4)].prop_map(BigInteger),
    ];
    leaf.prop_recursive(3, 12, 3, |part| {
        prop_oneof![
            vec(part.clone(), 0..3).prop_map(Sequence),
            vec(part.clone(), 0..3).prop_map(Pojo),
            part.clone().prop_map(|part| List(Box::new(part))),
            (0u32..5, part.clone()).prop_map(|(n, part)| Nullable(n, Box::new(part))),
            (part.clone(), part).prop_map(|(key, value)| Map(Box::new(key), Box::new(value))),
        ]
    })
}

// ---- the model ---------------------------------------------------------------------------------

fn expired(timestamp: i64, ttl: i64, now: i64) -> bool {
    i128::from(timestamp) + i128::from(ttl) <= i128::from(now)
        || (timestamp > 0 && i64::MAX - timestamp < ttl && now == i64::MAX)
}

fn timestamp(bytes: &[u8]) -> Option<i64> {
    bytes.first_chunk::<8>().map(|bytes| i64::from_be_bytes(*bytes))
}

fn model(
    kind: TtlKind,
    layout: &Layout,
    ttl: i64,
    now: i64,
    operand: bool,
    value: &[u8],
) -> Decision {
    let offset = match kind {
        TtlKind::Disabled => return Decision::Keep,
        TtlKind::List => return model_list(layout, ttl, now, value).unwrap_or(Decision::Keep),
        TtlKind::Value => 0,
        TtlKind::Map => 1,
    };
    match value.get(offset..).and_then(timestamp) {
        Some(timestamp) if !operand && expired(timestamp, ttl, now) => Decision::Remove,
        _ => Decision::Keep,
    }
}

fn model_list(layout: &Layout, ttl: i64, now: i64, value: &[u8]) -> Option<Decision> {
    let mut rest = value;
    loop {
        if !expired(timestamp(rest)?, ttl, now) {
            let from = value.len() - rest.len();
            return Some(if from == 0 { Decision::Keep } else { Decision::Cut(from) });
        }
        match layout.walk(&rest[8..])? {
            [] => return Some(Decision::Remove),
            [b',', after @ ..] => rest = after,
            _ => return None,
        }
    }
}

// ---- what is asked -----------------------------------------------------------------------------

/// A column family's filter with its clock.
struct Subject {
    clock: Arc<TtlClock>,
    filter: Arc<TtlFilter>,
}

impl Subject {
    fn unconfigured() -> Self {
        let clock = TtlClock::new().expect("a clock");
        let filter = TtlFilter::new(&clock).expect("a filter");
        Self { clock, filter }
    }

    fn configure(&self, rule: &TtlRule) -> Result<()> {
        self.filter.configure(rule)
    }

    /// What a compaction that begins now does with its first value.
    fn decide(&self, now: i64, operand: bool, value: &[u8]) -> Decision {
        self.clock.set(now);
        Pass::begin(&self.filter).decide(operand, value)
    }
}

fn filter(kind: TtlKind, ttl_millis: i64, layout: Option<&Layout>) -> Subject {
    let subject = Subject::unconfigured();
    let mut description = Vec::new();
    if let Some(layout) = layout {
        layout.describe(&mut description);
    }
    subject
        .configure(&TtlRule { kind, ttl_millis, query_time_after: 1000, layout: description })
        .expect("a good rule");
    subject
}

fn stamped(timestamp: i64, value: &[u8]) -> Vec<u8> {
    [&timestamp.to_be_bytes(), value].concat()
}

fn times() -> impl Strategy<Value = i64> {
    prop_oneof![
        -3i64..100,
        Just(i64::MIN),
        Just(i64::MAX),
        (i64::MAX - 100)..=i64::MAX,
        any::<i64>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Boundaries are known from how the list was made, so this needs no model of the walk.
    #[test]
    fn of_a_list_the_expired_elements_in_front_go(
        layout in layouts(),
        alive in vec(any::<bool>(), 1..8),
        numbers in vec(any::<u32>(), 1..64),
        operand in any::<bool>(),
    ) {
        let mut seed = Seed(numbers.iter().cycle());
        let mut value = Vec::new();
        let mut starts = Vec::new();
        for alive in &alive {
            if !value.is_empty() {
                value.push(b',');
            }
            starts.push(value.len());
            value.extend(if *alive { 50i64 } else { 10 }.to_be_bytes());
            layout.write(&mut seed, &mut value);
        }
        let expected = match alive.iter().position(|alive| *alive) {
            None => Decision::Remove,
            Some(0) => Decision::Keep,
            Some(first) => Decision::Cut(starts[first]),
        };
        let filter = filter(TtlKind::List, 20, Some(&layout));
        prop_assert_eq!(filter.decide(40, operand, &value), expected);
    }

    #[test]
    fn decides_as_the_model_does_on_damaged_lists(
        layout in layouts(),
        elements in 1usize..6,
        numbers in vec(any::<u32>(), 1..64),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        now in times(),
        ttl in 1i64..=i64::MAX,
    ) {
        let mut seed = Seed(numbers.iter().cycle());
        let mut value = Vec::new();
        for _ in 0..elements {
            value.extend(i64::from(seed.next(100)).to_be_bytes());
            layout.write(&mut seed, &mut value);
            value.push(b',');
        }
        value.truncate(cut.index(value.len()) + 1);
        for (at, byte) in damage {
            let at = at.index(value.len());
            value[at] = byte;
        }
        let decided = filter(TtlKind::List, ttl, Some(&layout)).decide(now, false, &value);
        prop_assert_eq!(decided, model(TtlKind::List, &layout, ttl, now, false, &value));
    }

    #[test]
    fn decides_as_the_model_does_on_any_bytes(
        layout in layouts(),
        kind in prop_oneof![
            Just(TtlKind::Disabled), Just(TtlKind::Value), Just(TtlKind::Map), Just(TtlKind::List)
        ],
        value in vec(any::<u8>(), 0..200),
        now in times(),
        ttl in 1i64..=i64::MAX,
        operand in any::<bool>(),
    ) {
        let decided = filter(kind, ttl, Some(&layout)).decide(now, operand, &value);
        prop_assert_eq!(decided, model(kind, &layout, ttl, now, operand, &value));
    }

    #[test]
    fn values_expire_as_in_flink(last in times(), now in times(), ttl in 1i64..=i64::MAX) {
        let expected = if expired(last, ttl, now) { Decision::Remove } else { Decision::Keep };
        let (value, map) = (filter(TtlKind::Value, ttl, None), filter(TtlKind::Map, ttl, None));
        let row = stamped(last, b"x");
        prop_assert_eq!(value.decide(now, false, &row), expected);
        prop_assert_eq!(map.decide(now, false, &[&[0], row.as_slice()].concat()), expected);
        prop_assert_eq!(value.decide(now, true, &row), Decision::Keep, "operands are a list's");
    }

    #[test]
    fn any_description_is_a_layout_or_an_error(description in vec(any::<u8>(), 0..60)) {
        let filter = Subject::unconfigured();
        let rule =
            TtlRule { kind: TtlKind::List, ttl_millis: 1, query_time_after: 0, layout: description };
        let taken = filter.configure(&rule).is_ok();
        let decided = filter.decide(100, false, &stamped(0, &[7; 300]));
        prop_assert!(taken || decided == Decision::Keep);
    }
}

#[test]
fn what_is_too_short_for_a_timestamp_stays() {
    for length in 0..8 {
        let value = vec![0; length];
        assert_eq!(filter(TtlKind::Value, 1, None).decide(99, false, &value), Decision::Keep);
        assert_eq!(
            filter(TtlKind::Map, 1, None).decide(99, false, &[&[0], &value[..]].concat()),
            Decision::Keep
        );
        let list = filter(TtlKind::List, 1, Some(&Fixed(0)));
        assert_eq!(list.decide(99, false, &value), Decision::Keep);
    }
}

#[test]
fn the_last_millisecond_of_life_and_the_first_of_death() {
    let value = filter(TtlKind::Value, 10, None);
    assert_eq!(value.decide(109, false, &stamped(100, b"v")), Decision::Keep);
    assert_eq!(value.decide(110, false, &stamped(100, b"v")), Decision::Remove);
}

#[test]
fn a_list_of_elements_of_unknown_length_stays() {
    let list = filter(TtlKind::List, 1, None);
    assert_eq!(list.decide(99, false, &stamped(0, b"element")), Decision::Keep);
    assert_eq!(list.decide(99, true, &stamped(0, b"element")), Decision::Keep);
}

/// A delimiter inside an element is none, a missing one means that the layout does not fit.
#[test]
fn commas_are_counted_by_length_and_not_searched() {
    let list = filter(TtlKind::List, 10, Some(&Fixed(2)));
    let row = [stamped(0, b",,"), stamped(0, b",,"), stamped(95, b",,")].join(&b","[..]);
    assert_eq!(list.decide(100, false, &row), Decision::Cut(22));
    let mut other = row.clone();
    other[10] = b';';
    assert_eq!(list.decide(100, false, &other), Decision::Keep);
    let behind = [&row[..21], b","].concat();
    assert_eq!(list.decide(100, false, &behind), Decision::Keep, "a comma at the end");
}

#[test]
fn elements_of_no_length_do_not_take_for_ever() {
    let layout = List(Box::new(List(Box::new(Sequence(vec![])))));
    let mut value = stamped(0, &i32::MAX.to_be_bytes());
    value.extend(i32::MAX.to_be_bytes());
    let list = filter(TtlKind::List, 1, Some(&layout));
    assert_eq!(list.decide(99, false, &value), Decision::Keep);
    let flat = filter(TtlKind::List, 1, Some(&List(Box::new(Sequence(vec![])))));
    assert_eq!(flat.decide(99, false, &stamped(0, &i32::MAX.to_be_bytes())), Decision::Remove);
}

#[test]
fn malformed_rules_are_refused_and_the_former_one_stays() {
    let deep = |depth: usize| [vec![5; depth], vec![2]].concat();
    for layout in
        [vec![0], vec![10], vec![2, 2], vec![1, 0, 0], vec![1, 255, 255, 255, 255], deep(40)]
    {
        let list = filter(TtlKind::List, 10, Some(&Fixed(1)));
        let rule = TtlRule { kind: TtlKind::List, ttl_millis: 5, query_time_after: 1, layout };
        assert!(list.configure(&rule).is_err(), "{rule:?}");
        assert_eq!(list.decide(10, false, &stamped(0, b"x")), Decision::Remove);
        assert_eq!(list.decide(9, false, &stamped(0, b"x")), Decision::Keep);
    }
    let value = filter(TtlKind::Value, 10, None);
    let rule = TtlRule { ttl_millis: 0, kind: TtlKind::Value, ..TtlRule::disabled() };
    assert!(value.configure(&rule).is_err());
    value.configure(&TtlRule::disabled()).expect("disabling needs nothing");
    assert_eq!(value.decide(i64::MAX, false, &stamped(0, b"x")), Decision::Keep);
}

/// Until Java has said what time it is, and whatever the timestamps.
#[test]
fn without_a_time_nothing_expires() {
    let value = filter(TtlKind::Value, 1, None);
    for timestamp in [i64::MIN, -1, 0, 1] {
        let decided = Pass::begin(&value.filter).decide(false, &stamped(timestamp, b"x"));
        assert_eq!(decided, Decision::Keep);
    }
}

/// A number of entries between two looks at the clock, as configured; with 0 before each.
#[test]
fn the_clock_is_read_again_after_so_many_entries() {
    for (query_time_after, stale) in [(0, 0), (1, 0), (2, 1), (3, 2), (1000, 999)] {
        let subject = Subject::unconfigured();
        let rule =
            TtlRule { kind: TtlKind::Value, query_time_after, ttl_millis: 10, layout: vec![] };
        subject.configure(&rule).expect("a good rule");
        subject.clock.set(0);
        let mut pass = Pass::begin(&subject.filter);
        let row = stamped(0, b"x");
        assert_eq!(pass.decide(false, &row), Decision::Keep, "the first look");
        subject.clock.set(10);
        for entry in 0..stale {
            assert_eq!(pass.decide(false, &row), Decision::Keep, "{entry} of {query_time_after}");
        }
        assert_eq!(pass.decide(false, &row), Decision::Remove, "{query_time_after}");
    }
}

/// What a compaction goes by stands when it begins: its files are older than a later rule.
#[test]
fn a_compaction_goes_by_the_rule_of_its_beginning() {
    let subject = filter(TtlKind::Value, 10, None);
    subject.clock.set(100);
    let mut before = Pass::begin(&subject.filter);
    subject.configure(&TtlRule::disabled()).expect("disabled");
    let mut after = Pass::begin(&subject.filter);
    subject
        .configure(&TtlRule {
            kind: TtlKind::Map,
            query_time_after: 1,
            ttl_millis: 10,
            layout: vec![],
        })
        .expect("configured");
    let row = stamped(0, b"x");
    assert_eq!(before.decide(false, &row), Decision::Remove);
    assert_eq!(after.decide(false, &row), Decision::Keep);
}
