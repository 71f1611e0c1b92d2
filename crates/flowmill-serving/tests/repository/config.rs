//! Configurations as files and messages of TensorFlow Serving.

use crate::support::World;
use flowmill::Code;
use flowmill_serving::proto::tfs;
use flowmill_serving::repository::{ModelConfig, VersionPolicy};
use std::path::Path;

const FILE: &str = r#"
# The models of a test.
model_config_list: {
  config: {
    name: "digits",
    base_path: "/models/digits",
    model_platform: "tensorflow",
    model_version_policy: { specific: { versions: 42, versions: 43 } }
    version_labels: { key: 'stable' value: 42 }
    version_labels: { key: 'canary' value: 43 }
    logging_config { sampling_config { sampling_rate: 0.5 } }
  }
  config { name: "all" base_path: "/models/all" model_version_policy { all {} } }
  config { name: "latest" base_path: "/models/latest" model_version_policy { latest { num_versions: 2 } } }
  config { name: "default" base_path: "/models/default" model_type: 1 }
}
"#;

#[test]
fn a_configuration_file_is_read() {
    let world = World::new();
    let path = world.path("models.config");
    std::fs::write(&path, FILE).unwrap();
    let models = ModelConfig::list_from_file(&path).unwrap();
    assert_eq!(models.keys().collect::<Vec<_>>(), ["all", "default", "digits", "latest"]);
    let digits = &models["digits"];
    assert_eq!(digits.base_path, Path::new("/models/digits"));
    assert_eq!(digits.platform, "tensorflow");
    assert_eq!(digits.version_policy, VersionPolicy::Specific([42, 43].into()));
    assert_eq!(digits.labels, [("canary".to_owned(), 43), ("stable".to_owned(), 42)].into());
    assert_eq!(models["all"].version_policy, VersionPolicy::All);
    assert_eq!(models["latest"].version_policy, VersionPolicy::Latest(2));
    assert_eq!(models["default"].version_policy, VersionPolicy::Latest(1));
    assert_eq!(models["default"].platform, "tensorflow");
}

#[test]
fn errors_name_file_line_and_field() {
    let world = World::new();
    let path = world.path("models.config");
    let error = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let error = ModelConfig::list_from_file(&path).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{error}");
        assert!(error.message().contains("models.config"), "{error}");
        error.message().to_owned()
    };
    let cases = [
        ("model_config_list {\n  config {\n    nam: \"a\"\n  }\n}", "models.config:3: ", "'nam'"),
        ("model_config_list {\n  config {\n    name: 5\n  }\n}", "models.config:3: ", "5"),
        ("model_config_list {\n  config {\n    name: \"a\"\n", "models.config:3: ", "end of input"),
        (
            "model_config_list {\n  config { version_labels { key: 'a' value: 99999999999999999999 } } }",
            "models.config:2: ",
            "99999999999999999999",
        ),
        ("model_config_list { config { name: 'a' } }", "config[0]", "'base_path'"),
        ("model_config_list { config { base_path: 'a' } }", "config[0]", "'name'"),
        ("model_config_list { config { name: 'a/b' base_path: 'a' } }", "config[0]", "'name'"),
        (
            "model_config_list { config { name: 'a' base_path: 'a' } config { name: 'a' base_path: 'b' } }",
            "config[1]",
            "'a' is listed twice",
        ),
        ("model_config_list { config { name: 'a' base_path: 'a' model_version_policy { specific {} } } }", "config[0]", "specific"),
    ];
    for (text, place, field) in cases {
        let message = error(text);
        assert!(message.contains(place) && message.contains(field), "{message}");
    }
    let missing = ModelConfig::list_from_file(&world.path("missing")).unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    assert!(missing.message().contains("missing"), "{missing}");
}

#[test]
fn a_request_to_reload_holds_a_configuration() {
    let config = tfs::ModelConfig { name: "m".into(), base_path: "/m".into(), ..tfs::ModelConfig::default() };
    let list = tfs::ModelConfigList { config: vec![config] };
    let config = tfs::model_server_config::Config::ModelConfigList(list);
    let world = World::new();
    let changed = world.config_of(&["old"]).with_models(&tfs::ModelServerConfig { config: Some(config) }).unwrap();
    assert_eq!(changed.models.into_values().collect::<Vec<_>>(), [ModelConfig::new("m", "/m")]);
    let custom = tfs::model_server_config::Config::CustomModelConfig(Default::default());
    let error = ModelConfig::list_from_proto(&tfs::ModelServerConfig { config: Some(custom) }).unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
}
