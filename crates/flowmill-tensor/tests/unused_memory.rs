//! Blocks that are kept for reuse, in a process of its own: they are the process's.
#![allow(clippy::unwrap_used)]

use flowmill_tensor::{DType, Tensor, release_unused_memory};

const MB: usize = 1 << 20;

#[test]
fn unused_blocks_are_released() {
    drop(Tensor::zeros(DType::U8, [200 * MB]).unwrap());
    assert!(release_unused_memory() >= 200 * MB);
    assert!(release_unused_memory() < 200 * MB);
    let tensor = Tensor::zeros(DType::U8, [200 * MB]).unwrap();
    assert!(release_unused_memory() < 200 * MB, "a block in use is not released");
    assert_eq!(tensor.as_slice::<u8>().unwrap()[200 * MB - 1], 0);
}
