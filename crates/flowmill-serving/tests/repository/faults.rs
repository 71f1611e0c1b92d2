//! Versions and paths that are damaged, incomplete or gone.

use crate::support::*;
use flowmill::Code;
use flowmill_serving::repository::VersionState::*;
use flowmill_serving::repository::{Repository, RepositoryConfig, VersionChoice};
use std::time::Duration;

#[test]
fn a_corrupt_version_leaves_the_old_one_serving() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(RepositoryConfig { max_num_load_retries: 0, ..world.config() });
    world.write("m", "2", "corrupt");
    repository.poll();
    wait_for(&repository, 2, End);
    assert_eq!(wait_for_failure(&repository, 2, ""), "DataLoss: the file is corrupt");
    repository.poll();
    assert_eq!(states(&repository, "m"), [(2, End), (1, Available)]);
    assert_eq!(preferred(&repository).text, "one");
    world.write("m", "3", "three");
    repository.poll();
    wait_for(&repository, 3, Available);
    wait_for(&repository, 1, End);
}

#[test]
fn a_failed_load_is_tried_again_as_configured() {
    let world = World::new();
    world.write("m", "1", "corrupt");
    let config = RepositoryConfig { max_num_load_retries: 3, load_retry_interval: Duration::from_millis(1), ..world.config() };
    let repository = world.start(config);
    let error = repository.wait_until_ready(LONG).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("'m'") && error.message().contains("the file is corrupt"), "{error}");
    assert_eq!(world.loads.begun(), 4);
    assert_eq!(states(&repository, "m"), [(1, End)]);
}

#[test]
fn a_version_that_waits_for_its_retry_is_loading() {
    let world = World::new();
    world.write("m", "1", "corrupt");
    let repository = world.start(world.config());
    wait_for_failure(&repository, 1, "");
    assert_eq!(states(&repository, "m"), [(1, Loading)]);
    let error = repository.wait_until_ready(Duration::from_millis(1)).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert!(error.message().contains("the file is corrupt"), "{error}");
}

#[test]
fn a_half_written_version_is_loaded_when_its_files_change() {
    let world = World::new();
    let path = world.path("m").join("1");
    std::fs::create_dir_all(&path).unwrap();
    let repository = world.start(world.config());
    wait_for_failure(&repository, 1, "");
    repository.poll();
    assert_eq!(world.loads.begun(), 1, "nothing changed");
    touch(&path, "corrupt");
    repository.poll();
    wait_for_failure(&repository, 1, "corrupt");
    touch(&path, "complete");
    repository.poll();
    repository.wait_until_ready(LONG).unwrap();
    assert_eq!(preferred(&repository).text, "complete");
    assert_eq!(status(&repository, 1).unwrap().error, None);
}

#[test]
fn a_loader_that_panics_fails_the_version_alone() {
    let world = World::new();
    world.write("m", "1", "panic");
    let repository = world.start(RepositoryConfig { num_load_threads: 1, ..world.config() });
    assert_eq!(wait_for_failure(&repository, 1, ""), "Internal: panic: the loader panicked");
    world.write("m", "2", "two");
    repository.poll();
    wait_for(&repository, 2, Available);
}

#[test]
fn a_base_path_that_vanishes_keeps_the_model() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    std::fs::rename(world.path("m"), world.path("elsewhere")).unwrap();
    repository.poll();
    assert_eq!(preferred(&repository).text, "one");
    let error = repository.models()[0].error.clone().unwrap();
    assert_eq!(error.code(), Code::NotFound);
    std::fs::rename(world.path("elsewhere"), world.path("m")).unwrap();
    world.write("m", "2", "two");
    repository.poll();
    wait_for(&repository, 2, Available);
    assert_eq!(repository.models()[0].error, None);
}

#[test]
fn a_missing_model_is_not_ready() {
    let world = World::new();
    let repository = world.start(world.config());
    assert!(!repository.is_ready());
    let error = repository.wait_until_ready(LONG).unwrap_err();
    assert!(error.message().contains(world.path("m").to_str().unwrap()), "{error}");
    world.write("m", "1", "one");
    repository.poll();
    repository.wait_until_ready(LONG).unwrap();
    assert!(repository.is_ready());
}

#[test]
fn a_version_that_is_deleted_while_it_loads_is_dropped() {
    let world = World::new();
    world.write("m", "1", "one");
    world.write("m", "2", "block");
    let repository = world.start(world.config());
    wait_for(&repository, 2, Loading);
    world.remove("m", "2");
    repository.poll();
    wait_for(&repository, 1, Available);
    world.loads.open_gate();
    wait_for(&repository, 2, End);
    assert_eq!(world.loads.alive(), 1);
}

#[test]
fn wrong_batching_parameters_are_an_error_of_the_version() {
    let world = World::new();
    let path = world.write("m", "tmp", "one");
    std::fs::write(path.join("batching_params.pbtxt"), "max_batch_size { value: 8 }\nallowed_sizes: 4").unwrap();
    std::fs::rename(&path, world.path("m").join("1")).unwrap();
    let repository = world.start(world.config());
    let error = wait_for_failure(&repository, 1, "");
    assert!(error.contains("batching_params.pbtxt:2:") && error.contains("allowed_sizes"), "{error}");
    assert_eq!(world.loads.begun(), 0);
}

#[test]
fn shutdown_waits_for_requests() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    let in_flight = preferred(&repository);
    let error = repository.shutdown(Duration::from_millis(1)).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert!(error.message().contains("m version 1"), "{error}");
    assert_eq!(repository.get("m", &VersionChoice::Preferred).unwrap_err().code(), Code::Unavailable);
    assert_eq!(in_flight.text, "one");
    drop(in_flight);
    repository.shutdown(LONG).unwrap();
    assert_eq!(world.loads.alive(), 0);
}

#[test]
fn a_repository_that_is_dropped_drops_its_models() {
    let world = World::new();
    world.write("m", "1", "one");
    let repository = world.serve(world.config());
    let in_flight = preferred(&repository);
    drop(repository);
    assert_eq!(in_flight.text, "one");
    drop(in_flight);
    world.loads.wait(|counts| counts.alive == 0 && counts.dropped_on == "model-unload");
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused() {
    let world = World::new();
    let with_name = |name: &str| {
        let mut config = world.config();
        let mut model = config.models.remove("m").unwrap();
        model.name = name.to_owned();
        config.models.insert(name.to_owned(), model);
        config
    };
    for name in ["", "a/b", "a:b", "a\nb"] {
        let error = Repository::start(with_name(name), TextLoader(world.loads.clone())).err().unwrap();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("'name'"), "{error}");
    }
    let zero = RepositoryConfig { file_system_poll_wait: Some(Duration::ZERO), ..world.config() };
    assert!(Repository::start(zero, TextLoader(world.loads.clone())).is_err());
}
