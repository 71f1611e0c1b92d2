//! Steps of optimisers, applied to variables in place.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("ApplyGradientDescent", "(var: Ref(T), alpha: T, delta: T) -> (out: Ref(T))").attrs("T: number; use_locking: bool = false"),
    op("ApplyMomentum", "(var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false"),
    op("ApplyAdagrad", "(var: Ref(T), accum: Ref(T), lr: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true"),
    op("ApplyAdagradV2", "(var: Ref(T), accum: Ref(T), lr: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true"),
    op("ApplyAdadelta", "(var: Ref(T), accum: Ref(T), accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false"),
    op("ApplyAdam", "(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false"),
    op("ApplyAdaMax", "(var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false"),
    op("ApplyRMSProp", "(var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false"),
    op("ApplyCenteredRMSProp", "(var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false"),
    op("ApplyFtrl", "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, lr_power: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false"),
    op("ApplyFtrlV2", "(var: Ref(T), accum: Ref(T), linear: Ref(T), grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false"),
    op("ApplyProximalGradientDescent", "(var: Ref(T), alpha: T, l1: T, l2: T, delta: T) -> (out: Ref(T))")
        .attrs("T: number; use_locking: bool = false"),
    op("ResourceApplyGradientDescent", "(var: resource, alpha: T, delta: T)").attrs("T: number; use_locking: bool = false").stateful(),
    op("ResourceApplyMomentum", "(var: resource, accum: resource, lr: T, grad: T, momentum: T)")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
        .stateful(),
    op("ResourceApplyKerasMomentum", "(var: resource, accum: resource, lr: T, grad: T, momentum: T)")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
        .stateful(),
    op("ResourceApplyAdagrad", "(var: resource, accum: resource, lr: T, grad: T)")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true")
        .stateful(),
    op("ResourceApplyAdagradV2", "(var: resource, accum: resource, lr: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false; update_slots: bool = true")
        .stateful(),
    op("ResourceApplyAdadelta", "(var: resource, accum: resource, accum_update: resource, lr: T, rho: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful(),
    op("ResourceApplyAdam", "(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false; use_nesterov: bool = false")
        .stateful(),
    op("ResourceApplyAdamWithAmsgrad", "(var: resource, m: resource, v: resource, vhat: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful(),
    op("ResourceApplyAdaMax", "(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: T, beta2: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful(),
    op("ResourceApplyRMSProp", "(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful(),
    op("ResourceApplyCenteredRMSProp", "(var: resource, mg: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T)")
        .attrs("T: number; use_locking: bool = false")
        .stateful(),
    op("ResourceApplyFtrl", "(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, lr_power: T)")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .stateful(),
    op("ResourceApplyFtrlV2", "(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T)")
        .attrs("T: number; use_locking: bool = false; multiply_linear_by_lr: bool = false")
        .stateful(),
    op("ResourceSparseApplyMomentum", "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices, momentum: T)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false")
        .stateful(),
    op("ResourceSparseApplyAdagrad", "(var: resource, accum: resource, lr: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
        .stateful(),
    op("ResourceSparseApplyAdagradV2", "(var: resource, accum: resource, lr: T, epsilon: T, grad: T, indices: Tindices)")
        .attrs("T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true")
        .stateful(),
    op("SparseApplyAdagrad", "(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; update_slots: bool = true"),
    op("SparseApplyMomentum", "(var: Ref(T), accum: Ref(T), lr: T, grad: T, indices: Tindices, momentum: T) -> (out: Ref(T))")
        .attrs("T: number; Tindices: index; use_locking: bool = false; use_nesterov: bool = false"),
];
