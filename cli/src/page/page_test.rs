//! Words of the page; what it looks like a person has to look at (CONTRIBUTING.md says how).
use super::words::{date, escape, shortened};

#[test]
fn dates() {
    let dates = [
        (0, "1970-01-01 00:00:00"),
        (951_782_400, "2000-02-29 00:00:00"),
        (1_796_036_523, "2026-11-30 11:02:03"),
    ];
    for (seconds, expected) in dates {
        assert_eq!(date(seconds), expected);
    }
}

#[test]
fn names_are_text() {
    assert_eq!(escape("<b title='x'>&\"\n"), "&lt;b title=&#39;x&#39;&gt;&amp;&quot;\u{fffd}");
    assert_eq!((shortened("äöü", 3), shortened("äöüß", 3)), ("äöü".to_owned(), "äö…".to_owned()));
}
