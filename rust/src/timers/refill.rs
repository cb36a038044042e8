//! Reading what comes behind the bound of a key group, and letting go of what comes last.
use super::flush::Extent;
use super::group::{Group, Spot};
use super::key::{Key, OwnKey};
use super::leaf::Mark;
use super::queue::{cost, Queue};
use crate::error::Result;

/// Keys that were read, without their key group.
#[derive(Default)]
struct Read {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The key behind them; None: they were the last ones.
    next: Option<OwnKey>,
}

impl Read {
    fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let key = Key::new(&self.bytes[begin..*end]);
            begin = *end;
            key
        })
    }
}

impl Queue {
    /// Reads until the first timer of a key group is known. A failure leaves all as it was.
    pub(super) fn refill(&mut self, group: usize) -> Result<()> {
        while self.groups[group].is_unknown() {
            let read = self.read(group)?;
            self.lay_over(group, read);
        }
        self.first_changed(group);
        Ok(())
    }

    fn read(&self, group: usize) -> Result<Read> {
        let mut read = Read::default();
        let prefix = self.layout.prefix(group);
        let prefix = prefix.bytes();
        let mut from = prefix.to_vec();
        if let Some(bound) = self.groups[group].bound() {
            bound.write_to(&mut from);
        }
        let most = self.limit.ahead(self.groups.len());
        let mut rows = self.column.iterate(prefix)?;
        rows.seek(&from);
        while let Some(body) = rows.key().and_then(|key| key.get(prefix.len()..)) {
            if read.bytes.len() >= most {
                read.next = Some(OwnKey::of(&Key::new(body)));
                break;
            }
            read.bytes.extend_from_slice(body);
            read.ends.push(read.bytes.len());
            rows.next();
        }
        rows.status().map_err(|e| self.column.failure("read timers", &e))?;
        Ok(read)
    }

    /// What was read is what the database has; what is in memory are changes of it.
    fn lay_over(&mut self, group: usize, read: Read) {
        for key in read.keys() {
            let of = &mut self.groups[group];
            match of.find(&key) {
                Err(spot) => self.insert(group, spot, &key, Mark::Stored),
                Ok(spot) if of.mark(spot) == Mark::Put => {
                    of.set_mark(spot, Mark::Stored);
                    self.dirty -= cost(&key);
                }
                // Its deletion goes on in the log.
                Ok(spot) => {
                    of.set_mark(spot, Mark::Gone);
                    self.log.push(self.layout.prefix(group).bytes(), &key);
                }
            }
        }
        let of = &mut self.groups[group];
        of.set_bound(read.next);
        self.dirty -= resolve(of);
        let before = of.size();
        of.sweep();
        self.size = self.size + of.size() - before;
    }

    /// Writes everything and lets go of the last timers, until half of the memory is free.
    #[cold]
    pub(super) fn evict(&mut self) -> Result<()> {
        self.flush(Extent::All)?;
        let each = share(self.groups.iter().map(Group::size).collect(), self.limit.most() / 2);
        for of in &mut self.groups {
            if of.size() > each {
                of.cut(each);
            }
        }
        self.size = self.groups.iter().map(Group::size).sum();
        // A timer of each key group stays, however large it is.
        self.floor = if self.size > self.limit.most() / 2 { 2 * self.size } else { 0 };
        self.limit.take(self.size);
        Ok(())
    }
}

/// Changes below the bound, where it is known now what the database has; bytes of those that came to nothing.
fn resolve(of: &mut Group) -> usize {
    let mut nothing = 0;
    for node in 0..of.nodes() {
        for slot in 0..of.leaf(node).len() {
            let spot = Spot { node, slot };
            let key = of.key(spot);
            if of.is_above(&key) {
                return nothing;
            }
            let cost = cost(&key);
            match of.mark(spot) {
                Mark::Put => of.set_mark(spot, Mark::New),
                Mark::Delete => {
                    nothing += cost;
                    of.set_mark(spot, Mark::Gone);
                }
                Mark::Stored | Mark::New | Mark::Gone => {}
            }
        }
    }
    nothing
}

/// How much each may have at most, so that all together have no more than `most`.
fn share(mut sizes: Vec<usize>, most: usize) -> usize {
    sizes.sort_unstable();
    let mut left = most;
    for (i, size) in sizes.iter().enumerate() {
        let each = left / (sizes.len() - i);
        if *size > each {
            return each;
        }
        left -= size;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn the_large_ones_share_what_the_small_ones_leave() {
        assert_eq!(share(vec![10, 100, 1, 100], 111), 50);
        assert_eq!(share(vec![10, 20], 30), 30);
        assert_eq!(share(vec![10, 20], 29), 19);
        assert_eq!(share(vec![5, 5], 0), 0);
        assert_eq!(share(Vec::new(), 7), 7);
    }
}
