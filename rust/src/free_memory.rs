//! How much memory files can have that neither programs nor this container's limit want. What is done with
//! it is not decided here.
use std::fs::read_to_string;
use std::path::Path;

const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes; 0 where nobody says. What files have that were not used lately counts.
#[must_use]
pub fn for_files() -> u64 {
    let machine = read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = field(&machine, "MemAvailable:").unwrap_or(0) * 1024;
    let own = read_to_string("/proc/self/cgroup").unwrap_or_default();
    groups(&own).iter().filter_map(|group| left(Path::new(GROUPS), group)).fold(machine, u64::min)
}

/// The memory groups of a process and those around them, as folders: `0::/a/b` of version 2,
/// `4:memory:/a/b` of version 1. Inside a container the root is its own group.
fn groups(own: &str) -> Vec<String> {
    let mut groups = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let root = match controllers {
            "" => "",
            names if names.split(',').any(|name| name == "memory") => "memory",
            _ => continue,
        };
        for group in Path::new(path).ancestors() {
            groups.push(format!("{root}{}", group.display()));
        }
    }
    groups
}

/// None if the group has no limit, or there is none of that name.
fn left(root: &Path, group: &str) -> Option<u64> {
    let number = |name: &str| read_to_string(root.join(group.trim_matches('/')).join(name)).ok();
    let parsed = |name: &str| number(name)?.trim().parse::<u64>().ok();
    let limit = parsed("memory.max").or_else(|| parsed("memory.limit_in_bytes"))?;
    let used = parsed("memory.current").or_else(|| parsed("memory.usage_in_bytes"))?;
    let stat = number("memory.stat").unwrap_or_default();
    let old = field(&stat, "total_inactive_file").or_else(|| field(&stat, "inactive_file"));
    Some(limit.saturating_sub(used.saturating_sub(old.unwrap_or(0))))
}

/// The number after a name.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut words = text
        .lines()
        .map(str::split_whitespace)
        .find_map(|mut it| (it.next()? == name).then_some(it))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    #[test]
    fn this_machine_has_some() {
        assert!(for_files() > 1 << 20);
    }

    #[test]
    fn finds_the_groups_of_both_versions_and_those_around_them() {
        assert_eq!(
            groups("7:blkio:/\n4:memory:/a/b\n0::/c\n"),
            ["memory/a/b", "memory/a", "memory/", "/c", "/"]
        );
        assert_eq!(groups("0::/\n"), ["/"]);
        assert!(groups("nonsense").is_empty());
    }

    #[test]
    fn old_files_do_not_count_as_used() {
        let root = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = root.path().join(name);
            create_dir_all(path.parent().expect("a parent")).expect("created");
            write(path, text).expect("written");
        };
        file("two/memory.max", "1000\n");
        file("two/memory.current", "700\n");
        file("two/memory.stat", "anon 5\ninactive_file 300\n");
        file("open/memory.max", "max\n");
        file("open/memory.current", "700\n");
        file("memory/one/memory.limit_in_bytes", "1000\n");
        file("memory/one/memory.usage_in_bytes", "1200\n");
        let left = |group| left(root.path(), group);
        assert_eq!(left("/two"), Some(600));
        assert_eq!(left("/open"), None);
        assert_eq!(left("memory/one"), Some(0));
        assert_eq!(left("/none"), None);
    }
}
