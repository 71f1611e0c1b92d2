//! Clustering: centres of groups of points, and the nearest ones of each point.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op(
        "KmeansPlusPlusInitialization",
        "(points: float, num_to_sample: int64, seed: int64, num_retries_per_sample: int64) -> (samples: float)",
    )
    .costly()
    .shape(shape::unknown),
    op("KMC2ChainInitialization", "(distances: float, seed: int64) -> (index: int64)").costly().shape(shape::scalars),
    op("NearestNeighbors", "(points: float, centers: float, k: int64) -> (nearest_center_indices: int64, nearest_center_distances: float)")
        .costly()
        .shape(shape::unknown),
];
