//! Many threads use a model while its versions change.

use crate::support::*;
use flowmill_serving::repository::VersionState::Available;
use flowmill_serving::repository::{RepositoryConfig, VersionChoice};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The number of versions that come and go.
const NUM_VERSIONS: i64 = 150;

/// The number of threads that make requests.
const NUM_THREADS: usize = 8;

#[test]
fn no_request_fails_and_no_model_leaks_while_versions_change() {
    let world = World::new();
    world.write("m", "1", "1");
    let config = RepositoryConfig { file_system_poll_wait: Some(Duration::from_millis(1)), ..world.config() };
    let repository = world.serve(config);
    let (done, num_requests) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..NUM_THREADS {
            scope.spawn(|| {
                let mut newest = 0;
                while !done.load(Ordering::Relaxed) {
                    let model = repository.get("m", &VersionChoice::Preferred).unwrap();
                    let version: i64 = model.text.parse().unwrap();
                    assert_eq!(version, model.version());
                    assert!(version >= newest, "version {version} after version {newest}");
                    newest = version;
                    num_requests.fetch_add(1, Ordering::Relaxed);
                    std::thread::yield_now();
                }
            });
        }
        for version in 2..=NUM_VERSIONS {
            world.write("m", &version.to_string(), &version.to_string());
            world.remove("m", &(version - 1).to_string());
            wait_for(&repository, version, Available);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(num_requests.load(Ordering::Relaxed) >= NUM_THREADS);
    assert!(world.loads.begun() >= NUM_VERSIONS as usize);
    assert!(repository.wait_until(LONG, |_| world.loads.alive() == 1), "{} models are alive", world.loads.alive());
    repository.shutdown(LONG).unwrap();
    assert_eq!(world.loads.alive(), 0);
}
