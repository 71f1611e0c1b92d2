//! The description of the REST APIs.

use flowmill_serving::formats::OPENAPI;
use serde_json::Value;
use std::collections::BTreeSet;

/// Adds the values of all members `key` within `value`.
fn collect<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get(key).and_then(Value::as_str));
            members.values().for_each(|member| collect(member, key, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, found)),
        _ => {}
    }
}

fn description() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

#[test]
fn references_lead_to_components_and_all_components_are_used() {
    let description = description();
    let mut references = Vec::new();
    collect(&description, "$ref", &mut references);
    for reference in &references {
        assert!(description.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    let used: BTreeSet<&str> = references.into_iter().collect();
    for kind in ["parameters", "responses", "schemas"] {
        for name in description["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(format!("#/components/{kind}/{name}").as_str()), "{kind} {name}");
        }
    }
}

#[test]
fn operations_have_names_of_their_own_and_parameters_of_their_path() {
    let description = description();
    let mut ids = Vec::new();
    collect(&description["paths"], "operationId", &mut ids);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    for (path, operations) in description["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            let mut references = Vec::new();
            collect(&operation["parameters"], "$ref", &mut references);
            let named: BTreeSet<&str> = references.iter().filter_map(|reference| reference.rsplit('/').next()).collect();
            let in_path: BTreeSet<&str> = path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
            assert_eq!(named, in_path, "{path}");
        }
    }
}
