use crate::testing::{Call, ty};
use flowmill_tensor::{DType, Tensor};
use std::sync::Arc;

#[test]
fn a_tensor_stays_until_it_is_deleted() {
    let resources = Arc::default();
    let call = |op: &str, input: Tensor| Call::new(op).attr("dtype", ty(DType::F32)).resources(&resources).input(input);
    let handle = call("GetSessionHandle", Tensor::scalar(2.5f32)).run1().unwrap();
    let get = || call("GetSessionTensor", handle.clone()).run1();
    assert_eq!(get().unwrap().to_scalar::<f32>().unwrap(), 2.5);
    assert_eq!(get().unwrap().to_scalar::<f32>().unwrap(), 2.5);
    call("DeleteSessionTensor", handle.clone()).run().unwrap();
    let e = get().unwrap_err();
    assert!(e.message().starts_with("The tensor with handle 'n;") && e.message().ends_with("' is not in the session store."), "{e}");
}
