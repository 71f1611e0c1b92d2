//! Random numbers, from hidden state or from a seed that is an input.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("RandomUniform", "(shape: T) -> (output: dtype)")
        .attrs("seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: index")
        .stateful(),
    op("RandomUniformInt", "(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)")
        .attrs("seed: int = 0; seed2: int = 0; Tout: index; T: index")
        .stateful(),
    op("RandomStandardNormal", "(shape: T) -> (output: dtype)")
        .attrs("seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: index")
        .stateful(),
    op("TruncatedNormal", "(shape: T) -> (output: dtype)")
        .attrs("seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; T: index")
        .stateful(),
    op("RandomShuffle", "(value: T) -> (output: T)").attrs("seed: int = 0; seed2: int = 0; T: type").stateful(),
    op("Multinomial", "(logits: T, num_samples: int32) -> (output: output_dtype)")
        .attrs("seed: int = 0; seed2: int = 0; T: real; output_dtype: index = int64")
        .stateful(),
    op("StatelessRandomUniform", "(shape: T, seed: Tseed) -> (output: dtype)")
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64"),
    op("StatelessRandomUniformV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32"),
    op("StatelessRandomUniformInt", "(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: dtype)")
        .attrs("dtype: index; T: index; Tseed: index = int64"),
    op("StatelessRandomUniformIntV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, maxval: dtype) -> (output: dtype)")
        .attrs("dtype: {int32, int64, uint32, uint64}; Tshape: index = int32"),
    op("StatelessRandomNormal", "(shape: T, seed: Tseed) -> (output: dtype)")
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64"),
    op("StatelessRandomNormalV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32"),
    op("StatelessTruncatedNormal", "(shape: T, seed: Tseed) -> (output: dtype)")
        .attrs("dtype: {half, bfloat16, float, double} = float; T: index = int32; Tseed: index = int64"),
    op("StatelessTruncatedNormalV2", "(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> (output: dtype)")
        .attrs("dtype: {half, bfloat16, float, double} = float; Tshape: index = int32"),
    op("StatelessMultinomial", "(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)")
        .attrs("T: real; Tseed: index = int64; output_dtype: index = int64"),
    op("StatelessRandomGetKeyCounter", "(seed: Tseed) -> (key: uint64, counter: uint64)").attrs("Tseed: index = int64"),
    op("StatelessRandomGetAlg", "() -> (alg: int32)").stateful(),
    op("RandomGamma", "(shape: S, alpha: T) -> (output: T)").attrs("seed: int = 0; seed2: int = 0; S: index; T: {half, float, double}").stateful(),
    op("RandomPoissonV2", "(shape: S, rate: R) -> (output: dtype)")
        .attrs("seed: int = 0; seed2: int = 0; S: index; R: {half, float, double, int32, int64} = double;
                dtype: {half, float, double, int32, int64} = int64")
        .stateful(),
];
