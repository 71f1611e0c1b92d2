//! Steps of optimisers, applied to variables in place.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("ApplyGradientDescent", "(var: Ref(T), alpha: T, delta: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyMomentum", "(var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyAdagrad", "(var: Ref(T), accum: Ref(T), lr: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true")
        .shape(shape::optimizer_step),
    op("ApplyAdagradV2", "(var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true")
        .shape(shape::optimizer_step),
    op("ApplyAdadelta", "(var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op(
        "ApplyAdam",
        "(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)
         -> (out: Ref(T))",
    )
    .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
    .shape(shape::optimizer_step),
    op("ApplyAdaMax", "(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyRMSProp", "(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyCenteredRMSProp", "(var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyFtrl", "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyFtrlV2", "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyProximalGradientDescent", "(var: Ref(T), alpha: T, l1: T, l2: T, delta: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceApplyGradientDescent", "(var: resource, alpha: T, delta: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyMomentum", "(var: resource, accum: resource, lr: T, grad: T, momentum: T)")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyKerasMomentum", "(var: resource, accum: resource, lr: T, grad: T, momentum: T)")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyAdagrad", "(var: resource, accum: resource, lr: T, grad: T)")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyAdagradV2", "(var: resource, accum: resource, lr: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyAdadelta", "(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op(
        "ResourceApplyAdam",
        "(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)",
    )
    .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
    .stateful()
    .shape(shape::optimizer_step),
    op(
        "ResourceApplyAdamWithAmsgrad",
        "(var: resource, m: resource, v: resource, vhat: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)",
    )
    .attrs("T: number; use_locking: bool = false")
    .stateful()
    .shape(shape::optimizer_step),
    op("ResourceApplyAdaMax", "(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyRMSProp", "(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyCenteredRMSProp", "(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyFtrl", "(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, lr_power: T)")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyFtrlV2", "(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T)")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyMomentum", "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyAdagrad", "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyAdagradV2", "(var: resource, accum: resource, lr: T, epsilon: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyAdagrad", "(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
        .shape(shape::optimizer_step),
    op("SparseApplyMomentum", "(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices, momentum: T) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false")
        .shape(shape::optimizer_step),
    op("SparseApplyAdadelta", "(var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyAdadelta", "(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyRMSProp", "(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyRMSProp", "(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyCenteredRMSProp", "(var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyCenteredRMSProp", "(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyFtrl", "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyFtrl", "(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyFtrlV2", "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyFtrlV2", "(var: resource, accum: resource, linear: resource, grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyProximalGradientDescent", "(var: Ref(T), alpha: T, l1: T, l2: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyProximalGradientDescent", "(var: resource, alpha: T, l1: T, l2: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyProximalAdagrad", "(var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyProximalAdagrad", "(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ApplyProximalAdagrad", "(var: Ref(T), accum: Ref(T), lr: T, l1: T, l2: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceApplyProximalAdagrad", "(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyProximalGradientDescent", "(var: resource, alpha: T, l1: T, l2: T, delta: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("SparseApplyAdagradV2", "(var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
        .shape(shape::optimizer_step),
    op(
        "ApplyAdagradDA",
        "(var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, lr: T, l1: T, l2: T, global_step: int64)
         -> (out: Ref(T))",
    )
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op(
        "SparseApplyAdagradDA",
        "(var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T,
         global_step: int64) -> (out: Ref(T))",
    )
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op(
        "ResourceApplyAdagradDA",
        "(var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, grad: T, lr: T, l1: T, l2: T, global_step:
         int64)",
    )
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op(
        "ResourceSparseApplyAdagradDA",
        "(var: resource, gradient_accumulator: resource, gradient_squared_accumulator: resource, grad: T, indices: Tindices, lr: T, l1: T,
         l2: T, global_step: int64)",
    )
        .attrs("T: number; Tindices: index; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ApplyAddSign", "(var: Ref(T), m: Ref(T), lr: T, alpha: T, sign_decay: T, beta: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ApplyPowerSign", "(var: Ref(T), m: Ref(T), lr: T, logbase: T, sign_decay: T, beta: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false")
        .shape(shape::optimizer_step),
    op("ResourceApplyAddSign", "(var: resource, m: resource, lr: T, alpha: T, sign_decay: T, beta: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceApplyPowerSign", "(var: resource, m: resource, lr: T, logbase: T, sign_decay: T, beta: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
    op("ResourceSparseApplyKerasMomentum", "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false")
        .stateful()
        .shape(shape::optimizer_step),
];
