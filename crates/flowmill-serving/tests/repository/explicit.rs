//! Models that are loaded and unloaded by name.

use crate::support::*;
use flowmill::Code;
use flowmill_serving::repository::VersionState::*;
use flowmill_serving::repository::{RepositoryConfig, VersionChoice};

fn text(repository: &Served, model: &str) -> flowmill::Result<String> {
    Ok(repository.get(model, &VersionChoice::Preferred)?.text.clone())
}

#[test]
fn models_are_loaded_and_unloaded_by_name() {
    let world = World::new();
    world.write("a", "1", "a");
    world.write("b", "1", "b");
    let repository = world.start(world.explicit());
    let index = repository.models();
    assert_eq!(index.iter().map(|model| (model.name.as_str(), model.versions.len())).collect::<Vec<_>>(), [("a", 0), ("b", 0)]);
    assert!(text(&repository, "a").is_err());
    repository.load("a").unwrap();
    assert_eq!(text(&repository, "a").unwrap(), "a");
    assert_eq!(world.loads.begun(), 1);
    repository.unload("a").unwrap();
    assert!(text(&repository, "a").is_err());
    assert!(repository.wait_until(LONG, |repository| states(repository, "a") == [(1, End)]));
    assert_eq!(world.loads.alive(), 0);
    repository.load("a").unwrap();
    assert_eq!(text(&repository, "a").unwrap(), "a");
}

#[test]
fn a_load_finds_new_versions_and_changed_files_of_its_model_alone() {
    let world = World::new();
    let path = world.write("a", "1", "a");
    world.write("b", "1", "b");
    let config = RepositoryConfig { startup_models: ["a".to_owned(), "b".to_owned()].into(), ..world.explicit() };
    let repository = world.serve(config);
    repository.load("a").unwrap();
    assert_eq!(world.loads.begun(), 2, "nothing changed");
    touch(&path, "changed");
    world.write("b", "2", "b2");
    repository.load("a").unwrap();
    assert_eq!(text(&repository, "a").unwrap(), "changed");
    assert_eq!(text(&repository, "b").unwrap(), "b");
    repository.load("b").unwrap();
    assert_eq!(text(&repository, "b").unwrap(), "b2");
    assert!(repository.wait_until(LONG, |_| world.loads.alive() == 2));
}

#[test]
fn a_load_that_fails_keeps_the_available_version() {
    let world = World::new();
    let path = world.write("a", "1", "a");
    let repository = world.start(world.explicit());
    repository.load("a").unwrap();
    touch(&path, "corrupt");
    let error = repository.load("a").unwrap_err();
    assert!(error.message().contains("the file is corrupt"), "{error}");
    assert_eq!(text(&repository, "a").unwrap(), "a");
    assert_eq!(repository.load("a").unwrap_err().code(), Code::DataLoss, "each load is a new attempt");
    touch(&path, "mended");
    repository.load("a").unwrap();
    assert_eq!(text(&repository, "a").unwrap(), "mended");
}

#[test]
fn no_path_outside_the_repository_can_be_named() {
    let world = World::new();
    world.write("outside", "1", "outside");
    let inside = world.path("inside");
    std::fs::create_dir(&inside).unwrap();
    let repository = world.start(RepositoryConfig { directories: vec![inside.clone()], ..world.explicit() });
    let absolute = world.path("outside");
    for name in ["../outside", "..", ".", "", "/", "a/../../outside", "..\\outside", "outside\0", absolute.to_str().unwrap()] {
        assert_eq!(repository.load(name).unwrap_err().code(), Code::NotFound, "{name:?}");
        assert_eq!(repository.unload(name).unwrap_err().code(), Code::NotFound, "{name:?}");
    }
    assert_eq!(world.loads.begun(), 0);
    assert!(repository.models().is_empty());
}

#[test]
fn loads_by_name_need_the_explicit_mode() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    assert_eq!(repository.load("m").unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(repository.unload("m").unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn a_model_without_versions_cannot_be_loaded() {
    let world = World::new();
    std::fs::create_dir(world.path("empty")).unwrap();
    let repository = world.start(world.explicit());
    let error = repository.load("empty").unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().contains("'empty'"), "{error}");
}
