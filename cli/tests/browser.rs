//! The report's page in headless Chromium: in light and in dark, from the keyboard alone, without network.
//! Pictures of it are left in cargo's directory for that. Ignored, and so counted as skipped, where
//! scripts/run-tests finds no Chromium.
#[path = "common/chromium.rs"]
mod chromium;
mod common;

use std::fs;
use std::path::Path;

use chromium::Page;
use common::{copied, latest, run, tool};
use serde_json::{json, Value};

/// What can be reached, in the order of the document: of radio buttons that belong together one.
const REACHABLE: &str = "globalThis.reachable = () => \
    [...document.querySelectorAll('a[href], summary, input, [tabindex=\"0\"]')] \
    .filter(e => e.checkVisibility() && (e.type !== 'radio' || e.checked))";

/// Whether one sees where the focus is: an outline, or of a bar its stroke; and on the screen.
const FOCUS: &str = "(() => { const e = document.activeElement, s = getComputedStyle(e), \
    r = e.getBoundingClientRect(); return { at: reachable().indexOf(e), name: e.outerHTML.slice(0, 90), \
    marked: parseFloat(s.outlineStyle === 'none' ? 0 : s.outlineWidth) >= 2 || \
      (s.stroke !== 'none' && parseFloat(s.strokeWidth) >= 2), \
    there: r.bottom > 0 && r.top < innerHeight && r.width > 0 } })()";

/// Of two colours, as the Web Content Accessibility Guidelines have it.
const CONTRAST: &str = "((a, b) => { const l = c => c.match(/[\\d.]+/g).slice(0, 3) \
    .map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4) \
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0); \
    const [x, y] = [l(a), l(b)].sort((p, q) => q - p); return (x + .05) / (y + .05) })";

fn report(directory: &Path, kind: &str) -> String {
    let job = latest(directory, kind).parent().expect("a job").to_owned();
    fs::write(job.join("shared/left"), b"left over").expect("written");
    let out = directory.join("page.html");
    let (_, error, code) = run(tool(directory).arg("report").arg(&job).arg("--out").arg(&out));
    assert_eq!(code, 0, "{error}");
    format!("file://{}", out.display())
}

#[test]
#[ignore = "needs Chromium"]
fn the_page_in_a_browser() {
    let (root, _) = copied("ferrostate");
    let url = report(root.path(), "ferrostate");
    let mut page = Page::start(root.path());
    let pictures: Vec<_> = ["light", "dark"].map(|scheme| looks(&mut page, &url, scheme)).into();
    assert_ne!(pictures[0], pictures[1]);
    page.open(&url);
    tab_reaches_everything(&mut page);
    enter_follows_and_opens(&mut page);
    arrows_go_over_the_treemap(&mut page);
    let asked: Vec<_> = page.requests.iter().filter(|asked| **asked != url).collect();
    assert!(asked.is_empty() && page.requests.len() == 3, "{asked:?}");
}

/// Returns the background.
fn looks(page: &mut Page, url: &str, scheme: &str) -> Value {
    let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
    page.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    page.open(url);
    let colours = page.eval(&format!(
        "(() => {{ const s = e => getComputedStyle(e), back = s(document.body).backgroundColor; \
         return {{ back, contrasts: [...document.querySelectorAll('h1, header p, a, small, dt, td')] \
         .map(e => {CONTRAST}(s(e).color, e.closest('.card') ? s(e.closest('.card')).backgroundColor : back)), \
         wide: document.documentElement.scrollWidth > innerWidth }} }})()"
    ));
    let contrasts = colours["contrasts"].as_array().expect("contrasts");
    assert!(contrasts.len() > 20);
    for contrast in contrasts {
        assert!(contrast.as_f64().expect("a number") >= 4.5, "{scheme}: {contrasts:?}");
    }
    assert_eq!(colours["wide"], false, "{scheme}");
    let picture = page.picture();
    assert!(picture.len() > 20_000, "{} bytes", picture.len());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{scheme}.png"));
    fs::write(&path, picture).expect("written");
    println!("{}", path.display());
    colours["back"].clone()
}

fn tab_reaches_everything(page: &mut Page) {
    page.eval(REACHABLE);
    let count = page.eval("reachable().length").as_i64().expect("a number");
    assert!(count > 20, "{count}");
    for expected in 0..count {
        page.key("Tab", 9);
        let focus = page.eval(FOCUS);
        let right = focus["at"] == expected && focus["marked"] == true && focus["there"] == true;
        assert!(right, "{expected} of {count}: {focus}");
    }
}

fn enter_follows_and_opens(page: &mut Page) {
    for link in [".skip", "nav li:last-child a"] {
        page.eval(&format!("document.querySelector('{link}').focus()"));
        page.key("Enter", 13);
        let (hash, there) = (
            page.eval("location.hash"),
            page.eval(
                "document.querySelector(location.hash).getBoundingClientRect().top < innerHeight",
            ),
        );
        assert_eq!(hash, page.eval(&format!("document.querySelector('{link}').hash")));
        assert_eq!(there, true, "{hash}");
    }
    let details =
        page.eval("document.querySelectorAll('details').length").as_u64().expect("a number");
    for at in 0..details {
        page.eval(&format!("document.querySelectorAll('summary')[{at}].focus()"));
        page.key("Enter", 13);
        let open = page.eval(&format!("document.querySelectorAll('details')[{at}].open"));
        assert_eq!(open, true, "details {at}");
    }
    assert!(details >= 5, "{details}");
}

fn arrows_go_over_the_treemap(page: &mut Page) {
    page.eval("document.querySelector('.map input:checked').focus()");
    let tiles = page.eval("document.activeElement.parentElement.querySelectorAll('input').length");
    let mut seen = Vec::new();
    for _ in 0..tiles.as_u64().expect("a number") {
        page.key("ArrowRight", 39);
        let focus = page.eval(FOCUS);
        assert!(focus["marked"] == true && focus["there"] == true, "{focus}");
        // What is said below, once, is of the tile that has the focus.
        let said = page.eval(
            "[...document.activeElement.parentElement.querySelectorAll('span')] \
             .filter(e => e.checkVisibility()).map(e => e.textContent).join()",
        );
        assert_eq!(said, page.eval("document.activeElement.ariaLabel"));
        seen.push(said.as_str().expect("text").to_owned());
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 3 && tiles == seen.len(), "{tiles} tiles: {seen:?}");
}
