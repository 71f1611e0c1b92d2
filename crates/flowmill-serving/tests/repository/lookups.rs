//! Lookups by version and by label, and reloads of the configuration.

use crate::support::*;
use flowmill::Code;
use flowmill_serving::repository::VersionState::*;
use flowmill_serving::repository::{ModelConfig, RepositoryConfig, VersionChoice, VersionPolicy};
use std::collections::BTreeMap;

fn label(name: &str) -> VersionChoice {
    VersionChoice::Label(name.to_owned())
}

fn labels<const N: usize>(labels: [(&str, i64); N]) -> BTreeMap<String, i64> {
    labels.map(|(label, version)| (label.to_owned(), version)).into()
}

#[test]
fn unknown_models_versions_and_labels_are_named() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    let error = |model: &str, choice: &VersionChoice| repository.get(model, choice).unwrap_err().to_string();
    assert_eq!(error("x", &VersionChoice::Preferred), "NotFound: Servable not found for request: Latest(x)");
    assert_eq!(error("m", &VersionChoice::Version(7)), "NotFound: Servable not found for request: Specific(m, 7)");
    assert_eq!(error("x", &VersionChoice::Version(7)), "NotFound: Servable not found for request: Specific(x, 7)");
    assert_eq!(error("m", &label("stable")), "InvalidArgument: Unrecognized servable version label: stable");
    assert_eq!(repository.status("x", None).unwrap_err().code(), Code::NotFound);
    assert_eq!(repository.status("m", Some(7)).unwrap_err().code(), Code::NotFound);
}

#[test]
fn labels_name_versions() {
    let world = World::new();
    world.write("m", "1", "one");
    world.write("m", "2", "two");
    let mut config = world.config();
    let model = config.models.get_mut("m").unwrap();
    model.version_policy = VersionPolicy::All;
    model.labels = labels([("stable", 1), ("canary", 2)]);
    let repository = world.serve(config.clone());
    wait_for(&repository, 1, Available);
    wait_for(&repository, 2, Available);
    assert_eq!(repository.get("m", &label("stable")).unwrap().text, "one");
    assert_eq!(repository.get("m", &label("canary")).unwrap().text, "two");

    // A reload moves a label to a version that is available, and to no other.
    config.models.get_mut("m").unwrap().labels = labels([("stable", 2)]);
    repository.reload(config.clone()).unwrap();
    assert_eq!(repository.get("m", &label("stable")).unwrap().text, "two");
    assert!(repository.get("m", &label("canary")).is_err());
    config.models.get_mut("m").unwrap().labels = labels([("stable", 3)]);
    let error = repository.reload(config.clone()).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("'stable'") && error.message().contains('3'), "{error}");
    assert_eq!(repository.get("m", &label("stable")).unwrap().text, "two");

    // With the permission, a new label may name a version that is not there yet.
    config.allow_version_labels_for_unavailable_models = true;
    assert!(repository.reload(config.clone()).is_err(), "the label exists");
    config.models.get_mut("m").unwrap().labels = labels([("stable", 1), ("next", 3)]);
    repository.reload(config).unwrap();
    let error = repository.get("m", &label("next")).unwrap_err();
    assert_eq!(error.to_string(), "NotFound: Servable not found for request: Specific(m, 3)");
    world.write("m", "3", "three");
    repository.poll();
    wait_for(&repository, 3, Available);
    assert_eq!(repository.get("m", &label("next")).unwrap().text, "three");
}

#[test]
fn a_reload_replaces_the_list_of_models() {
    let world = World::new();
    for name in ["m", "n"] {
        world.write(name, "1", name);
    }
    let repository = world.serve(world.config());
    repository.reload(world.config_of(&["n"])).unwrap();
    assert_eq!(repository.get("n", &VersionChoice::Preferred).unwrap().text, "n");
    assert!(repository.get("m", &VersionChoice::Preferred).is_err());
    wait_for(&repository, 1, End);
    assert_eq!(world.loads.alive(), 1);
    repository.reload(RepositoryConfig { models: BTreeMap::new(), ..world.config() }).unwrap();
    assert!(repository.wait_until(LONG, |repository| states(repository, "n") == [(1, End)]));
}

#[test]
fn a_reload_with_another_base_path_replaces_the_version_without_a_gap() {
    let world = World::new();
    world.write("m", "1", "old");
    world.write("other", "1", "block");
    let repository = world.serve(world.config());
    let mut config = world.config();
    config.models.insert("m".to_owned(), ModelConfig::new("m", world.path("other")));
    std::thread::scope(|scope| {
        let reload = scope.spawn(|| repository.reload(config).unwrap());
        world.loads.wait(|counts| counts.begun == 2);
        assert_eq!(preferred(&repository).text, "old");
        world.loads.open_gate();
        reload.join().unwrap();
    });
    assert_eq!(preferred(&repository).text, "block");
    assert!(repository.wait_until(LONG, |_| world.loads.alive() == 1));
}

#[test]
fn a_reload_reports_models_that_cannot_be_loaded_and_serves_the_others() {
    let world = World::new();
    world.write("m", "1", "one");
    world.write("bad", "1", "corrupt");
    let repository = world.serve(world.config());
    let error = repository.reload(world.config_of(&["m", "bad", "missing"])).unwrap_err();
    for part in ["'bad'", "version 1: the file is corrupt", "'missing'"] {
        assert!(error.message().contains(part), "{error}");
    }
    assert_eq!(preferred(&repository).text, "one");
    // A reload tries again at once, whatever the interval of retries.
    touch(&world.path("bad").join("1"), "good");
    repository.reload(world.config_of(&["m", "bad"])).unwrap();
    assert_eq!(repository.get("bad", &VersionChoice::Preferred).unwrap().text, "good");
}

#[test]
fn directories_of_models_are_a_source() {
    let world = World::new();
    for name in ["a", "b", ".hidden"] {
        world.write(name, "1", name);
    }
    std::fs::write(world.path("file"), "").unwrap();
    let config = RepositoryConfig { directories: vec![world.directory.path().to_owned()], ..world.config_of(&[]) };
    let repository = world.serve(config);
    let names = |repository: &Served| repository.models().into_iter().map(|model| model.name).collect::<Vec<_>>();
    assert_eq!(names(&repository), ["a", "b"]);
    world.write("c", "5", "c");
    std::fs::remove_dir_all(world.path("a")).unwrap();
    repository.poll();
    assert!(repository.wait_until(LONG, |repository| repository.get("c", &VersionChoice::Version(5)).is_ok()));
    assert!(repository.get("a", &VersionChoice::Preferred).is_err());
}
