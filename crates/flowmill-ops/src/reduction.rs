//! Reductions, scans, segments, histograms, and selection of the largest.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("Sum", "(input: T, reduction_indices: Tidx) -> (output: T)").attrs("keep_dims: bool = false; T: number; Tidx: index = int32"),
    op("Mean", "(input: T, reduction_indices: Tidx) -> (output: T)").attrs("keep_dims: bool = false; T: number; Tidx: index = int32"),
    op("Prod", "(input: T, reduction_indices: Tidx) -> (output: T)").attrs("keep_dims: bool = false; T: number; Tidx: index = int32"),
    op("Max", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .attrs("keep_dims: bool = false;
                T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16};
                Tidx: index = int32"),
    op("Min", "(input: T, reduction_indices: Tidx) -> (output: T)")
        .attrs("keep_dims: bool = false;
                T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16};
                Tidx: index = int32"),
    op("All", "(input: bool, reduction_indices: Tidx) -> (output: bool)").attrs("keep_dims: bool = false; Tidx: index = int32"),
    op("Any", "(input: bool, reduction_indices: Tidx) -> (output: bool)").attrs("keep_dims: bool = false; Tidx: index = int32"),
    op("EuclideanNorm", "(input: T, reduction_indices: Tidx) -> (output: T)").attrs("keep_dims: bool = false; T: number; Tidx: index = int32"),
    op("ArgMax", "(input: T, dimension: Tidx) -> (output: output_type)")
        .attrs("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16, bool};
                Tidx: {int16, int32, int64} = int32; output_type: {int16, uint16, int32, int64} = int64"),
    op("ArgMin", "(input: T, dimension: Tidx) -> (output: output_type)")
        .attrs("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16, bool};
                Tidx: index = int32; output_type: index = int64"),
    op("Cumsum", "(x: T, axis: Tidx) -> (out: T)").attrs("exclusive: bool = false; reverse: bool = false; T: number; Tidx: index = int32"),
    op("Cumprod", "(x: T, axis: Tidx) -> (out: T)").attrs("exclusive: bool = false; reverse: bool = false; T: number; Tidx: index = int32"),
    op("CumulativeLogsumexp", "(x: T, axis: Tidx) -> (out: T)")
        .attrs("exclusive: bool = false; reverse: bool = false; T: {bfloat16, half, float, double}; Tidx: index = int32"),
    op("SegmentSum", "(data: T, segment_ids: Tindices) -> (output: T)").attrs("T: number; Tindices: index"),
    op("SegmentMean", "(data: T, segment_ids: Tindices) -> (output: T)").attrs("T: number; Tindices: index"),
    op("SegmentProd", "(data: T, segment_ids: Tindices) -> (output: T)").attrs("T: number; Tindices: index"),
    op("SegmentMax", "(data: T, segment_ids: Tindices) -> (output: T)").attrs("T: real; Tindices: index"),
    op("SegmentMin", "(data: T, segment_ids: Tindices) -> (output: T)").attrs("T: real; Tindices: index"),
    op("UnsortedSegmentSum", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: number; Tindices: {int16, int32, int64}; Tnumsegments: index = int32"),
    op("UnsortedSegmentProd", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: number; Tindices: index; Tnumsegments: index = int32"),
    op("UnsortedSegmentMax", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: real; Tindices: index; Tnumsegments: index = int32"),
    op("UnsortedSegmentMin", "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)")
        .attrs("T: real; Tindices: index; Tnumsegments: index = int32"),
    op("Bincount", "(arr: int32, size: int32, weights: T) -> (bins: T)").attrs("T: {int32, int64, float, double}"),
    op("DenseBincount", "(input: Tidx, size: Tidx, weights: T) -> (output: T)")
        .attrs("Tidx: index; T: {int32, int64, float, double}; binary_output: bool = false"),
    op("HistogramFixedWidth", "(values: T, value_range: T, nbins: int32) -> (out: dtype)")
        .attrs("T: {int32, int64, float, double}; dtype: index = int32"),
    op("TopK", "(input: T) -> (values: T, indices: int32)").attrs("k: int >= 0; sorted: bool = true; T: real").deprecated(7, "TopKV2 replaces it"),
    op("TopKV2", "(input: T, k: Tk) -> (values: T, indices: index_type)")
        .attrs("sorted: bool = true; T: real; Tk: {int16, int32, int64} = int32; index_type: {int16, int32, int64} = int32"),
    op("InTopK", "(predictions: float, targets: T) -> (precision: bool)").attrs("k: int; T: index = int32"),
    op("InTopKV2", "(predictions: float, targets: T, k: T) -> (precision: bool)").attrs("T: index = int32"),
    op("NthElement", "(input: T, n: int32) -> (values: T)").attrs("reverse: bool = false; T: real"),
    op("Bucketize", "(input: T) -> (output: int32)").attrs("T: {int32, int64, float, double}; boundaries: list(float)"),
];
