//! The JSON schema of docs/TOOL.md, compared with documents.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// Paths of the document for a command, with their types.
fn documented(command: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/TOOL.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let (_, schema) = text.split_once("```schema\n").expect("the schema");
    let (schema, _) = schema.split_once("```").expect("its end");
    let mut paths = BTreeMap::new();
    for line in schema.lines() {
        let [of, path, kind] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if of == command {
            paths.insert(path.to_owned(), kind.to_owned());
        }
    }
    paths
}

fn walk(value: &Value, path: &str, found: &mut BTreeMap<String, BTreeSet<&'static str>>) {
    let kind = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(value, &path, found);
            }
            return;
        }
        Value::Array(values) => {
            values.iter().for_each(|value| walk(value, &format!("{path}[]"), found));
            return;
        }
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    };
    found.entry(path.to_owned()).or_default().insert(kind);
}

/// `rare`: paths that these documents need not have.
pub fn compare(command: &str, documents: &[Value], rare: &[&str]) {
    let documented = documented(command);
    let mut found = BTreeMap::new();
    documents.iter().for_each(|document| walk(document, "", &mut found));
    for (path, kinds) in &found {
        let kind =
            documented.get(path).unwrap_or_else(|| panic!("{command} {path}: not in the document"));
        for found in kinds {
            let fits =
                kind.trim_end_matches('?') == *found || (kind.ends_with('?') && *found == "null");
            assert!(fits, "{command} {path}: {found}, documented {kind}");
        }
    }
    for path in documented.keys().filter(|path| !rare.contains(&path.as_str())) {
        assert!(found.contains_key(path), "{command} {path}: documented, but not there");
    }
}
