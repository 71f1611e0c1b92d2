//! `:classify` and `:regress` of TensorFlow Serving.

use crate::limits;
use flowmill::proto::feature::Kind;
use flowmill::proto::{BytesList, Feature, FloatList, Int64List};
use flowmill::{Bytes, Code};
use flowmill_serving::formats::Limits;
use flowmill_serving::formats::tfs::{parse_examples, print_classifications, print_regressions};
use flowmill_serving::proto::tfs::{Class, ClassificationResult, Classifications, Regression, RegressionResult};

/// The kinds of the features of an example, by name.
fn features(body: &str) -> Vec<Vec<(String, Option<Kind>)>> {
    let request = parse_examples(body.as_bytes(), &limits()).unwrap();
    let kinds = |example: flowmill::proto::Example| example.features.unwrap().feature.into_iter().map(|(name, f)| (name, f.kind)).collect();
    request.examples.into_iter().map(kinds).collect()
}

fn bytes(values: &[&'static str]) -> Option<Kind> {
    Some(Kind::BytesList(BytesList { value: values.iter().map(|&v| Bytes::from_static(v.as_bytes())).collect(), ..BytesList::default() }))
}

fn floats(values: &[f32]) -> Option<Kind> {
    Some(Kind::FloatList(FloatList { value: values.to_vec(), ..FloatList::default() }))
}

fn integers(values: &[i64]) -> Option<Kind> {
    Some(Kind::Int64List(Int64List { value: values.to_vec(), ..Int64List::default() }))
}

#[test]
fn the_type_of_a_feature_is_that_of_its_values() {
    let body = r#"{"examples": [{"s": "a", "b": [{"b64": "Qg=="}, "c"], "f": [1.5, 2e0, NaN], "i": [1, true, -3], "none": []}]}"#;
    let example = features(body).remove(0);
    let names: Vec<_> = example.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b", "f", "i", "none", "s"]);
    assert_eq!(example[0].1, bytes(&["B", "c"]));
    assert!(matches!(&example[1].1, Some(Kind::FloatList(list)) if list.value[..2] == [1.5, 2.0] && list.value[2].is_nan()));
    assert_eq!(example[2].1, integers(&[1, 1, -3]));
    assert_eq!(example[3].1, None);
    assert_eq!(example[4].1, bytes(&["a"]));
}

#[test]
fn examples_have_the_features_of_the_context() {
    let body = r#"{"examples": [{"a": 1}, {"a": 2, "c": 9.5}], "context": {"c": 0.5}, "signature_name": "f"}"#;
    let name = |name: &str| name.to_owned();
    let expected =
        [vec![(name("a"), integers(&[1])), (name("c"), floats(&[0.5]))], vec![(name("a"), integers(&[2])), (name("c"), floats(&[9.5]))]];
    assert_eq!(features(body), expected);
    assert_eq!(parse_examples(body.as_bytes(), &limits()).unwrap().signature_name, "f");
    assert_eq!(features(r#"{"examples": [{}]} trailing"#), [vec![]]);
    assert_eq!(Feature::default().kind, None);
}

#[test]
fn features_of_mixed_or_unknown_types_are_refused() {
    let refused = [
        r#"{"examples": [{"f": [1, 1.5]}]}"#,
        r#"{"examples": [{"f": [1.5, 1]}]}"#,
        r#"{"examples": [{"f": ["a", 1]}]}"#,
        r#"{"examples": [{"f": null}]}"#,
        r#"{"examples": [{"f": [[1]]}]}"#,
        r#"{"examples": [{"f": {"x": 1}}]}"#,
        r#"{"examples": [{"f": 9223372036854775808}]}"#,
        r#"{"examples": [{"f": 1e39}]}"#,
        r#"{"examples": [1]}"#,
        r#"{"examples": []}"#,
        r#"{"examples": {}}"#,
        r#"{"context": {}}"#,
        r#"[]"#,
    ];
    for body in refused {
        let error = parse_examples(body.as_bytes(), &limits()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{body}");
    }
}

#[test]
fn a_context_is_not_copied_without_bound() {
    let body = format!("{{\"context\": {{\"c\": [{}1]}}, \"examples\": [{}{{}}]}}", "1,".repeat(1000), "{},".repeat(1000));
    let small = Limits { max_context_copies: 100_000, ..limits() };
    assert_eq!(parse_examples(body.as_bytes(), &small).unwrap_err().code(), Code::ResourceExhausted);
}

#[test]
fn results_are_printed_as_lists() {
    let class = |label: &str, score| Class { label: label.into(), score };
    let result = ClassificationResult {
        classifications: vec![
            Classifications { classes: vec![class("cat", 0.75), class("dog", 0.25)] },
            Classifications { classes: vec![class("", 1.0)] },
        ],
    };
    let mut out = Vec::new();
    print_classifications(&result, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "{\n    \"results\": [[[\"cat\", 0.75], [\"dog\", 0.25]], [[\"\", 1.0]]\n    ]\n}");
    let mut out = Vec::new();
    print_regressions(&RegressionResult { regressions: vec![Regression { value: 2.5 }, Regression { value: -1e6 }] }, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "{\n    \"results\": [2.5, -1e+06]\n}");
    assert!(print_classifications(&ClassificationResult::default(), &mut Vec::new()).is_err());
    assert!(print_regressions(&RegressionResult::default(), &mut Vec::new()).is_err());
}
