//! The limit on tensors' memory, in a process of its own: the limit is the process's.
#![allow(clippy::unwrap_used)]

use flowmill_tensor::{Bytes, Code, DType, Tensor, live_bytes, memory_limit, set_memory_limit};

const MB: usize = 1 << 20;

#[test]
fn strings_count_like_other_tensors() {
    let limit = memory_limit();
    let before = live_bytes();
    let long = || (0..64).map(|i| Bytes::from(vec![i; MB])).collect::<Vec<_>>();
    let strings = Tensor::from_strings([64], long()).unwrap();
    assert!(live_bytes() - before >= 64 * MB);
    let held = live_bytes();
    // What is shared counts once.
    let shared = strings.as_strings().unwrap().to_vec();
    let other = Tensor::from_strings([8, 8], shared).unwrap();
    assert!(live_bytes() - held < MB);

    set_memory_limit(live_bytes() + 32 * MB);
    let refused = Tensor::from_strings([64], long()).unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("OOM when allocating"), "{refused}");
    assert_eq!(Tensor::zeros(DType::String, [4 * MB]).unwrap_err().code(), Code::ResourceExhausted);
    assert!(Tensor::from_strings([1], vec![Bytes::from(vec![1; MB])]).is_ok());
    let scalar = Tensor::string(vec![0; 31 * MB]);
    assert_eq!(Tensor::zeros(DType::U8, [2 * MB]).unwrap_err().code(), Code::ResourceExhausted);
    drop((strings, other, scalar));
    assert_eq!(live_bytes(), before);
    assert!(Tensor::from_strings([64], long()).is_ok());
    set_memory_limit(limit);
}
