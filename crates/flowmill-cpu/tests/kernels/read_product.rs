//! The fused op returns the same bits as the nodes that it replaces, whatever is computed ahead.
use crate::testing::{Call, run, run1, strings, ty};
use flowmill_runtime::Kernel;
use flowmill_tensor::{DType, Result, Shape, Tensor};
use std::sync::Arc;

const DEPTH: usize = 5;
const WIDTH: usize = 7;
const COLUMNS: usize = 45;

/// Returns numbers whose sums depend on their order.
fn matrix(dims: &[usize], seed: u32) -> Tensor {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let values: Vec<f32> = (0..dims.iter().product())
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 22) as f32 - 2.0
        })
        .collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

struct Sequence {
    handle: Tensor,
    elements: Vec<Tensor>,
}

impl Sequence {
    fn new(len: usize, rows: usize, keeps: bool) -> Sequence {
        let attrs = [("dtype", ty(DType::F32)), ("clear_after_read", (!keeps).into())];
        let made = run("TensorArrayV3", &attrs, vec![Tensor::scalar(len as i32)]).unwrap();
        let sequence =
            Sequence { handle: made[0].clone().unwrap(), elements: (0..len).map(|i| matrix(&[rows, DEPTH], i as u32)).collect() };
        (0..len).for_each(|i| sequence.write(i));
        sequence
    }

    fn write(&self, i: usize) {
        let inputs = vec![self.handle.clone(), Tensor::scalar(i as i32), self.elements[i].clone(), Tensor::scalar(0f32)];
        run("TensorArrayWriteV3", &[], inputs).unwrap();
    }
}

struct Step {
    weights: Tensor,
    bias: Tensor,
    kernel: Arc<dyn Kernel>,
}

impl Step {
    fn new() -> Step {
        let (weights, bias) = (matrix(&[DEPTH + WIDTH, COLUMNS], 77), matrix(&[COLUMNS], 78));
        Step { kernel: call(vec![]).kernel().unwrap(), weights, bias }
    }

    fn fused(&self, handle: &Tensor, index: usize, hidden: &Tensor) -> Result<Tensor> {
        let inputs = vec![
            handle.clone(),
            Tensor::scalar(index as i32),
            Tensor::scalar(0f32),
            hidden.clone(),
            self.weights.clone(),
            self.bias.clone(),
        ];
        Ok(call(inputs).run_with(&self.kernel)?[0].clone().unwrap())
    }

    fn written_out(&self, element: &Tensor, hidden: &Tensor) -> Result<Tensor> {
        let joined = run1("ConcatV2", &[("T", ty(DType::F32))], vec![element.clone(), hidden.clone(), Tensor::scalar(1i32)])?;
        Call::new("_FusedMatMul")
            .attr("T", ty(DType::F32))
            .attr("fused_ops", strings(&["BiasAdd"]))
            .inputs(vec![joined, self.weights.clone(), self.bias.clone()])
            .run1()
    }

    /// Checks one read, bit by bit.
    fn check(&self, sequence: &Sequence, index: usize, rows: usize) {
        let hidden = matrix(&[rows, WIDTH], 1000 + index as u32);
        let (fused, expected) =
            (self.fused(&sequence.handle, index, &hidden).unwrap(), self.written_out(&sequence.elements[index], &hidden).unwrap());
        let bits = |t: &Tensor| t.as_slice::<f32>().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((fused.shape(), bits(&fused)), (expected.shape(), bits(&expected)), "element {index} of {rows} rows");
    }
}

fn call(inputs: Vec<Tensor>) -> Call {
    Call::new("_FusedReadMatMul").attr("T", ty(DType::F32)).attr("fused_ops", strings(&["BiasAdd"])).inputs(inputs)
}

#[test]
fn any_order_of_reads_gives_the_bits_of_the_nodes() {
    let step = Step::new();
    let orders: [&[usize]; 6] = [
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        &[9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
        &[0, 1, 2, 9, 8, 3, 4, 7],
        &[5],
        &[0, 2, 4, 6, 8],
        &[4, 5, 6, 5, 6, 7, 0],
    ];
    for rows in [1, 2, 3, 12, 13, 33] {
        for order in orders {
            let sequence = Sequence::new(10, rows, true);
            order.iter().for_each(|&i| step.check(&sequence, i, rows));
        }
        let cleared = Sequence::new(40, rows, false);
        (0..40).for_each(|i| step.check(&cleared, i, rows));
    }
}

#[test]
fn what_a_read_refuses_is_refused() {
    let (step, hidden) = (Step::new(), matrix(&[1, WIDTH], 1));
    let sequence = Sequence::new(3, 1, false);
    (0..2).for_each(|i| step.check(&sequence, i, 1));
    let refused = |index: usize, part: &str| {
        let message = step.fused(&sequence.handle, index, &hidden).unwrap_err().message().to_owned();
        assert!(message.contains(part), "{message}");
    };
    // Element 2 was computed ahead, which has no visible effect; element 1 was read.
    refused(1, "Could not read index 1 twice");
    refused(3, "Tried to read from index 3 but array size is: 3");
    step.check(&sequence, 2, 1);
    run("TensorArrayCloseV3", &[], vec![sequence.handle.clone()]).unwrap();
    refused(2, "has already been closed");
}

#[test]
fn an_element_that_was_not_written_yet_is_not_looked_at() {
    let step = Step::new();
    let mut sequence = Sequence::new(0, 1, true);
    let attrs = [("dtype", ty(DType::F32)), ("clear_after_read", false.into())];
    sequence.handle = run("TensorArrayV3", &attrs, vec![Tensor::scalar(8i32)]).unwrap()[0].clone().unwrap();
    sequence.elements = (0..8).map(|i| matrix(&[1, DEPTH], 50 + i)).collect();
    for i in 0..8 {
        sequence.write(i);
        step.check(&sequence, i, 1);
    }
}

#[test]
fn elements_of_several_shapes() {
    let step = Step::new();
    let mut sequence = Sequence::new(0, 1, true);
    sequence.handle = run("TensorArrayV3", &[("dtype", ty(DType::F32))], vec![Tensor::scalar(9i32)]).unwrap()[0].clone().unwrap();
    let rows = [1, 1, 1, 2, 2, 2, 2, 1, 20];
    sequence.elements = rows.iter().enumerate().map(|(i, &rows)| matrix(&[rows, DEPTH], i as u32)).collect();
    (0..9).for_each(|i| sequence.write(i));
    rows.iter().enumerate().for_each(|(i, &rows)| step.check(&sequence, i, rows));
}

#[test]
fn shapes_that_do_not_fit_have_the_messages_of_the_nodes() {
    let step = Step::new();
    let message = |rows: usize, hidden: &[usize]| {
        let (sequence, hidden) = (Sequence::new(1, rows, true), matrix(hidden, 3));
        let expected = step.written_out(&sequence.elements[0], &hidden).unwrap_err();
        let fused = step.fused(&sequence.handle, 0, &hidden).unwrap_err();
        assert_eq!((fused.code(), fused.message()), (expected.code(), expected.message()));
    };
    message(2, &[1, WIDTH]);
    message(1, &[1, WIDTH + 1]);
    message(1, &[1]);
}
