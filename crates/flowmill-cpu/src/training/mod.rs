//! Optimizers' updates of variables.

mod rules;
mod step;
#[cfg(test)]
mod tests;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    registry.add("ApplyAdaMax", rules::adamax);
    registry.add("ApplyAdadelta", rules::adadelta);
    registry.add("ApplyAdagrad", rules::adagrad);
    registry.add("ApplyAdagradV2", rules::adagrad_v2);
    registry.add("ApplyAdam", rules::adam);
    registry.add("ApplyCenteredRMSProp", rules::centered_rms_prop);
    registry.add("ApplyFtrl", rules::ftrl);
    registry.add("ApplyFtrlV2", rules::ftrl_v2);
    registry.add("ApplyGradientDescent", rules::gradient_descent);
    registry.add("ApplyMomentum", rules::momentum);
    registry.add("ApplyProximalGradientDescent", rules::proximal_gradient_descent);
    registry.add("ApplyRMSProp", rules::rms_prop);
    registry.add("ResourceApplyAdaMax", rules::adamax);
    registry.add("ResourceApplyAdadelta", rules::adadelta);
    registry.add("ResourceApplyAdagrad", rules::adagrad);
    registry.add("ResourceApplyAdagradV2", rules::adagrad_v2);
    registry.add("ResourceApplyAdam", rules::adam);
    registry.add("ResourceApplyAdamWithAmsgrad", rules::amsgrad);
    registry.add("ResourceApplyCenteredRMSProp", rules::centered_rms_prop);
    registry.add("ResourceApplyFtrl", rules::ftrl);
    registry.add("ResourceApplyFtrlV2", rules::ftrl_v2);
    registry.add("ResourceApplyGradientDescent", rules::gradient_descent);
    registry.add("ResourceApplyKerasMomentum", rules::keras_momentum);
    registry.add("ResourceApplyMomentum", rules::momentum);
    registry.add("ResourceApplyProximalGradientDescent", rules::proximal_gradient_descent);
    registry.add("ResourceApplyRMSProp", rules::rms_prop);
    registry.add("ResourceSparseApplyAdagrad", rules::sparse_adagrad);
    registry.add("ResourceSparseApplyAdagradV2", rules::sparse_adagrad_v2);
    registry.add("ResourceSparseApplyMomentum", rules::sparse_momentum);
    registry.add("SparseApplyAdagrad", rules::sparse_adagrad);
    registry.add("SparseApplyAdagradV2", rules::sparse_adagrad_v2);
    registry.add("SparseApplyMomentum", rules::sparse_momentum);
}
