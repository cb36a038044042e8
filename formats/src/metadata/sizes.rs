//! Sizes as Flink counts them: `getStateSize` (full) and `getCheckpointedSize` (new in this checkpoint).
use super::handles::{Channel, Keyed, Metadata, Operator, OperatorState, Stream, SubtaskState};

/// What Flink calls full size and checkpointed size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    pub full: i64,
    pub new: i64,
}

impl Sizes {
    #[must_use]
    pub fn of(full: i64, new: i64) -> Self {
        Self { full, new }
    }

    fn both(size: i64) -> Self {
        Self::of(size, size)
    }
}

/// Damaged sizes must not overflow.
impl std::iter::Sum for Sizes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), |sum, one| {
            Self::of(sum.full.saturating_add(one.full), sum.new.saturating_add(one.new))
        })
    }
}

impl Metadata {
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.operators.iter().map(Operator::sizes).sum()
    }
}

impl Operator {
    /// The size new in this checkpoint is, as Flink's, of subtasks within the parallelism.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        let coordinator = Sizes::both(self.coordinator.as_ref().map_or(0, Stream::size));
        let subtasks = self.subtasks.iter().flatten().map(|subtask| {
            let sizes = subtask.state.as_ref().map(|state| state.sizes()).unwrap_or_default();
            let counted = (0..self.parallelism).contains(&subtask.index);
            Sizes::of(sizes.full, if counted { sizes.new } else { 0 })
        });
        std::iter::once(coordinator).chain(subtasks).sum()
    }
}

impl SubtaskState {
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        let operator = [&self.managed_operator, &self.raw_operator].into_iter().flatten();
        let keyed = [&self.managed_keyed, &self.raw_keyed].into_iter().flatten();
        let channels = self.input_channels.iter().chain(&self.output_channels);
        operator
            .map(|state| Sizes::both(state.size()))
            .chain(keyed.map(Keyed::sizes))
            .chain(channels.map(|channel: &Channel| Sizes::both(channel.size)))
            .sum()
    }
}

impl OperatorState {
    #[must_use]
    pub fn size(&self) -> i64 {
        self.stream.as_ref().map_or(0, Stream::size)
    }
}

impl Stream {
    #[must_use]
    pub fn size(&self) -> i64 {
        match self {
            Self::Inline { bytes, .. } => bytes.len() as i64,
            Self::File { size, .. } | Self::Relative { size, .. } => *size,
            Self::Segment(segment) => segment.size,
            Self::EmptySegment => 0,
            Self::KeyGroups(groups) => groups.stream.as_ref().map_or(0, Self::size),
        }
    }
}

impl Keyed {
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        match self {
            Self::KeyGroups { groups, .. } => {
                Sizes::both(groups.stream.as_ref().map_or(0, Stream::size))
            }
            Self::Incremental(handle) => {
                let files = handle.shared.iter().chain(&handle.private).map(|file| &file.stream);
                let full =
                    handle.meta.iter().chain(files).map(|s| Sizes::both(s.size())).sum::<Sizes>();
                Sizes::of(full.full, handle.checkpointed_size.unwrap_or(full.full))
            }
            Self::Changelog(handle) => {
                let parts = handle.materialized.iter().chain(&handle.changes);
                let full = parts.map(Self::sizes).sum::<Sizes>().full;
                Sizes::of(full, handle.checkpointed_size)
            }
            Self::InMemoryChangelog(handle) => Sizes::both(handle.size),
            Self::ChangelogFiles(handle) => Sizes::of(handle.size, handle.checkpointed_size),
        }
    }
}
