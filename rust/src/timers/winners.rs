//! Which of many key groups has the earliest timer: a tree of matches, of which a change plays those alone
//! that are on its way up.

/// The time of a key group's first timer, greater than all times when it has none.
type Time = (bool, u64);
const NONE: Time = (true, 0);

pub(super) struct Winners {
    times: Vec<Time>,
    /// Node n is the winner of nodes 2n and 2n + 1; key groups come from `times.len()` on.
    nodes: Vec<u32>,
}

impl Winners {
    pub(super) fn new(groups: usize) -> Self {
        let width = groups.next_power_of_two();
        let mut nodes = vec![0; 2 * width];
        for (group, node) in nodes[width..].iter_mut().enumerate() {
            *node = group as u32;
        }
        let mut this = Self { times: vec![NONE; width], nodes };
        (1..width).rev().for_each(|node| this.play(node));
        this
    }

    #[inline]
    fn play(&mut self, node: usize) {
        let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        let is_right = self.times[right as usize] < self.times[left as usize];
        self.nodes[node] = if is_right { right } else { left };
    }

    /// The first of several at one time is the first of them.
    pub(super) fn set(&mut self, group: usize, time: Option<u64>) {
        self.times[group] = time.map_or(NONE, |time| (false, time));
        let mut node = (self.times.len() + group) / 2;
        while node > 0 {
            self.play(node);
            node /= 2;
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        let group = self.nodes[1] as usize;
        (self.times[group] != NONE).then_some(group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest(
            groups in 1usize..20,
            changes in proptest::collection::vec((0usize..20, proptest::option::of(0u64..9)), 1..90),
        ) {
            let mut winners = Winners::new(groups);
            prop_assert_eq!(winners.first(), None);
            let mut times = vec![None; groups];
            for (group, time) in changes {
                let group = group % groups;
                let time = time.map(|time| if time == 8 { u64::MAX } else { time });
                times[group] = time;
                winners.set(group, time);
                let expected = (0..groups)
                    .filter_map(|group| Some((times[group]?, group)))
                    .min()
                    .map(|(_, group)| group);
                prop_assert_eq!(winners.first(), expected);
            }
        }
    }
}
