//! Writes `_metadata` in version 6, for tests: of checkpoints larger or odder than a fixture should be.
//! Bytes that a handle holds inline are zeros; ids that nobody reads are empty.
use super::handles::{
    Channel, KeyGroupRange, KeyGroups, Keyed, LocalFile, Metadata, Mode, OperatorState, Stream,
    SubtaskState,
};

#[derive(Default)]
struct Output(Vec<u8>);

/// The bytes of `metadata`, as a checkpoint's.
#[must_use]
pub fn bytes(metadata: &Metadata) -> Vec<u8> {
    let mut out = Output::default();
    out.i32(super::MAGIC as i32);
    out.i32(6);
    out.i64(metadata.checkpoint_id);
    out.i32(0);
    out.count(metadata.operators.len());
    for operator in &metadata.operators {
        out.utf(operator.name.as_deref().unwrap_or_default());
        out.utf(operator.uid.as_deref().unwrap_or_default());
        out.0.extend(operator.id.0);
        out.i32(operator.parallelism);
        out.i32(operator.max_parallelism);
        out.stream(operator.coordinator.as_ref());
        let Some(subtasks) = &operator.subtasks else {
            out.i32(-1);
            continue;
        };
        out.count(subtasks.len());
        for subtask in subtasks {
            match &subtask.state {
                None => out.i32(-(subtask.index + 1)),
                Some(state) => {
                    out.i32(subtask.index);
                    out.subtask(state);
                }
            }
        }
    }
    out.0.extend(PROPERTIES);
    out.0
}

/// As short as an object of Java's can be: null.
const PROPERTIES: [u8; 5] = [0xac, 0xed, 0, 5, 0x70];

impl Output {
    fn i32(&mut self, value: i32) {
        self.0.extend(value.to_be_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.0.extend(value.to_be_bytes());
    }

    fn count(&mut self, count: usize) {
        self.i32(i32::try_from(count).expect("fits a test"));
    }

    /// Plain ASCII without zeros is the same in modified UTF-8.
    fn utf(&mut self, text: &str) {
        let length = u16::try_from(text.len()).expect("fits a test");
        self.0.extend(length.to_be_bytes());
        self.0.extend(text.as_bytes());
    }

    fn zeros(&mut self, length: usize) {
        self.0.resize(self.0.len() + length, 0);
    }

    fn range(&mut self, range: KeyGroupRange) {
        self.i32(range.start);
        self.i32(range.count);
    }

    fn subtask(&mut self, state: &SubtaskState) {
        self.operator_state(state.managed_operator.as_ref());
        self.operator_state(state.raw_operator.as_ref());
        self.keyed(state.managed_keyed.as_ref());
        self.keyed(state.raw_keyed.as_ref());
        for (side, channels) in [(1, &state.input_channels), (2, &state.output_channels)] {
            self.count(channels.len());
            channels.iter().for_each(|channel| self.channel(side, channel));
        }
    }

    fn operator_state(&mut self, state: Option<&OperatorState>) {
        let Some(state) = state else { return self.i32(0) };
        self.i32(1);
        self.0.push(if state.directories.is_some() { 17 } else { 4 });
        self.count(state.states.len());
        for partitioned in &state.states {
            self.utf(&partitioned.name);
            self.0.push(match partitioned.mode {
                Mode::SplitDistribute => 0,
                Mode::Union => 1,
                Mode::Broadcast => 2,
            });
            self.count(partitioned.offsets.len());
            partitioned.offsets.iter().for_each(|offset| self.i64(*offset));
        }
        if let Some(directories) = &state.directories {
            self.utf(&directories.task_owned);
            self.utf(&directories.shared);
            self.0.push(u8::from(directories.empty));
        }
        self.stream(state.stream.as_ref());
    }

    fn keyed(&mut self, keyed: Option<&Keyed>) {
        match keyed {
            None => self.0.push(0),
            Some(Keyed::KeyGroups { savepoint, groups }) => {
                self.0.push(if *savepoint { 7 } else { 12 });
                self.key_groups(groups);
                if !savepoint {
                    self.utf("");
                }
            }
            Some(Keyed::Incremental(handle)) => {
                self.0.push(11);
                self.i64(handle.checkpoint_id);
                self.utf(&handle.backend);
                self.range(handle.range);
                self.i64(handle.checkpointed_size.unwrap_or(-1));
                self.stream(handle.meta.as_ref());
                self.files(&handle.shared);
                self.files(&handle.private);
                self.utf("");
            }
            Some(Keyed::Changelog(handle)) => {
                self.0.push(14);
                self.range(handle.range);
                self.i64(handle.checkpointed_size);
                for parts in [&handle.materialized, &handle.changes] {
                    self.count(parts.len());
                    parts.iter().for_each(|part| self.keyed(Some(part)));
                }
                self.i64(handle.materialization_id);
                self.i64(handle.checkpoint_id);
                self.utf("");
            }
            Some(Keyed::InMemoryChangelog(handle)) => {
                // All bytes in the first change.
                self.0.push(9);
                self.range(handle.range);
                self.zeros(16);
                self.count(handle.changes);
                for change in 0..handle.changes {
                    self.i32(0);
                    let size = if change == 0 { handle.size as usize } else { 0 };
                    self.count(size);
                    self.zeros(size);
                }
                self.utf("");
            }
            Some(Keyed::ChangelogFiles(handle)) => {
                self.0.push(13);
                self.range(handle.range);
                self.count(handle.streams.len());
                for (stream, offset) in &handle.streams {
                    self.i64(*offset);
                    self.stream(Some(stream));
                }
                self.i64(handle.size);
                self.i64(handle.checkpointed_size);
                self.utf("");
                self.utf("filesystem");
            }
        }
    }

    fn files(&mut self, files: &[LocalFile]) {
        self.count(files.len());
        for file in files {
            self.utf(&file.name);
            self.stream(Some(&file.stream));
        }
    }

    fn key_groups(&mut self, groups: &KeyGroups) {
        self.range(groups.range);
        groups.offsets.iter().for_each(|offset| self.i64(*offset));
        self.stream(groups.stream.as_ref());
    }

    fn channel(&mut self, side: u8, channel: &Channel) {
        self.0.push(if channel.place.is_some() { side } else { side + 2 });
        self.i32(channel.subtask);
        match channel.place {
            Some((outer, inner)) => {
                [outer, inner, 0].into_iter().for_each(|value| self.i32(value));
                self.i64(channel.size);
                self.stream(channel.stream.as_ref());
            }
            None => {
                self.i64(channel.size);
                self.stream(channel.stream.as_ref());
                self.count(0);
            }
        }
    }

    fn stream(&mut self, stream: Option<&Stream>) {
        match stream {
            None => self.0.push(0),
            Some(Stream::Inline { name, bytes }) => {
                self.0.push(1);
                self.utf(name);
                self.count(bytes.len());
                self.zeros(bytes.len());
            }
            Some(Stream::File { path, size }) => {
                self.0.push(2);
                self.i64(*size);
                self.utf(path);
            }
            Some(Stream::Relative { path, size }) => {
                self.0.push(6);
                self.utf(path);
                self.i64(*size);
            }
            Some(Stream::Segment(segment)) => {
                self.0.push(15);
                self.i64(segment.start);
                self.i64(segment.size);
                self.i32(i32::from(segment.shared));
                self.utf(&segment.path);
                self.utf(&segment.logical_id);
            }
            Some(Stream::EmptySegment) => self.0.push(16),
            Some(Stream::KeyGroups(groups)) => {
                self.0.push(3);
                self.key_groups(groups);
            }
        }
    }
}
