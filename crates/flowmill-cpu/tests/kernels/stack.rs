use crate::testing::{run1, ty};
use flowmill_tensor::{Code, DType, Result, Tensor};

fn stack(max_size: i32) -> Tensor {
    run1("StackV2", &[("elem_type", ty(DType::F32)), ("stack_name", "s".into())], vec![Tensor::scalar(max_size)]).unwrap()
}

fn push(stack: &Tensor, value: Tensor) -> Result<Tensor> {
    run1("StackPushV2", &[], vec![stack.clone(), value])
}

fn pop(stack: &Tensor) -> Result<f32> {
    run1("StackPopV2", &[("elem_type", ty(DType::F32))], vec![stack.clone()])?.to_scalar()
}

#[test]
fn the_last_value_comes_out_first() {
    let s = stack(-1);
    assert_eq!(push(&s, Tensor::scalar(1f32)).unwrap().to_scalar::<f32>().unwrap(), 1.0);
    push(&s, Tensor::scalar(2f32)).unwrap();
    assert_eq!((pop(&s).unwrap(), pop(&s).unwrap()), (2.0, 1.0));
    let e = pop(&s).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(e.message().starts_with("Stack[s_") && e.message().ends_with("] is empty when calling Pop()."), "{e}");
    assert_eq!(push(&s, Tensor::scalar(1i32)).unwrap_err().message(), "Must have type float but got int32");
}

#[test]
fn a_stack_holds_as_much_as_it_may_until_it_is_closed() {
    let s = stack(1);
    push(&s, Tensor::scalar(1f32)).unwrap();
    assert!(push(&s, Tensor::scalar(1f32)).unwrap_err().message().ends_with("overflowed its max_size (1)"));
    assert_eq!(run1("StackCloseV2", &[], vec![s.clone()]).unwrap_err().code(), Code::Internal);
    assert!(pop(&s).unwrap_err().message().ends_with("has already been closed."));
}
