//! Reductions, scans, segments, histograms, and selection of the largest.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Work;

pub(crate) const OPS: &[Op] = &[
    op("Sum", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .reduces()
        .gradient(gradient::sum)
        .attrs("keep_dims: bool = false; T: number; Tidx: index = int32")
        .shape(|c| shape::reduction_of(c, shape::value::sum)),
    op("Mean", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .reduces()
        .gradient(gradient::mean)
        .attrs("keep_dims: bool = false; T: number; Tidx: index = int32")
        .shape(shape::reduction),
    op("Prod", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .reduces()
        .gradient(gradient::prod)
        .attrs("keep_dims: bool = false; T: number; Tidx: index = int32")
        .shape(|c| shape::reduction_of(c, shape::value::product)),
    op("Max", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .reduces()
        .gradient(gradient::extreme)
        .attrs(
            "keep_dims: bool = false;
                T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16,
                quint16}; Tidx: index = int32",
        )
        .shape(|c| shape::reduction_of(c, |v| v.iter().copied().max())),
    op("Min", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .reduces()
        .gradient(gradient::extreme)
        .attrs(
            "keep_dims: bool = false;
                T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16,
                quint16}; Tidx: index = int32",
        )
        .shape(|c| shape::reduction_of(c, |v| v.iter().copied().min())),
    op("All", "(input: bool, reduction_indices: Tidx) -> (output: bool)")
        .reduces()
        .not_differentiable()
        .attrs("keep_dims: bool = false; Tidx: index = int32")
        .shape(shape::reduction),
    op("Any", "(input: bool, reduction_indices: Tidx) -> (output: bool)")
        .reduces()
        .not_differentiable()
        .attrs("keep_dims: bool = false; Tidx: index = int32")
        .shape(shape::reduction),
    op("EuclideanNorm", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .reduces()
        .gradient(gradient::euclidean_norm)
        .attrs("keep_dims: bool = false; T: number; Tidx: index = int32")
        .shape(shape::reduction),
    op("ArgMax", "(input: T, dimension: Tidx) -> (output: output_type)")
        .not_differentiable()
        .attrs(
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16,
                quint16, bool}; Tidx: {int16, int32, int64} = int32; output_type: {int16, uint16, int32, int64} = int64",
        )
        .shape(shape::arg_max),
    op("ArgMin", "(input: T, dimension: Tidx) -> (output: output_type)")
        .not_differentiable()
        .attrs(
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16,
                quint16, bool}; Tidx: index = int32; output_type: index = int64",
        )
        .shape(shape::arg_max),
    op("Cumsum", "(x: T, axis: Tidx) -> (out: T)")
        .gradient(gradient::cumsum)
        .attrs("exclusive: bool = false; reverse: bool = false; T: number; Tidx: index = int32")
        .shape(shape::unchanged),
    op("Cumprod", "(x: T, axis: Tidx) -> (out: T)")
        .gradient(gradient::cumprod)
        .attrs("exclusive: bool = false; reverse: bool = false; T: number; Tidx: index = int32")
        .shape(shape::unchanged),
    op("CumulativeLogsumexp", "(x: T, axis: Tidx) -> (out: T)")
        .gradient(gradient::cumulative_logsumexp)
        .attrs("exclusive: bool = false; reverse: bool = false; T: {bfloat16, half, float, double}; Tidx: index = int32")
        .shape(shape::unchanged),
    op("SegmentSum", "(data: T, segment_ids: Tindices) -> (output: T)")
        .gradient(gradient::segment_sum)
        .attrs("T: number; Tindices: index")
        .shape(shape::segment),
    op("SegmentMean", "(data: T, segment_ids: Tindices) -> (output: T)")
        .gradient(gradient::segment_mean)
        .attrs("T: number; Tindices: index")
        .shape(shape::segment),
    op("SegmentProd", "(data: T, segment_ids: Tindices) -> (output: T)")
        .gradient(gradient::segment_prod)
        .attrs("T: number; Tindices: index")
        .shape(shape::segment),
    op("SegmentMax", "(data: T, segment_ids: Tindices) -> (output: T)")
        .gradient(gradient::segment_extreme)
        .attrs("T: real; Tindices: index")
        .shape(shape::segment),
    op("SegmentMin", "(data: T, segment_ids: Tindices) -> (output: T)")
        .gradient(gradient::segment_extreme)
        .attrs("T: real; Tindices: index")
        .shape(shape::segment),
    op("UnsortedSegmentSum", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .gradient(gradient::unsorted_segment_sum)
        .attrs("T: number; Tindices: {int16, int32, int64}; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("UnsortedSegmentProd", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .gradient(gradient::segment_prod)
        .attrs("T: number; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("UnsortedSegmentMax", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .gradient(gradient::segment_extreme)
        .attrs("T: real; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("UnsortedSegmentMin", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .gradient(gradient::segment_extreme)
        .attrs("T: real; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("Bincount", "(arr: int32, size: int32, weights: T) -> (bins: T)")
        .not_differentiable()
        .attrs("T: {int32, int64, float, double}")
        .shape(shape::bincount),
    op("DenseBincount", "(input: Tidx, size: Tidx, weights: T) -> (output: T)")
        .attrs("Tidx: index; T: {int32, int64, float, double}; binary_output: bool = false")
        .shape(shape::bincount),
    op("HistogramFixedWidth", "(values: T, value_range: T, nbins: int32) -> (out: dtype)")
        .attrs("T: {int32, int64, float, double}; dtype: index = int32")
        .shape(shape::histogram_fixed_width),
    op("TopK", "(input: T) -> (values: T, indices: int32)")
        .work(Work::Sort)
        .gradient(gradient::top_k)
        .attrs("k: int >= 0; sorted: bool = true; T: real")
        .deprecated(7, "TopKV2 replaces it")
        .shape(shape::top_k),
    op("TopKV2", "(input: T, k: Tk) -> (values: T, indices: index_type)")
        .work(Work::Sort)
        .gradient(gradient::top_k)
        .attrs("sorted: bool = true; T: real; Tk: {int16, int32, int64} = int32; index_type: {int16, int32, int64} = int32")
        .shape(shape::top_k),
    op("ApproxTopK", "(input: T) -> (values: T, indices: int32)")
        .gradient(gradient::approx_top_k)
        .attrs(
            "k: int >= 0; reduction_dimension: int = -1; recall_target: float = 0.95; is_max_k: bool = true;
                reduction_input_size_override: int = -1; aggregate_to_topk: bool = true; T: {half, bfloat16, float}",
        )
        .shape(shape::approx_top_k),
    op("InTopK", "(predictions: float, targets: T) -> (precision: bool)")
        .not_differentiable()
        .attrs("k: int; T: index = int32")
        .shape(shape::in_top_k),
    op("InTopKV2", "(predictions: float, targets: T, k: T) -> (precision: bool)")
        .not_differentiable()
        .attrs("T: index = int32")
        .shape(shape::in_top_k),
    op("NthElement", "(input: T, n: int32) -> (values: T)")
        .gradient(gradient::nth_element)
        .attrs("reverse: bool = false; T: real")
        .shape(shape::nth_element),
    op(
        "BoostedTreesBucketize",
        "(float_values: num_features * float, bucket_boundaries: num_features * float) -> (buckets: num_features * int32)",
    )
    .not_differentiable()
    .attrs("num_features: int >= 0")
    .shape(shape::boosted_trees_bucketize),
    op("Bucketize", "(input: T) -> (output: int32)")
        .attrs("T: {int32, int64, float, double}; boundaries: list(float)")
        .shape(shape::unchanged),
    op("SegmentSumV2", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: number; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("SegmentProdV2", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: number; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("SegmentMinV2", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: real; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
    op("SegmentMaxV2", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: real; Tindices: index; Tnumsegments: index = int32")
        .shape(shape::unsorted_segment),
];
