//! Random numbers from states, keys and seeds, and Sobol's sequence, are equal to those of TensorFlow 2.21.
use crate::testing::{Call, message, run, run1, ty};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Code, DType, Element, PartialShape, Shape, Tensor};
use std::sync::Arc;

fn vector<T: Element>(values: &[T]) -> Tensor {
    Tensor::vector(values).unwrap()
}

fn numbers<T: Element>(tensor: &Tensor) -> Vec<T> {
    tensor.as_slice::<T>().unwrap().to_vec()
}

/// A variable that holds a generator's state.
struct State(Tensor);

impl State {
    fn new(value: Tensor) -> State {
        let attrs = [("dtype", ty(value.dtype())), ("shape", PartialShape::unknown().to_proto().into()), ("shared_name", "state".into())];
        let handle = Call::new("VarHandleOp").attrs(&attrs).resources(&Arc::default()).run1().unwrap();
        run("AssignVariableOp", &[("dtype", ty(value.dtype()))], vec![handle.clone(), value]).unwrap();
        State(handle)
    }

    fn value(&self) -> Vec<i64> {
        numbers(&run1("ReadVariableOp", &[("dtype", ty(DType::I64))], vec![self.0.clone()]).unwrap())
    }

    fn run(&self, op: &str, dtype: DType, inputs: Vec<Tensor>) -> flowmill_tensor::Result<Tensor> {
        let attrs: [(&str, AttrValue); 2] = [("dtype", ty(dtype)), ("T", ty(DType::F32))];
        run1(op, &attrs, [self.0.clone()].into_iter().chain(inputs).collect())
    }
}

#[test]
fn each_draw_moves_a_state_on() {
    let state = State::new(vector(&[-2i64, 5, 9]));
    let draw = |op: &str, dtype: DType, shape: &[i64], more: Vec<Tensor>| {
        let inputs = [Tensor::scalar(1i64), vector(shape)].into_iter().chain(more).collect();
        state.run(op, dtype, inputs).unwrap()
    };
    let uniform = draw("StatefulUniform", DType::F32, &[5], vec![]);
    assert_eq!(
        numbers::<f32>(&uniform),
        [0.837151288986206, 0.7180559635162354, 0.9809346199035645, 0.17218971252441406, 0.2217174768447876]
    );
    assert_eq!(state.value(), [1278, 6, 9]);
    let normal = draw("StatefulStandardNormalV2", DType::F64, &[3], vec![]);
    assert_eq!(numbers::<f64>(&normal), [-0.9228717264075494, -1.1779323786923648, -0.2119270685212351]);
    let truncated = draw("StatefulTruncatedNormal", DType::F32, &[5], vec![]);
    let want = [0.9036100506782532, -1.0231324434280396, 0.09441568702459335, -0.33124420046806335, -1.066487431526184];
    assert_eq!(numbers::<f32>(&truncated), want);
    let whole = draw("StatefulUniformFullInt", DType::I32, &[3], vec![]);
    assert_eq!(numbers::<i32>(&whole), [1821265632, -1850225126, -1714686991]);
    let whole = draw("StatefulUniformFullInt", DType::U64, &[3], vec![]);
    assert_eq!(numbers::<u64>(&whole), [9839782938460029194, 4220838462414019359, 15481086719406309505]);
    let range = draw("StatefulUniformInt", DType::I64, &[5], vec![Tensor::scalar(-5i64), Tensor::scalar(70i64)]);
    assert_eq!(numbers::<i64>(&range), [55, 32, 48, 7, 18]);
    let successes = draw("StatefulRandomBinomial", DType::I64, &[3, 2], vec![vector(&[4.0f32, 90.0]), Tensor::scalar(0.3f32)]);
    assert_eq!(numbers::<i64>(&successes), [0, 19, 3, 21, 1, 25]);
    assert_eq!(state.value(), [159742, 6, 9]);
}

#[test]
fn states_are_skipped() {
    let state = State::new(vector(&[159742i64, 6, 9]));
    let read = state.run("RngReadAndSkip", DType::I64, vec![Tensor::scalar(1i32), Tensor::scalar(3u64)]).unwrap();
    assert_eq!((numbers::<i64>(&read), state.value()), (vec![159742, 6, 9], vec![160510, 6, 9]));
    let skip = |state: &State, delta: i64| {
        run("RngSkip", &[], vec![state.0.clone(), Tensor::scalar(3i64), Tensor::scalar(delta)]).unwrap();
        state.value()
    };
    assert_eq!(skip(&state, -9), [158206, 6, 9]);
    let state = State::new(vector(&[-1i64, -1, 7, 8]));
    assert_eq!(skip(&state, 3), [767, 0, 7, 8]);
    // TensorFlow loses this carry, so that the state moves back.
    let state = State::new(vector(&[-1i64, -1, 7]));
    assert_eq!(skip(&state, -1), [-257, -1, 7]);
}

#[test]
fn states_and_algorithms_are_checked() {
    let draw = |state: Tensor, algorithm: i64| {
        State::new(state).run("StatefulUniform", DType::F32, vec![Tensor::scalar(algorithm), vector(&[2i64])])
    };
    let good = || vector(&[1i64, 2, 3]);
    assert_eq!(message(draw(good(), 9)), "Unsupported algorithm id: 9");
    assert_eq!(draw(good(), 2).unwrap_err().code(), Code::Unimplemented);
    assert_eq!(message(draw(vector(&[1i64, 2]), 1)), "For the Philox algorithm, the size of state must be at least 3; got 2");
    assert_eq!(message(draw(vector(&[1.0f32, 2.0, 3.0]), 1)), "dtype of RNG state variable must be int64, not float");
    let matrix = good().reshaped([1, 3]).unwrap();
    assert_eq!(message(draw(matrix, 1)), "RNG state must have one and only one dimension, not 2");
    let huge = State::new(good()).run("StatefulUniform", DType::F32, vec![Tensor::scalar(1i64), vector(&[1i64 << 60])]);
    assert_eq!(huge.unwrap_err().code(), Code::ResourceExhausted);
}

fn of_seed(op: &str, dtype: DType, shape: &[i32], more: Vec<Tensor>) -> Tensor {
    let attrs: [(&str, AttrValue); 2] = [("dtype", ty(dtype)), ("T", ty(DType::F32))];
    run1(op, &attrs, [vector(shape), vector(&[1, 2])].into_iter().chain(more).collect()).unwrap()
}

fn of_key(op: &str, attrs: &[(&str, AttrValue)], first: Tensor, more: Vec<Tensor>) -> Tensor {
    let inputs = [first, vector(&[5u64]), vector(&[6u64, 7]), Tensor::scalar(1i32)].into_iter().chain(more);
    run1(op, attrs, inputs.collect()).unwrap()
}

#[test]
fn whole_ranges_and_orders() {
    let whole = of_seed("StatelessRandomUniformFullInt", DType::I64, &[3], vec![]);
    assert_eq!(numbers::<i64>(&whole), [7464880146280614444, 1591045637757961278, -1057468755545501549]);
    let whole = of_key("StatelessRandomUniformFullIntV2", &[("dtype", ty(DType::U32))], vector(&[5]), vec![]);
    assert_eq!(numbers::<u32>(&whole), [1033811427, 2611507766, 2049409451, 998509057, 2441776350]);
    let order = of_key("StatelessShuffle", &[("T", ty(DType::I32))], vector(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), vec![]);
    assert_eq!(numbers::<i32>(&order), [3, 7, 1, 4, 0, 6, 5, 8, 2]);
    let key = Call::new("StatelessRandomGetKeyCounterAlg").input(vector(&[1, 2])).outputs(3).run().unwrap();
    assert_eq!(key[2], Some(Tensor::scalar(1i32)));
}

#[test]
fn samples_of_distributions() {
    let probs = Tensor::from_slice([2, 1], &[0.2f32, 0.9]).unwrap();
    let successes = of_seed("StatelessRandomBinomial", DType::I32, &[3, 2, 3], vec![vector(&[0.0f32, 12.0, 400.0]), probs]);
    assert_eq!(numbers::<i32>(&successes), [0, 2, 80, 0, 10, 346, 0, 4, 79, 0, 10, 354, 0, 2, 70, 0, 11, 370]);
    let gamma = of_seed("StatelessRandomGammaV2", DType::F64, &[2, 3], vec![vector(&[0.5, 1.0, 9.0])]);
    let want = [0.06695361383821083, 2.2487352006448047, 9.946913688578348, 0.62823544551181, 1.89350913788573, 8.267403486103667];
    near(&gamma, &want);
    let gamma = of_key("StatelessRandomGammaV3", &[("dtype", ty(DType::F64))], vector(&[3]), vec![Tensor::scalar(2.5f64)]);
    near(&gamma, &[1.6268435486909405, 1.9133316967111644, 1.467856413502265]);
    let poisson = of_seed("StatelessRandomPoisson", DType::I64, &[4, 2], vec![vector(&[1.5f32, 70.0])]);
    assert_eq!(numbers::<i64>(&poisson), [3, 62, 4, 77, 3, 70, 3, 69]);
}

#[track_caller]
fn near(got: &Tensor, want: &[f64]) {
    let got = numbers::<f64>(got);
    assert!(got.len() == want.len() && got.iter().zip(want).all(|(g, w)| (g - w).abs() <= 1e-14 * w.abs()), "{got:?} {want:?}");
}

fn truncated(shape: &[i32], means: Tensor, deviation: f64, low: f64, high: f64) -> flowmill_tensor::Result<Tensor> {
    let scalars = [deviation, low, high].map(Tensor::scalar);
    let inputs = [vector(shape), vector(&[1, 2]), means].into_iter().chain(scalars);
    run1("StatelessParameterizedTruncatedNormal", &[("dtype", ty(DType::F64))], inputs.collect())
}

#[test]
fn normal_numbers_between_bounds() {
    let draw = |low: f64, high: f64| truncated(&[2, 2], vector(&[0.0, 0.05]), 1.0, low, high).unwrap();
    near(&draw(-2.0, 2.0), &[-0.1423118100189212, -1.419047669443883, 0.7406072461585091, 1.197747453689489]);
    near(&draw(0.1, 0.4), &[0.32574512615355405, 0.2544435615193666, 0.39093573176882457, 0.28232351493418684]);
    near(&draw(3.0, f64::INFINITY), &[3.0861020860508575, 3.2038526145971766, 3.5261370516429893, 3.0582792813160617]);
    near(&draw(-9.0, -3.0), &[-3.0861020860508575, -3.198276255518712, -3.5261370516429893, -3.056685059921868]);
    for (deviation, low, high) in [(-1.0, -2.0, 2.0), (1.0, 3.0, 2.0), (1.0, f64::NEG_INFINITY, f64::INFINITY), (f64::NAN, -2.0, 2.0)] {
        assert_eq!(message(truncated(&[3], Tensor::scalar(0.0f64), deviation, low, high)), "Invalid parameters");
    }
    let wrong = truncated(&[2, 3], vector(&[0.0, 1.0]), 1.0, -2.0, 2.0);
    assert_eq!(message(wrong), "Shape passed in must end with broadcasted shape.");
    assert_eq!(truncated(&[0, 2], vector(&[0.0, 1.0]), -1.0, -2.0, 2.0).unwrap().shape(), &Shape::new(&[0, 2]));
}

#[test]
fn points_fill_a_cube() {
    let sample = |dtype: DType, dim: i32, count: i32, skip: i32| {
        run1("SobolSample", &[("dtype", ty(dtype))], [dim, count, skip].map(Tensor::scalar).to_vec())
    };
    let points = sample(DType::F32, 3, 4, 5).unwrap();
    assert_eq!(numbers::<f32>(&points), [0.625, 0.125, 0.875, 0.125, 0.625, 0.375, 0.1875, 0.3125, 0.9375, 0.6875, 0.8125, 0.4375]);
    let last = numbers::<f64>(&sample(DType::F64, 1000, 2, 77).unwrap());
    assert_eq!([last[998], last[999], last[1998], last[1999]], [0.8046875, 0.8046875, 0.3046875, 0.3046875]);
    // These numbers have 31 bits, and are negative in TensorFlow.
    assert_eq!(numbers::<f64>(&sample(DType::F64, 1, 1, 1 << 30).unwrap()), [0.5 + 3.0 * 0.5f64.powi(31)]);
    let refused = |dim: i32, count: i32, skip: i32| message(sample(DType::F32, dim, count, skip));
    assert_eq!(refused(0, 1, 0), "dim must be at least one");
    assert_eq!(refused(1001, 1, 0), "dim must be at most 1000");
    assert_eq!(refused(1, 0, 0), "num_results must be at least one");
    assert_eq!(refused(1, 1, -1), "skip must be non-negative");
    assert_eq!(refused(1, i32::MAX, 1), "num_results+skip must be less than 2147483647");
    assert_eq!(refused(4, 1 << 29, 0), "num_results*dim must be less than 2147483647");
}
