//! Random numbers are equal to those that TensorFlow 2.21 draws from the same seeds.
use crate::testing::{Call, run1, ty};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Code, DType, Element, Result, Tensor, bf16, f16};

fn seeded(op: &str, seed: i64, seed2: i64) -> Call {
    Call::new(op).attr("seed", seed).attr("seed2", seed2)
}

fn vector<T: Element>(values: &[T]) -> Tensor {
    Tensor::vector(values).unwrap()
}

/// Runs a kernel twice: the second call continues where the first one stopped.
fn twice(make: impl Fn() -> Call) -> [Tensor; 2] {
    let kernel = make().kernel().unwrap();
    [(); 2].map(|()| make().run_with(&kernel).unwrap().swap_remove(0).unwrap())
}

#[track_caller]
fn check<T: Element>(op: &str, convert: fn(f64) -> T, first: [f64; 7], second: [f64; 7]) {
    let got = twice(|| seeded(op, 87_654_321, 12_345).attr("dtype", ty(T::DTYPE)).input(vector(&[7])));
    assert_eq!(got, [first, second].map(|values| vector(&values.map(convert))), "{op} {}", T::DTYPE);
}

#[test]
#[rustfmt::skip]
#[allow(clippy::excessive_precision)]
fn floats_of_every_distribution_and_type() {
    check("RandomUniform", |x| x as f32,
        [0.6743394136428833, 0.23592019081115723, 0.8220641613006592, 0.46504127979278564, 0.09273302555084229, 0.33845949172973633, 0.3656836748123169],
        [0.13845062255859375, 0.9797394275665283, 0.3007478713989258, 0.03892028331756592, 0.4341026544570923, 0.19573664665222168, 0.9351416826248169]);
    check("RandomUniform", |x| x,
        [0.39471614032223856, 0.5765138258506382, 0.7418645198241984, 0.9254694442667759, 0.4352491892002719, 0.8947828708581964, 0.49618158746588614],
        [0.10760588567655427, 0.40598344437576883, 0.47282199039261164, 0.48113399923755806, 0.6004576465207954, 0.5211422043578215, 0.06016936298113573]);
    check("RandomUniform", f16::from_f64,
        [0.1884765625, 0.658203125, 0.349609375, 0.6181640625, 0.6689453125, 0.66015625, 0.6806640625],
        [0.1875, 0.025390625, 0.7265625, 0.8349609375, 0.1689453125, 0.474609375, 0.6806640625]);
    check("RandomUniform", bf16::from_f64,
        [0.5078125, 0.265625, 0.796875, 0.9453125, 0.3515625, 0.28125, 0.4453125],
        [0.5, 0.203125, 0.8125, 0.6796875, 0.3515625, 0.796875, 0.4453125]);
    check("RandomStandardNormal", |x| x as f32,
        [0.8842466473579407, 0.07843047380447388, 0.1363987922668457, -0.6109575033187866, 1.8525681495666504, -1.1506747007369995, -0.6171126365661621],
        [-0.2524661719799042, 1.9724968671798706, 0.3753120005130768, 1.5040302276611328, 1.217515468597412, 0.4319774806499481, -0.08016809821128845]);
    check("RandomStandardNormal", |x| x,
        [-0.6305510086852888, -1.2089591533541697, -0.34879889687828197, 0.6895771241742282, -0.7919383625966261, 1.0180897584165023, -1.179643161936033],
        [1.1760421229786078, -1.753706016209203, 0.14474667511251404, -1.2153686708247056, -0.13377626367702244, -1.0011145048839316, 2.2604849829618545]);
    check("RandomStandardNormal", f16::from_f64,
        [0.88427734375, 0.07843017578125, 0.1363525390625, -0.61083984375, 1.8525390625, -1.150390625, -0.6171875],
        [-0.25244140625, 1.97265625, 0.375244140625, 1.50390625, 1.2177734375, 0.431884765625, -0.08013916015625]);
    check("RandomStandardNormal", bf16::from_f64,
        [0.8828125, 0.07861328125, 0.13671875, -0.609375, 1.8515625, -1.1484375, -0.6171875],
        [-0.251953125, 1.96875, 0.375, 1.5078125, 1.21875, 0.431640625, -0.080078125]);
    check("TruncatedNormal", |x| x as f32,
        [0.8842466473579407, 0.07843047380447388, 0.1363987922668457, -0.6109575033187866, 0.45253217220306396, -0.8106634616851807, 0.8862687349319458],
        [-0.2524661719799042, 1.9724968671798706, 0.3753120005130768, 1.5040302276611328, 0.13231655955314636, 0.5172063112258911, 0.006278047803789377]);
    check("TruncatedNormal", |x| x,
        [-0.6305510086852888, -1.2089591533541697, -0.027147858960579977, 0.43609083207665467, -0.6593986645094546, 1.6716334115102331, 0.19565708918276356],
        [1.1760421229786078, -1.753706016209203, 1.316431146404789, -0.7497722946287656, -0.02656064869811931, 0.3583907136282482, -0.6760211963401526]);
    check("TruncatedNormal", f16::from_f64,
        [0.88427734375, 0.07843017578125, 0.1363525390625, -0.61083984375, 0.45263671875, -0.810546875, 0.88623046875],
        [-0.25244140625, 1.97265625, 0.375244140625, 1.50390625, 0.13232421875, 0.51708984375, 0.00627899169921875]);
    check("TruncatedNormal", bf16::from_f64,
        [0.8828125, 0.07861328125, 0.13671875, -0.609375, 0.453125, -0.8125, 0.88671875],
        [-0.251953125, 1.96875, 0.375, 1.5078125, 0.1318359375, 0.515625, 0.00628662109375]);
}

#[test]
fn a_large_draw_is_one_sequence() {
    let draw = |op: &str, n: i32| seeded(op, 5, 6).attr("dtype", ty(DType::F32)).input(vector(&[n])).run1().unwrap();
    let uniform = draw("RandomUniform", 300_000);
    let x = uniform.as_slice::<f32>().unwrap();
    let want =
        [0.7101567983627319, 0.3382972478866577, 0.14557862281799316, 0.6368842124938965, 0.14852988719940186, 0.6713669300079346f64];
    assert_eq!([0, 1, 65_535, 65_536, 131_073, 299_999].map(|i| f64::from(x[i])), want);
    let truncated = draw("TruncatedNormal", 300_001);
    let x = truncated.as_slice::<f32>().unwrap();
    let want = [
        0.7032734155654907,
        -0.4358273148536682,
        1.4778457880020142,
        0.00865658838301897,
        -1.0454155206680298,
        -1.0286859273910522,
        1.58004629611969f64,
    ];
    assert_eq!([0, 1, 65_535, 65_536, 131_073, 299_999, 300_000].map(|i| f64::from(x[i])), want);
}

#[test]
fn integers_in_a_range() {
    let small = twice(|| {
        seeded("RandomUniformInt", 3, 4).attr("Tout", ty(DType::I32)).inputs(vec![vector(&[6]), Tensor::scalar(-3), Tensor::scalar(1000)])
    });
    assert_eq!(small, [vector(&[321, 538, 657, 198, 561, 937]), vector(&[774, 367, 70, 38, 947, 145])]);
    let high = 1_000_000_000_000_000i64;
    let large = twice(|| {
        seeded("RandomUniformInt", 3, 4).attr("Tout", ty(DType::I64)).inputs(vec![
            vector(&[5]),
            Tensor::scalar(-3i64),
            Tensor::scalar(high),
        ])
    });
    let want = [495_722_558_342_491, 464_417_180_604_728, 264_593_247_055_269, 256_222_917_713_540, 201_652_174_490_290i64];
    assert_eq!(large[0], vector(&want));
    let empty = seeded("RandomUniformInt", 3, 4)
        .attr("Tout", ty(DType::I32))
        .inputs(vec![vector(&[6]), Tensor::scalar(5), Tensor::scalar(5)])
        .run1();
    refused(empty, "Need minval < maxval, got 5 >= 5");
}

#[track_caller]
fn refused(result: Result<Tensor>, phrase: &str) {
    let e = result.unwrap_err();
    assert!(e.code() == Code::InvalidArgument && e.message().contains(phrase), "{e}");
}

#[test]
fn rows_are_shuffled() {
    let values: Vec<i32> = (0..10).collect();
    let shuffled = twice(|| seeded("RandomShuffle", 3, 4).attr("T", ty(DType::I32)).input(vector(&values)));
    assert_eq!(shuffled, [vector(&[1, 5, 3, 8, 0, 4, 7, 6, 9, 2]), vector(&[6, 5, 9, 3, 2, 7, 8, 1, 4, 0])]);
    let matrix = Tensor::from_slice([4, 2], &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let rows = seeded("RandomShuffle", 3, 4).attr("T", ty(DType::I32)).input(matrix).run1().unwrap();
    assert_eq!(rows.as_slice::<i32>().unwrap(), [3, 4, 5, 6, 7, 8, 1, 2]);
}

#[test]
fn classes_are_drawn_by_their_logits() {
    let logits = Tensor::from_slice([2, 3], &[0.0f32, 1.0, 2.0, f32::NEG_INFINITY, 0.0, 0.0]).unwrap();
    let drawn = twice(|| seeded("Multinomial", 3, 4).attr("T", ty(DType::F32)).inputs(vec![logits.clone(), Tensor::scalar(6)]));
    assert_eq!(drawn[0].as_slice::<i64>().unwrap(), [2, 2, 1, 2, 0, 1, 1, 2, 2, 1, 2, 2]);
    assert_eq!(drawn[1].as_slice::<i64>().unwrap(), [0, 0, 1, 1, 2, 1, 2, 2, 2, 2, 2, 2]);
    let logits = Tensor::from_slice([2, 3], &[0.0f64, 1.0, 2.0, f64::NAN, 0.0, 0.0]).unwrap();
    let attrs = [("T", ty(DType::F64)), ("output_dtype", ty(DType::I32))];
    let narrow = seeded("Multinomial", 3, 4).attrs(&attrs).inputs(vec![logits.clone(), Tensor::scalar(5)]).run1().unwrap();
    assert_eq!(narrow.as_slice::<i32>().unwrap(), [2, 2, 1, 2, 0, 1, 1, 2, 2, 1]);
    let row = Tensor::from_slice([1, 3], &[0.0f32, 1.0, 2.0]).unwrap();
    let stateless = run1("StatelessMultinomial", &[("T", ty(DType::F32))], vec![row, Tensor::scalar(6), vector(&[3, 4])]).unwrap();
    assert_eq!(stateless.as_slice::<i64>().unwrap(), [2, 2, 1, 2, 2, 2]);
    refused(
        seeded("Multinomial", 3, 4).attrs(&attrs).inputs(vec![logits, Tensor::scalar(-6)]).run1(),
        "num_samples should be non-negative, got -6",
    );
}

#[test]
fn stateless_numbers_depend_on_their_seeds_alone() {
    let draw = |op: &str, dtype: DType, seed: Tensor| run1(op, &[("dtype", ty(dtype))], vec![vector(&[3]), seed]);
    let seed = || vector(&[7i64, -9]);
    let f = |op: &str, want: [f64; 3]| assert_eq!(draw(op, DType::F32, seed()).unwrap(), vector(&want.map(|x| x as f32)), "{op}");
    f("StatelessRandomUniform", [0.32709670066833496, 0.3417307138442993, 0.3736625909805298]);
    f("StatelessRandomNormal", [1.2534774541854858, -0.8147351741790771, -1.0627541542053223]);
    f("StatelessTruncatedNormal", [1.2534774541854858, -0.8147351741790771, -1.0627541542053223]);
    let double = draw("StatelessTruncatedNormal", DType::F64, vector(&[7, -9])).unwrap();
    assert_eq!(double, vector(&[-0.0660393945976438, 0.9808890130201849, 0.6827497460347481]));
    refused(draw("StatelessRandomUniform", DType::F32, vector(&[7])), "seed must have shape [2], not [1]");
    let int = run1(
        "StatelessRandomUniformInt",
        &[("dtype", ty(DType::I32))],
        vec![vector(&[4]), vector(&[1, 2]), Tensor::scalar(0), Tensor::scalar(100)],
    );
    assert_eq!(int.unwrap(), vector(&[40, 49, 94, 79]));
}

#[test]
fn keys_and_counters() {
    let out = Call::new("StatelessRandomGetKeyCounter").input(vector(&[1, 2])).outputs(2).run().unwrap();
    assert_eq!(out, [Some(vector(&[10_413_732_777_507_651_514u64])), Some(vector(&[0, 17_830_669_156_045_600_267u64]))]);
    let draw = |op: &str, algorithm: i32| {
        let attrs: [(&str, AttrValue); 1] = [("dtype", ty(DType::F32))];
        run1(op, &attrs, vec![vector(&[3]), vector(&[5u64]), vector(&[6u64, 7]), Tensor::scalar(algorithm)])
    };
    let want = vector(&[0.23992574214935303f64, 0.31598544120788574, 0.3086446523666382].map(|x| x as f32));
    assert_eq!(draw("StatelessRandomUniformV2", 1).unwrap(), want);
    assert_eq!(draw("StatelessRandomUniformV2", 3).unwrap(), want);
    let want = [1.546481728553772f64, -0.6806215643882751, 0.30202388763427734].map(|x| x as f32);
    assert_eq!(draw("StatelessRandomNormalV2", 1).unwrap(), vector(&want));
    refused(draw("StatelessRandomUniformV2", 9), "Unsupported algorithm id: 9");
    assert_eq!(run1("StatelessRandomGetAlg", &[], vec![]).unwrap(), Tensor::scalar(1));
}

#[test]
fn shapes_are_checked() {
    let draw = |shape: Tensor| seeded("RandomUniform", 1, 2).attr("dtype", ty(DType::F32)).input(shape).run1();
    refused(draw(vector(&[-6])), "Dimension -6 must be >= 0");
    refused(draw(Tensor::scalar(6)), "shape must be a vector of {int32,int64}, got shape []");
    assert_eq!(draw(vector(&[1i64 << 60])).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(draw(vector(&[2, 0])).unwrap().num_elements(), 0);
}
