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
        .shape(shape::uniform_integers),
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
        .shape(shape::stateless_keyed),
    op("StatelessRandomUniformInt", "(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: index; T: index; Tseed: index = int64")
        .shape(shape::stateless_range),
    op(
        "StatelessRandomUniformIntV2",
        "(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, maxval: dtype) -> (output: dtype)",
    )
    .not_differentiable()
    .attrs("dtype: {int32, int64, uint32, uint64}; Tshape: index = int32")
    .shape(shape::stateless_keyed_range),
    op("StatelessRandomNormal", "(shape: T, seed: Tseed) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64")
        .shape(shape::stateless_random),
    op("StatelessRandomNormalV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32")
        .shape(shape::stateless_keyed),
    op("StatelessTruncatedNormal", "(shape: T, seed: Tseed) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64")
        .shape(shape::stateless_random),
    op("StatelessTruncatedNormalV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32")
        .shape(shape::stateless_keyed),
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
    op("RandomGamma", "(shape: S, alpha: T) -> (output: T)").costly()
        .gradient(gradient::random_gamma)
        .attrs("seed: int = 0; seed2: int = 0; S: index; T: {half, float, double}")
        .stateful()
        .shape(shape::random_gamma),
    op("RandomPoissonV2", "(shape: S, rate: R) -> (output: dtype)").costly()
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
    op(
        "AllCandidateSampler",
        "(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)",
    )
    .attrs("num_true: int >= 1; num_sampled: int >= 1; unique: bool; seed: int = 0; seed2: int = 0")
    .stateful()
    .shape(shape::candidate_sampler),
    op(
        "FixedUnigramCandidateSampler",
        "(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)",
    )
    .attrs(
        "num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; vocab_file: string = ''; distortion: float = 1.0;
            num_reserved_ids: int = 0; num_shards: int >= 1 = 1; shard: int >= 0 = 0; unigrams: list(float) = []; seed: int = 0; seed2: int = 0",
    )
    .stateful()
    .shape(shape::candidate_sampler),
    op(
        "LearnedUnigramCandidateSampler",
        "(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)",
    )
    .attrs("num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: int = 0")
    .stateful()
    .shape(shape::candidate_sampler),
    op(
        "ThreadUnsafeUnigramCandidateSampler",
        "(true_classes: int64) -> (sampled_candidates: int64, true_expected_count: float, sampled_expected_count: float)",
    )
    .attrs("num_true: int >= 1; num_sampled: int >= 1; unique: bool; range_max: int >= 1; seed: int = 0; seed2: int = 0")
    .stateful()
    .shape(shape::candidate_sampler),
    op("ComputeAccidentalHits", "(true_classes: int64, sampled_candidates: int64) -> (indices: int32, ids: int64, weights: float)")
        .attrs("num_true: int; seed: int = 0; seed2: int = 0")
        .shape(shape::accidental_hits),
    op("RandomPoisson", "(shape: S, rate: dtype) -> (output: dtype)").costly()
        .attrs("seed: int = 0; seed2: int = 0; S: index; dtype: {half, float, double}")
        .stateful()
        .deprecated(25, "")
        .shape(shape::random_gamma),
    op("StatelessRandomUniformFullInt", "(shape: T, seed: Tseed) -> (output: dtype)")
        .not_differentiable()
        .attrs(
            "dtype: {int32, int64, uint32, uint64} = uint64; T: index = int32;
                Tseed: {int32, int64, uint32, uint64} = int64",
        )
        .shape(shape::stateless_random),
    op("StatelessRandomUniformFullIntV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: {int32, int64, uint32, uint64} = uint64; Tshape: index = int32")
        .shape(shape::stateless_keyed),
    op("StatelessRandomGetKeyCounterAlg", "(seed: Tseed) -> (key: uint64, counter: uint64, alg: int32)")
        .attrs("Tseed: index = int64")
        .shape(shape::random_key_counter_alg),
    op("StatelessRandomBinomial", "(shape: S, seed: Tseed, counts: T, probs: T) -> (output: dtype)").costly()
        .not_differentiable()
        .attrs(
            "S: index; Tseed: index = int64; T: {half, float, double, int32, int64} = double;
                dtype: {half, float, double, int32, int64} = int64",
        )
        .shape(shape::stateless_random),
    op("StatelessRandomGammaV2", "(shape: T, seed: Tseed, alpha: dtype) -> (output: dtype)").costly()
        .gradient(gradient::stateless_random_gamma::<2>)
        .attrs("dtype: {half, float, double}; T: index; Tseed: index = int64")
        .shape(shape::stateless_random),
    op("StatelessRandomGammaV3", "(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype) -> (output: dtype)").costly()
        .gradient(gradient::stateless_random_gamma::<4>)
        .attrs("dtype: {half, float, double}; shape_dtype: index = int32")
        .shape(shape::stateless_keyed),
    op("StatelessRandomPoisson", "(shape: T, seed: Tseed, lam: Rtype) -> (output: dtype)").costly()
        .not_differentiable()
        .attrs(
            "Rtype: {half, float, double, int32, int64}; dtype: {half, float, double, int32, int64};
                T: index; Tseed: index = int64",
        )
        .shape(shape::stateless_random),
    op("ParameterizedTruncatedNormal", "(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> (output: dtype)").costly()
        .not_differentiable()
        .attrs("seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: {int32, int64}")
        .stateful()
        .shape(shape::parameterized_truncated_normal),
    op(
        "StatelessParameterizedTruncatedNormal",
        "(shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype) -> (output: dtype)",
    ).costly()
    .gradient(gradient::stateless_truncated_normal)
    .attrs("S: index; Tseed: index = int64; dtype: {half, float, double}")
    .shape(shape::stateless_truncated_normal),
    op("StatelessShuffle", "(value: T, key: uint64, counter: uint64, alg: int32) -> (output: T)")
        .attrs("T: type")
        .shape(shape::identity_shape),
    op("StatefulUniform", "(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)")
        .attrs("dtype: type = float; shape_dtype: type = int64")
        .stateful()
        .shape(shape::stateful_random),
    op("StatefulUniformFullInt", "(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)")
        .attrs("dtype: type = uint64; shape_dtype: type = int64")
        .stateful()
        .shape(shape::stateful_random),
    op("StatefulUniformInt", "(resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype) -> (output: dtype)")
        .attrs("dtype: type = int64; shape_dtype: type = int64")
        .stateful()
        .shape(shape::stateful_range),
    op("StatefulStandardNormal", "(resource: resource, shape: shape_dtype) -> (output: dtype)")
        .attrs("dtype: type = float; shape_dtype: type = int64")
        .stateful()
        .deprecated(29, "Use StatefulStandardNormalV2 instead")
        .shape(shape::shape_input::<1>),
    op("StatefulStandardNormalV2", "(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)")
        .attrs("dtype: type = float; shape_dtype: type = int64")
        .stateful()
        .shape(shape::stateful_random),
    op("StatefulTruncatedNormal", "(resource: resource, algorithm: int64, shape: shape_dtype) -> (output: dtype)")
        .attrs("dtype: type = float; shape_dtype: type = int64")
        .stateful()
        .shape(shape::stateful_random),
    op("StatefulRandomBinomial", "(resource: resource, algorithm: int64, shape: S, counts: T, probs: T) -> (output: dtype)").costly()
        .attrs(
            "S: index; T: {half, float, double, int32, int64} = double;
            dtype: {half, float, double, int32, int64} = int64",
        )
        .stateful()
        .shape(shape::shape_input::<2>),
    op("RngSkip", "(resource: resource, algorithm: int64, delta: int64) -> ()").stateful().shape(shape::rng_skip),
    op("RngReadAndSkip", "(resource: resource, alg: int32, delta: uint64) -> (value: int64)").stateful().shape(shape::rng_skip),
    op("NonDeterministicInts", "(shape: shape_dtype) -> (output: dtype)")
        .not_differentiable()
        .attrs("dtype: type = int64; shape_dtype: type = int64")
        .stateful()
        .shape(shape::shape_input::<0>),
    op("SobolSample", "(dim: int32, num_results: int32, skip: int32) -> (samples: dtype)").costly()
        .attrs("dtype: {float, double} = float")
        .shape(shape::sobol_sample),
];
