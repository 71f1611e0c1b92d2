//! Versions come and go: policies, transitions, drains.

use crate::support::*;
use flowmill_serving::repository::VersionState::*;
use flowmill_serving::repository::{MAX_ENDED_VERSIONS, ModelConfig, RepositoryConfig, StateChange, VersionChoice, VersionPolicy};
use std::sync::{Arc, Mutex};

#[test]
fn the_latest_version_is_served() {
    let world = World::new();
    for version in ["2", "10", "9"] {
        world.write("m", version, version);
    }
    for other in ["x", "1.5", "3a", "-", ""] {
        std::fs::create_dir_all(world.path("m").join(other)).unwrap();
    }
    std::fs::write(world.path("m").join("11"), "a file is no version").unwrap();
    let repository = world.serve(world.config());
    assert_eq!(preferred(&repository).text, "10");
    assert_eq!(states(&repository, "m"), [(10, Available)]);
}

#[test]
fn policies_select_versions() {
    let world = World::new();
    for version in ["1", "2", "3", "4"] {
        world.write("m", version, version);
    }
    let served = |policy| {
        let mut config = world.config();
        config.models.get_mut("m").unwrap().version_policy = policy;
        let repository = world.start(config);
        assert!(repository.wait_until(LONG, |repository| states(repository, "m").iter().all(|(_, state)| *state == Available)));
        states(&repository, "m").into_iter().map(|(version, _)| version).collect::<Vec<_>>()
    };
    assert_eq!(served(VersionPolicy::Latest(0)), [4]);
    assert_eq!(served(VersionPolicy::Latest(2)), [4, 3]);
    assert_eq!(served(VersionPolicy::All), [4, 3, 2, 1]);
    assert_eq!(served(VersionPolicy::Specific([1, 3, 7].into())), [3, 1]);
}

#[test]
fn a_new_version_is_available_before_the_old_one_is_unloaded() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    world.write("m", "2", "block");
    repository.poll();
    wait_for(&repository, 2, Loading);
    assert_eq!(preferred(&repository).text, "one");
    assert_eq!(states(&repository, "m"), [(2, Loading), (1, Available)]);
    world.loads.open_gate();
    wait_for(&repository, 2, Available);
    assert_eq!(preferred(&repository).version(), 2);
    wait_for(&repository, 1, End);
    assert_eq!(world.loads.alive(), 1);
}

#[test]
fn a_version_in_use_is_dropped_after_its_requests_on_a_thread_of_the_repository() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    let in_flight = preferred(&repository);
    let another = in_flight.clone();
    world.write("m", "2", "two");
    repository.poll();
    wait_for(&repository, 1, Unloading);
    assert_eq!(preferred(&repository).text, "two");
    let error = repository.get("m", &VersionChoice::Version(1)).unwrap_err();
    assert_eq!(error.message(), "Servable not found for request: Specific(m, 1)");
    drop(in_flight);
    assert_eq!(another.text, "one");
    assert_eq!(states(&repository, "m"), [(2, Available), (1, Unloading)]);
    drop(another);
    wait_for(&repository, 1, End);
    world.loads.wait(|counts| counts.alive == 1 && counts.dropped_on == "model-unload");
}

#[test]
fn deleted_versions_are_unloaded_and_older_ones_return() {
    let world = World::new();
    world.write("m", "1", "one");
    world.write("m", "2", "two");
    let repository = world.serve(world.config());
    world.remove("m", "2");
    repository.poll();
    wait_for(&repository, 1, Available);
    wait_for(&repository, 2, End);
    world.remove("m", "1");
    repository.poll();
    wait_for(&repository, 1, End);
    let error = repository.get("m", &VersionChoice::Preferred).unwrap_err();
    assert_eq!(error.message(), "Servable not found for request: Latest(m)");
    world.write("m", "1", "one again");
    repository.poll();
    wait_for(&repository, 1, Available);
    assert_eq!(preferred(&repository).text, "one again");
}

#[test]
fn ended_versions_are_listed_up_to_a_limit() {
    let world = World::new();
    world.write("m", "0", "0");
    let repository = world.serve(world.config());
    let num_versions = MAX_ENDED_VERSIONS as i64 + 5;
    for version in 1..=num_versions {
        world.write("m", &version.to_string(), "text");
        repository.poll();
        wait_for(&repository, version, Available);
        wait_for(&repository, version - 1, End);
    }
    let listed: Vec<i64> = states(&repository, "m").into_iter().map(|(version, _)| version).collect();
    let expected: Vec<i64> = (num_versions - MAX_ENDED_VERSIONS as i64..=num_versions).rev().collect();
    assert_eq!(listed, expected);
}

#[test]
fn the_file_system_is_polled() {
    let world = World::new();
    world.write("m", "1", "one");
    let config = RepositoryConfig { file_system_poll_wait: Some(std::time::Duration::from_millis(5)), ..world.config() };
    let repository = world.serve(config);
    world.write("m", "2", "two");
    wait_for(&repository, 2, Available);
    wait_for(&repository, 1, End);
    world.remove("m", "2");
    world.write("m", "3", "three");
    wait_for(&repository, 3, Available);
}

#[test]
fn subscribers_see_every_change_in_order() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    let seen: Arc<Mutex<Vec<(i64, _)>>> = Arc::default();
    let sink = seen.clone();
    repository.subscribe(move |change: &StateChange| {
        assert_eq!(&*change.model, "m");
        sink.lock().unwrap().push((change.status.version, change.status.state));
    });
    world.write("m", "2", "two");
    repository.poll();
    wait_for(&repository, 1, End);
    repository.shutdown(LONG).unwrap();
    let seen = seen.lock().unwrap();
    let of = |version| seen.iter().filter(|(v, _)| *v == version).map(|(_, state)| *state).collect::<Vec<_>>();
    assert_eq!(of(1), [Available, Unloading, End]);
    assert_eq!(of(2), [Start, Loading, Available, Unloading, End]);
    let at = |change| seen.iter().position(|&c| c == change);
    assert!(at((2, Available)) < at((1, Unloading)), "{seen:?}");
}

#[test]
fn a_base_path_may_be_a_model() {
    let world = World::new();
    let directory = world.write("m", "model", "a directory");
    let file = world.path("frozen.pb");
    std::fs::write(&file, "a file").unwrap();
    let models = [("directory", directory), ("file", file)].map(|(name, path)| (name.to_owned(), ModelConfig::new(name, path)));
    let repository = world.serve(RepositoryConfig { models: models.into(), ..world.config() });
    for (name, text) in [("directory", "a directory"), ("file", "a file")] {
        let model = repository.get(name, &VersionChoice::Version(1)).unwrap();
        assert_eq!(model.text, text);
    }
}

#[test]
fn two_models_may_have_one_base_path() {
    let world = World::new();
    world.write("m", "1", "one");
    let mut config = world.config();
    config.models.insert("n".to_owned(), ModelConfig::new("n", world.path("m")));
    let repository = world.serve(config);
    let models = ["m", "n"].map(|name| repository.get(name, &VersionChoice::Preferred).unwrap());
    assert_eq!(models.map(|model| model.name().to_owned()), ["m", "n"]);
    assert_eq!(world.loads.begun(), 2);
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_followed() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    let [a, b] = ["a", "b"].map(|name| world.write("store", name, name));
    std::fs::create_dir(world.path("m")).unwrap();
    symlink(&a, world.path("m").join("1")).unwrap();
    symlink(world.path("nowhere"), world.path("m").join("2")).unwrap();
    symlink(world.path("m"), world.path("link")).unwrap();
    let mut config = world.config();
    config.models.get_mut("m").unwrap().base_path = world.path("link");
    let repository = world.serve(config);
    assert_eq!(preferred(&repository).text, "a");
    // The link is set to another directory, in one step.
    symlink(&b, world.path("m").join("new")).unwrap();
    std::fs::rename(world.path("m").join("new"), world.path("m").join("1")).unwrap();
    repository.poll();
    assert!(repository.wait_until(LONG, |repository| preferred(repository).text == "b"));
    assert_eq!(states(&repository, "m"), [(1, Available)]);
}

#[test]
fn a_loader_gets_the_parameters_of_the_version() {
    let world = World::new();
    let path = world.write("m", "tmp", "one");
    std::fs::write(path.join("batching_params.pbtxt"), "max_batch_size { value: 8 } allowed_batch_sizes: [4, 8]").unwrap();
    std::fs::rename(&path, world.path("m").join("1")).unwrap();
    let mut config = world.config();
    config.models.get_mut("m").unwrap().platform = "tensorflow".to_owned();
    let repository = world.serve(config);
    let model = preferred(&repository);
    assert_eq!(model.request, "m 1 \"tensorflow\" Some([4, 8]) true");
    assert_eq!(model.batching().unwrap().max_batch_size, Some(8));
    assert_eq!(model.path(), world.path("m").join("1").canonicalize().unwrap());
    assert_eq!(model.thread, "model-load");
}
