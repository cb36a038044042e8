//! Expected spellings were printed by Flink 2.3.0's `new Path(new Path("file://" + path), "u").toUri()`.
use super::*;
use proptest::prelude::*;

const SPELLED_BY_FLINK: &[(&str, &str)] = &[
    ("/a/b", "file:/a/b"),
    ("/a b/c", "file:/a%20b/c"),
    ("/a%20b", "file:/a%2520b"),
    ("/a+b&c=d;e,f@g:h$i!j~k'l(m)n*o", "file:/a+b&c=d;e,f@g:h$i!j~k'l(m)n*o"),
    ("/q?r#s", "file:/q%3Fr%23s"),
    ("/[x]{y}|^`\"<>", "file:/%5Bx%5D%7By%7D%7C%5E%60%22%3C%3E"),
    ("/äö/日", "file:/äö/日"),
    ("/nb\u{a0}sp", "file:/nb%C2%A0sp"),
    ("/tab\tx", "file:/tab%09x"),
    ("/ctl\u{85}x", "file:/ctl%C2%85x"),
    ("/em\u{2003}x", "file:/em%E2%80%83x"),
    ("/zw\u{200b}x", "file:/zw\u{200b}x"),
    ("/😀", "file:/😀"),
    ("/del\u{7f}", "file:/del%7F"),
    ("/a//b/", "file:/a/b"),
];

#[test]
fn spells_and_reads_paths_as_flink_does() {
    for (path, spelled) in SPELLED_BY_FLINK {
        assert_eq!(uri(Path::new(path)).expect("absolute"), *spelled);
        assert_eq!(local_path(spelled).expect(spelled), Path::new(path));
        assert_eq!(object_uri(spelled, "u"), format!("{spelled}/u"));
    }
}

#[test]
fn reads_every_spelling_of_this_machines_root() {
    for spelled in ["file:/a/b", "file:///a/b"] {
        assert_eq!(local_path(spelled).expect(spelled), Path::new("/a/b"));
    }
    // What Flink's Path makes of a child of each.
    for (directory, object) in [
        ("file:/a/b", "file:/a/b/u"),
        ("file:///a/b", "file:/a/b/u"),
        ("file:///a/b/", "file:/a/b/u"),
        ("file:///", "file:/u"),
        ("file:/", "file:/u"),
    ] {
        assert_eq!(object_uri(directory, "u"), object);
    }
}

#[test]
fn refuses_what_it_does_not_reach() {
    for refused in [
        "",
        "/a/b",
        "a",
        "file:",
        "file:a",
        "file://",
        "file://host/a",
        "file:/a?b",
        "file:/a#b",
        "file:/a%2",
        "file:/a%zz",
        "file:/a%+1",
        "file:/%ff",
        "file:/a%00",
        "s3://bucket/a",
        "hdfs://host:8020/a",
    ] {
        assert!(!is_reached(refused), "{refused}");
    }
    assert!(is_reached("file:/"));
}

#[test]
fn splits_an_object_from_its_directory() {
    for (object, directory, name) in [
        ("file:/a/u", "file:/a", "u"),
        ("file:///a/u", "file:///a", "u"),
        ("file:/u", "file:/", "u"),
        ("file:///u", "file:///", "u"),
        ("file:/a%20b/c%20d", "file:/a%20b", "c d"),
    ] {
        assert_eq!(split(object).expect(object), (directory.to_string(), name.to_string()));
    }
    for refused in ["file:/", "file:/a/", "file:/a/..", "s3://b/u"] {
        assert!(split(refused).is_err(), "{refused}");
    }
}

#[test]
fn local_names_stay_in_their_directory() {
    for refused in ["", ".", "..", "a/b", "/a", "a\0b"] {
        assert!(check_local_name(refused).is_err(), "{refused:?}");
    }
    check_local_name("000012.sst").expect("a name");
}

#[test]
fn object_names_are_uuids_of_their_own() {
    let (one, other) = (new_object_name(), new_object_name());
    assert_ne!(one, other);
    assert_eq!((one.len(), one.matches('-').count()), (36, 4));
    assert_eq!(one, one.to_lowercase());
}

proptest! {
    #[test]
    fn every_path_survives_its_uri(path in "/[^\0]{0,40}") {
        let spelled = uri(Path::new(&path)).expect("absolute");
        prop_assert_eq!(local_path(&spelled).expect("our own spelling"), PathBuf::from(path));
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = (is_reached(&text), split(&text), object_uri(&text, "u"), check_local_name(&text));
    }
}
