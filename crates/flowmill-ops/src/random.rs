//! Random numbers, from hidden state or from a seed that is an input.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("RandomUniform", "(shape: T) -> (output: dtype)")
        .not_differentiable()
        .attrs("seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: index")
        .stateful()
        .shape(shape::shape_input::<0>),
    op("RandomUniformInt", "(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)")
        .attrs("seed: int = 0; seed2: int = 0; Tout: index; T: index")
        .stateful()
        .shape(shape::shape_input::<0>),
    op("RandomStandardNormal", "(shape: T) -> (output: dtype)")
        .not_differentiable()
        .attrs("seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: index")
        .stateful()
        .shape(shape::shape_input::<0>),
    op("TruncatedNormal", "(shape: T) -> (output: dtype)")
        .not_differentiable()
        .attrs("seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: index")
        .stateful()
        .shape(shape::shape_input::<0>),
    op("RandomShuffle", "(value: T) -> (output: T)")
        .not_differentiable()
        .attrs("seed: int = 0; seed2: int = 0; T: type")
        .stateful()
        .shape(shape::identity_shape),
    op("Multinomial", "(logits: T, num_samples: int32) -> (output: output_dtype)")
        .not_differentiable()
        .attrs("seed: int = 0; seed2: int = 0; T: real; output_dtype: index = int64")
        .stateful()
        .shape(shape::multinomial),
    op("StatelessRandomUniform", "(shape: T, seed: Tseed) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64")
        .shape(shape::stateless_random),
    op("StatelessRandomUniformV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32")
        .shape(shape::stateless_random),
    op("StatelessRandomUniformInt", "(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: index; T: index; Tseed: index = int64")
        .shape(shape::stateless_random),
    op(
        "StatelessRandomUniformIntV2",
        "(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, maxval: dtype) -> (output: dtype)",
    )
    .not_differentiable()
    .attrs("dtype: {int32, int64, uint32, uint64}; Tshape: index = int32")
    .shape(shape::stateless_random),
    op("StatelessRandomNormal", "(shape: T, seed: Tseed) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64")
        .shape(shape::stateless_random),
    op("StatelessRandomNormalV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32")
        .shape(shape::stateless_random),
    op("StatelessTruncatedNormal", "(shape: T, seed: Tseed) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64")
        .shape(shape::stateless_random),
    op("StatelessTruncatedNormalV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32")
        .shape(shape::stateless_random),
    op("StatelessMultinomial", "(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)")
        .not_differentiable()
        .attrs("T: real; Tseed: index = int64; output_dtype: index = int64")
        .shape(shape::multinomial),
    op("StatelessRandomGetKeyCounter", "(seed: Tseed) -> (key: uint64, counter: uint64)")
        .attrs("Tseed: index = int64")
        .shape(shape::random_key_counter),
    op("StatelessRandomGetAlg", "() -> (alg: int32)").stateful().shape(shape::scalars),
    op("RandomGammaGrad", "(alpha: T, sample: T) -> (output: T)").attrs("T: {float, double}").shape(shape::broadcast_binary),
    op("RandomIndexShuffle", "(index: dtype, seed: Tseed, max_index: dtype) -> (output: dtype)")
        .not_differentiable()
        .attrs("rounds: int = 4; dtype: {int32, uint32, int64, uint64}; Tseed: {int32, uint32, int64, uint64}")
        .shape(shape::random_index_shuffle),
    op("RandomGamma", "(shape: S, alpha: T) -> (output: T)")
        .gradient(gradient::random_gamma)
        .attrs("seed: int = 0; seed2: int = 0; S: index; T: {half, float, double}")
        .stateful()
        .shape(shape::random_gamma),
    op("RandomPoissonV2", "(shape: S, rate: R) -> (output: dtype)")
        .attrs(
            "seed: int = 0; seed2: int = 0; S: index; R: {half, float, double, int32, int64} = double;
                dtype: {half, float, double, int32, int64} = int64",
        )
        .stateful()
        .shape(shape::random_gamma),
    op(
        "LogUniformCandidateSampler",
        "(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)",
    )
    .attrs("num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: int = 0")
    .stateful()
    .shape(shape::candidate_sampler),
    op(
        "UniformCandidateSampler",
        "(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)",
    )
    .attrs("num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: int = 0")
    .stateful()
    .shape(shape::candidate_sampler),
    op("ComputeAccidentalHits", "(true_classes: int64, sampled_candidates: int64) -> (indices: int32, ids: int64, weights: float)")
        .attrs("num_true: int; seed: int = 0; seed2: int = 0")
        .shape(shape::accidental_hits),
    op("RandomPoisson", "(shape: S, rate: dtype) -> (output: dtype)")
        .attrs("seed: int = 0; seed2: int = 0; S: index; dtype: {half, float, double}")
        .stateful()
        .deprecated(25, "")
        .shape(shape::random_gamma),
];
