//! The reader against arbitrary metadata, cut-off and changed bytes.
use super::*;
use proptest::prelude::*;

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 /_.-]{1,12}"
}

fn size() -> impl Strategy<Value = i64> {
    0..i64::from(u32::MAX)
}

fn range() -> impl Strategy<Value = KeyGroupRange> {
    (0..99, 0..5).prop_map(|(start, count)| KeyGroupRange { start, count })
}

fn segment() -> impl Strategy<Value = Stream> {
    (name(), size(), size(), any::<bool>(), name()).prop_map(
        |(path, start, size, shared, logical_id)| {
            Stream::Segment(Box::new(Segment { path, start, size, shared, logical_id }))
        },
    )
}

fn stream() -> impl Strategy<Value = Stream> {
    prop_oneof![
        (name(), 0_usize..40).prop_map(|(name, size)| Stream::Inline { name, bytes: 0..size }),
        (name(), size()).prop_map(|(path, size)| Stream::File { path, size }),
        (name(), size()).prop_map(|(path, size)| Stream::Relative { path, size }),
        segment(),
        Just(Stream::EmptySegment),
        (range(), name(), size()).prop_map(|(range, path, size)| {
            let offsets = vec![7; range.count as usize];
            let stream = Some(Stream::File { path, size });
            Stream::KeyGroups(Box::new(KeyGroups { range, offsets, stream }))
        }),
    ]
}

fn files() -> impl Strategy<Value = Vec<LocalFile>> {
    prop::collection::vec(
        (name(), stream()).prop_map(|(name, stream)| LocalFile { name, stream }),
        0..4,
    )
}

prop_compose! {
    fn incremental()(
        checkpoint_id in 0..99_i64, backend in name(), range in range(),
        checkpointed_size in prop::option::of(size()), meta in prop::option::of(stream()),
        shared in files(), private in files(),
    ) -> Keyed {
        Keyed::Incremental(Box::new(Incremental {
            checkpoint_id, backend, range, checkpointed_size, meta, shared, private,
        }))
    }
}

prop_compose! {
    fn changelog_files()(
        range in range(), streams in prop::collection::vec((stream(), size()), 0..3),
        size in size(), checkpointed_size in size(),
    ) -> Keyed {
        Keyed::ChangelogFiles(Box::new(ChangelogFiles { range, streams, size, checkpointed_size }))
    }
}

fn flat_keyed() -> impl Strategy<Value = Keyed> {
    prop_oneof![
        incremental(),
        changelog_files(),
        (range(), any::<bool>(), prop::option::of(stream())).prop_map(
            |(range, savepoint, stream)| {
                let offsets = (0..i64::from(range.count)).collect();
                Keyed::KeyGroups { savepoint, groups: KeyGroups { range, offsets, stream } }
            }
        ),
        (range(), 0..50_i64, 1_usize..4).prop_map(|(range, size, changes)| {
            Keyed::InMemoryChangelog(Box::new(InMemoryChangelog { range, size, changes }))
        }),
    ]
}

prop_compose! {
    fn changelog()(
        range in range(), checkpointed_size in size(), materialization_id in 0..9_i64,
        materialized in prop::collection::vec(flat_keyed(), 0..3),
        changes in prop::collection::vec(flat_keyed(), 0..3), checkpoint_id in 0..9_i64,
    ) -> Keyed {
        Keyed::Changelog(Box::new(Changelog {
            range, checkpointed_size, materialized, changes, materialization_id, checkpoint_id,
        }))
    }
}

fn keyed() -> impl Strategy<Value = Option<Keyed>> {
    prop::option::of(prop_oneof![3 => flat_keyed(), 1 => changelog()])
}

prop_compose! {
    fn operator_state()(
        states in prop::collection::vec((name(), 0..3, prop::collection::vec(size(), 0..4)), 0..3),
        directories in prop::option::of((name(), name(), any::<bool>())),
        stream in prop::option::of(stream()),
    ) -> OperatorState {
        let states = states.into_iter().map(|(name, mode, offsets)| PartitionedState {
            name,
            mode: [Mode::SplitDistribute, Mode::Union, Mode::Broadcast][mode as usize],
            offsets,
        });
        let directories = directories.map(|(task_owned, shared, empty)| {
            Box::new(MergingDirectories { task_owned, shared, empty })
        });
        OperatorState { states: states.collect(), directories, stream }
    }
}

fn channels() -> impl Strategy<Value = Vec<Channel>> {
    let channel = (0..9, prop::option::of((0..9, 0..9)), size(), prop::option::of(stream()));
    let channel =
        channel.prop_map(|(subtask, place, size, stream)| Channel { subtask, place, size, stream });
    prop::collection::vec(channel, 0..3)
}

prop_compose! {
    fn subtask_state()(
        managed_operator in prop::option::of(operator_state()),
        raw_operator in prop::option::of(operator_state()),
        managed_keyed in keyed(), raw_keyed in keyed(),
        input_channels in channels(), output_channels in channels(),
    ) -> Box<SubtaskState> {
        Box::new(SubtaskState {
            managed_operator, raw_operator, managed_keyed, raw_keyed, input_channels, output_channels,
        })
    }
}

prop_compose! {
    fn operator()(
        name in prop::option::of(name()), uid in prop::option::of(name()), id in any::<[u8; 16]>(),
        parallelism in 1..9, max_parallelism in 1..99,
        coordinator in prop::option::of((name(), 0_usize..30)),
        subtasks in prop::option::of(prop::collection::vec(prop::option::of(subtask_state()), 0..4)),
    ) -> Operator {
        let coordinator = coordinator.map(|(name, size)| Stream::Inline { name, bytes: 0..size });
        let subtasks = subtasks.map(|states| {
            let subtask = |(index, state)| Subtask { index: index as i32, state };
            states.into_iter().enumerate().map(subtask).collect()
        });
        Operator { name, uid, id: OperatorId(id), parallelism, max_parallelism, coordinator, subtasks }
    }
}

prop_compose! {
    fn metadata()(
        checkpoint_id in 0..i64::MAX, operators in prop::collection::vec(operator(), 0..4),
    ) -> Metadata {
        let kind = Some(SnapshotKind::Checkpoint);
        Metadata { version: 6, checkpoint_id, master_states: Vec::new(), operators, kind }
    }
}

/// The same metadata with every inline stream at the begin: only its length was chosen.
fn without_places(metadata: &Metadata) -> String {
    let text = format!("{metadata:?}");
    let mut parts = text.split("bytes: ");
    let mut normal = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(' ').expect("the end of a struct");
        let (from, to) = part[..end].split_once("..").expect("a range");
        let length = to.parse::<usize>().expect("a number") - from.parse::<usize>().expect("one");
        normal += &format!("bytes: {length}{}", &part[end..]);
    }
    normal
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(metadata in metadata()) {
        let bytes = write::bytes(&metadata);
        let read = Metadata::read(&bytes).expect("well formed");
        prop_assert_eq!(without_places(&read), without_places(&metadata));
        prop_assert_eq!(read.sizes(), metadata.sizes());
        prop_assert_eq!(read.references().len(), metadata.references().len());
    }

    #[test]
    fn what_is_cut_off_is_refused(metadata in metadata(), at in any::<prop::sample::Index>()) {
        let bytes = write::bytes(&metadata);
        let cut = at.index(bytes.len());
        let error = Metadata::read(&bytes[..cut]).expect_err("cut off");
        prop_assert!(error.offset <= cut as u64, "{}", error);
        prop_assert!(!error.field.is_empty());
    }

    #[test]
    fn changed_bytes_never_panic(
        metadata in metadata(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
    ) {
        let mut bytes = write::bytes(&metadata);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = Metadata::read(&bytes) {
            let _ = (read.sizes(), read.references());
        }
    }
}

#[test]
fn an_error_names_the_place_and_the_field() {
    let file = |name: &str| LocalFile { name: name.into(), stream: Stream::EmptySegment };
    let incremental = Incremental {
        checkpoint_id: 3,
        backend: "b".into(),
        range: KeyGroupRange { start: 0, count: 2 },
        checkpointed_size: None,
        meta: None,
        shared: vec![file("000001.sst"), file("000002.sst")],
        private: Vec::new(),
    };
    let keyed = Some(Keyed::Incremental(Box::new(incremental)));
    let state = SubtaskState { managed_keyed: keyed, ..SubtaskState::default() };
    let operator = Operator {
        name: None,
        uid: Some("counts".into()),
        id: OperatorId([1; 16]),
        parallelism: 1,
        max_parallelism: 2,
        coordinator: None,
        subtasks: Some(vec![Subtask { index: 0, state: Some(Box::new(state)) }]),
    };
    let metadata = Metadata {
        version: 6,
        checkpoint_id: 3,
        master_states: Vec::new(),
        operators: vec![operator],
        kind: None,
    };
    let mut bytes = write::bytes(&metadata);
    let name = bytes.windows(10).position(|window| window == b"000002.sst").expect("written");
    bytes[name + 10] = 99;
    let error = Metadata::read(&bytes).expect_err("no such handle");
    assert_eq!(
        error.to_string(),
        format!(
            "byte {}: operators[0].subtasks[0].managed keyed state.incremental.shared[1].handle type: \
             99, which is none of a stream",
            name + 10
        )
    );
}

#[test]
fn versions_that_are_not_read_are_named() {
    let header = |version: i32| [&MAGIC.to_be_bytes()[..], &version.to_be_bytes()].concat();
    for (version, text) in [(1, "Flink 1.2"), (7, "this reads 2 to 6"), (-1, "this reads 2 to 6")] {
        let error = Metadata::read(&header(version)).expect_err("not read");
        assert!(error.what.contains(text) && error.offset == 4, "{error}");
    }
    assert_eq!(Metadata::read(b"PK\x03\x04").expect_err("a zip").field, "magic");
    assert_eq!(Metadata::read(b"").expect_err("empty").field, "magic");
}

/// Handles within handles, as deep as there are bytes: neither the stack nor memory may follow.
#[test]
fn nesting_is_bounded() {
    let begin = {
        let state = SubtaskState::default();
        let operator = Operator {
            name: None,
            uid: None,
            id: OperatorId([0; 16]),
            parallelism: 1,
            max_parallelism: 1,
            coordinator: None,
            subtasks: Some(vec![Subtask { index: 0, state: Some(Box::new(state)) }]),
        };
        let metadata = Metadata {
            version: 6,
            checkpoint_id: 1,
            master_states: Vec::new(),
            operators: vec![operator],
            kind: None,
        };
        let bytes = write::bytes(&metadata);
        // No operator state (twice 4), no keyed state (twice 1), no channels (twice 4), properties.
        bytes[..bytes.len() - 5 - 8 - 2].to_vec()
    };
    let one = |code: u8, more: &[u8]| [&[code], &[0; 8][..], more].concat();
    let key_groups = one(3, &[]);
    // Range, checkpointed size, one materialized.
    let changelog = one(14, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    for nested in [key_groups, changelog] {
        let bytes = [begin.clone(), nested.repeat(100_000)].concat();
        assert!(Metadata::read(&bytes).expect_err("too deep").what.contains("too deeply"));
    }
}
