//! Unloading gives memory back. In a process of its own: what tensors hold is counted per process.
#![allow(clippy::unwrap_used)]

use flowmill::{DType, Tensor, live_bytes, release_unused_memory};
use flowmill_serving::repository::{ControlMode, LoadRequest, Loader, Repository, RepositoryConfig, VersionChoice, VersionState};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const MB: usize = 1 << 20;
const WEIGHTS: usize = 100 * MB;

/// A model of weights alone.
struct Weights;

impl Loader for Weights {
    type Model = Tensor;

    fn load(&self, _: &LoadRequest<'_>) -> flowmill::Result<Tensor> {
        Tensor::zeros(DType::U8, [WEIGHTS])
    }
}

#[test]
fn an_unloaded_model_gives_its_memory_back_when_its_requests_end() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("m/1")).unwrap();
    let directories = vec![directory.path().to_owned()];
    let config = RepositoryConfig { mode: ControlMode::Explicit, directories, ..RepositoryConfig::default() };
    let repository = Repository::start(config, Weights).unwrap();
    let before = live_bytes();
    for _ in 0..3 {
        repository.load("m").unwrap();
        let in_flight = repository.get("m", &VersionChoice::Preferred).unwrap();
        repository.unload("m").unwrap();
        assert!(live_bytes() >= before + WEIGHTS);
        drop(in_flight);
        let has_ended = |repository: &Repository<Weights>| repository.status("m", Some(1)).unwrap()[0].state == VersionState::End;
        assert!(repository.wait_until(LONG, has_ended));
        assert_eq!(live_bytes(), before);
        // Nothing of that size is left that is only kept for reuse.
        assert!(release_unused_memory() < WEIGHTS);
    }
}
