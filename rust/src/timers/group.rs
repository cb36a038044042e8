//! The timers of one key group that are in memory, sorted, in leaves. Below the bound these are all
//! that there are; at and above it they are changes that the database does not have yet.
use super::key::{Key, OwnKey, Prefix};
use super::leaf::{Leaf, Mark};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::mem::size_of;

struct Node {
    /// No timer of the leaf is smaller, none of those before it larger.
    first: Prefix,
    /// Never empty.
    leaf: Box<Leaf>,
}

/// Where a timer is or belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) node: usize,
    pub(super) slot: usize,
}

#[derive(Default)]
pub(super) struct Group {
    nodes: VecDeque<Node>,
    /// None: all timers are in memory.
    bound: Option<OwnKey>,
    size: usize,
}

impl Spot {
    #[inline]
    pub(super) fn is_first(self) -> bool {
        self.node == 0 && self.slot == 0
    }
}

impl Group {
    /// `empty`: the database has no timer of it; otherwise nothing is known.
    pub(super) fn new(empty: bool) -> Self {
        let bound = (!empty).then(|| OwnKey::of(&Key::new(&[])));
        Self { bound, ..Self::default() }
    }

    /// Memory that it takes.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn leaf(&self, node: usize) -> &Leaf {
        &self.nodes[node].leaf
    }

    pub(super) fn bound(&self) -> Option<Key<'_>> {
        self.bound.as_ref().map(OwnKey::key)
    }

    pub(super) fn set_bound(&mut self, bound: Option<OwnKey>) {
        self.bound = bound;
    }

    #[inline]
    pub(super) fn is_above(&self, key: &Key<'_>) -> bool {
        match &self.bound {
            Some(bound) => key.order(&bound.key()) != Ordering::Less,
            None => false,
        }
    }

    /// The first timer. None: there is none, or it is not in memory.
    #[inline]
    pub(super) fn first(&self) -> Option<Key<'_>> {
        let leaf = &self.nodes.front()?.leaf;
        match leaf.mark(0) {
            Mark::Stored | Mark::New => Some(leaf.key(0)),
            Mark::Put | Mark::Delete | Mark::Gone => None,
        }
    }

    /// True if its first timer has to be read.
    pub(super) fn is_unknown(&self) -> bool {
        self.bound.is_some() && self.first().is_none()
    }

    #[inline]
    pub(super) fn mark(&self, spot: Spot) -> Mark {
        self.nodes[spot.node].leaf.mark(spot.slot)
    }

    #[inline]
    pub(super) fn set_mark(&mut self, spot: Spot, mark: Mark) {
        self.nodes[spot.node].leaf.set_mark(spot.slot, mark);
    }

    #[inline]
    pub(super) fn key(&self, spot: Spot) -> Key<'_> {
        self.nodes[spot.node].leaf.key(spot.slot)
    }

    /// Where the key is, or else where it belongs.
    #[inline]
    pub(super) fn find(&self, key: &Key<'_>) -> Result<Spot, Spot> {
        let prefix = key.prefix();
        let behind = self.nodes.partition_point(|node| match node.first.cmp(&prefix) {
            Ordering::Less => true,
            Ordering::Equal => node.leaf.key(0).order(key) != Ordering::Greater,
            Ordering::Greater => false,
        });
        let node = behind.saturating_sub(1);
        match self.nodes.get(node).map(|node| node.leaf.find(key)) {
            Some(Ok(slot)) => Ok(Spot { node, slot }),
            Some(Err(slot)) => Err(Spot { node, slot }),
            None => Err(Spot { node, slot: 0 }),
        }
    }

    /// Inserts what `find` did not find.
    pub(super) fn insert(&mut self, spot: Spot, key: &Key<'_>, mark: Mark) {
        let Spot { mut node, mut slot } = spot;
        if self.nodes.is_empty() {
            self.add_node(0, Leaf::default(), key.prefix());
        } else if self.nodes[node].leaf.is_full() {
            (node, slot) = self.split(spot, key);
        }
        let Node { first, leaf } = &mut self.nodes[node];
        let before = leaf.size();
        leaf.insert(slot, key, mark);
        self.size = self.size + leaf.size() - before;
        if slot == 0 {
            *first = key.prefix().min(*first);
        }
    }

    fn add_node(&mut self, at: usize, leaf: Leaf, first: Prefix) {
        self.size += leaf.size() + size_of::<Node>();
        self.nodes.insert(at, Node { first, leaf: Box::new(leaf) });
    }

    /// Makes two leaves of a full one; where the key belongs then.
    #[cold]
    fn split(&mut self, spot: Spot, key: &Key<'_>) -> (usize, usize) {
        let Spot { node, slot } = spot;
        let length = self.nodes[node].leaf.len();
        if slot == length {
            // Timers that come in their order fill each leaf.
            self.add_node(node + 1, Leaf::default(), key.prefix());
            return (node + 1, 0);
        }
        let leaf = &mut self.nodes[node].leaf;
        let before = leaf.size();
        let half = length / 2;
        let behind = leaf.split_off(half);
        self.size = self.size + leaf.size() - before;
        let first = behind.key(0).prefix();
        self.add_node(node + 1, behind, first);
        if slot > half {
            (node + 1, slot - half)
        } else {
            (node, slot)
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, spot: Spot) {
        let leaf = &mut self.nodes[spot.node].leaf;
        leaf.remove(spot.slot);
        if leaf.len() == 0 {
            self.remove_node(spot.node);
        }
    }

    fn remove_node(&mut self, node: usize) {
        if let Some(node) = self.nodes.remove(node) {
            self.size -= node.leaf.size() + size_of::<Node>();
        }
    }

    /// Drops what is marked as gone.
    pub(super) fn sweep(&mut self) {
        for node in &mut self.nodes {
            node.leaf.sweep();
        }
        self.nodes.retain(|node| node.leaf.len() > 0);
        self.measure();
    }

    /// Keeps about so many bytes, of the first timers; one of them at least. All of them are stored.
    pub(super) fn cut(&mut self, bytes: usize) {
        let mut kept = 0;
        let mut node = 0;
        while node < self.nodes.len() && kept + self.nodes[node].leaf.size() <= bytes {
            kept += self.nodes[node].leaf.size();
            node += 1;
        }
        if node == 0 && !self.nodes.is_empty() {
            self.cut_first(bytes);
            node = 1;
        }
        if node < self.nodes.len() {
            self.bound = Some(OwnKey::of(&self.nodes[node].leaf.key(0)));
            self.nodes.truncate(node);
        }
        self.measure();
    }

    fn cut_first(&mut self, bytes: usize) {
        let leaf = &mut self.nodes[0].leaf;
        let kept = (leaf.len() * bytes / leaf.size()).max(1);
        if kept < leaf.len() {
            self.bound = Some(OwnKey::of(&leaf.split_off(kept).key(0)));
            self.nodes.truncate(1);
        }
    }

    fn measure(&mut self) {
        self.size = self.nodes.iter().map(|node| node.leaf.size() + size_of::<Node>()).sum();
    }
}
