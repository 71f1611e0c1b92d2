//! Linear models trained by stochastic dual coordinate ascent.

use crate::op::{Op, op};
use crate::shape;

const SIGNATURE: &str = "(sparse_example_indices: num_sparse_features * int64, sparse_feature_indices: num_sparse_features * int64,
    sparse_feature_values: num_sparse_features_with_values * float, dense_features: num_dense_features * float, example_weights: float,
    example_labels: float, sparse_indices: num_sparse_features * int64, sparse_weights: num_sparse_features * float,
    dense_weights: num_dense_features * float, example_state_data: float)
   -> (out_example_state_data: float, out_delta_sparse_weights: num_sparse_features * float,
    out_delta_dense_weights: num_dense_features * float)";

pub(crate) const OPS: &[Op] = &[
    op("SdcaOptimizer", SIGNATURE).costly()
        .not_differentiable()
        .attrs(
            "loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', 'poisson_loss'}; adaptative: bool = false;
                num_sparse_features: int >= 0; num_sparse_features_with_values: int >= 0; num_dense_features: int >= 0; l1: float; l2: float;
                num_loss_partitions: int >= 1; num_inner_iterations: int >= 1",
        )
        .shape(shape::sdca_optimizer),
    op("SdcaOptimizerV2", SIGNATURE).costly()
        .not_differentiable()
        .attrs(
            "loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', 'poisson_loss'}; adaptive: bool = false;
                num_sparse_features: int >= 0; num_sparse_features_with_values: int >= 0; num_dense_features: int >= 0; l1: float; l2: float;
                num_loss_partitions: int >= 1; num_inner_iterations: int >= 1",
        )
        .shape(shape::sdca_optimizer),
    op("SdcaShrinkL1", "(weights: num_features * Ref(float))")
        .not_differentiable()
        .attrs("num_features: int >= 0; l1: float; l2: float")
        .shape(shape::unknown),
    op("SdcaFprint", "(input: string) -> (output: int64)").not_differentiable().shape(shape::sdca_fprint),
];
