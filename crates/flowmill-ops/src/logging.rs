//! Printing, summaries, time, and the use of memory.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("Print", "(input: T, data: U) -> (output: T)")
        .gradient(gradient::pass_first)
        .attrs("T: type; U: list(type) >= 0; message: string = ''; first_n: int = -1; summarize: int = 3")
        .stateful()
        .shape(shape::identity),
    op("PrintV2", "(input: string)").attrs("output_stream: string = 'stderr'; end: string = '\n'").stateful().shape(shape::unknown),
    op("ScalarSummary", "(tags: string, values: T) -> (summary: string)").not_differentiable().attrs("T: real").shape(shape::scalars),
    op("HistogramSummary", "(tag: string, values: T) -> (summary: string)")
        .not_differentiable()
        .attrs("T: real = float")
        .shape(shape::scalars),
    op("AudioSummary", "(tag: string, tensor: float) -> (summary: string)")
        .costly()
        .not_differentiable()
        .attrs("sample_rate: float; max_outputs: int >= 1 = 3")
        .deprecated(15, "Use AudioSummaryV2.")
        .shape(shape::scalars),
    op("AudioSummaryV2", "(tag: string, tensor: float, sample_rate: float) -> (summary: string)")
        .costly()
        .not_differentiable()
        .attrs("max_outputs: int >= 1 = 3")
        .shape(shape::scalars),
    op("ImageSummary", "(tag: string, tensor: T) -> (summary: string)")
        .costly()
        .not_differentiable()
        .attrs("max_images: int >= 1 = 3; T: {uint8, float, half, double} = float; bad_color: tensor = uint8[255, 0, 0, 255]")
        .shape(shape::scalars),
    op("MergeSummary", "(inputs: N * string) -> (summary: string)").not_differentiable().attrs("N: int >= 1").shape(shape::scalars),
    op("TensorSummary", "(tensor: T) -> (summary: string)")
        .not_differentiable()
        .attrs("T: type; description: string = ''; labels: list(string) = []; display_name: string = ''")
        .shape(shape::scalars),
    op("TensorSummaryV2", "(tag: string, tensor: T, serialized_summary_metadata: string) -> (summary: string)")
        .not_differentiable()
        .attrs("T: type")
        .shape(shape::scalars),
    op("Timestamp", "() -> (ts: double)").not_differentiable().stateful().shape(shape::scalars),
    op("BytesInUse", "() -> (out: int64)").not_differentiable().stateful().shape(shape::scalars),
    op("BytesLimit", "() -> (out: int64)").not_differentiable().stateful().shape(shape::scalars),
    op("MaxBytesInUse", "() -> (out: int64)").not_differentiable().stateful().shape(shape::scalars),
];
