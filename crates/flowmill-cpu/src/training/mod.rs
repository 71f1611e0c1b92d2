//! Optimisers' updates of variables.

mod averaged;
mod rules;
mod step;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("ApplyAdaMax", rules::adamax);
    registry.add("ApplyAdadelta", rules::adadelta::<false>);
    registry.add("ApplyAdagrad", rules::adagrad);
    registry.add("ApplyAdagradV2", rules::adagrad_v2);
    registry.add("ApplyAdagradDA", averaged::adagrad_da::<false>);
    registry.add("ApplyAdam", rules::adam);
    registry.add("ApplyAddSign", averaged::sign_rule::<false>);
    registry.add("ApplyPowerSign", averaged::sign_rule::<true>);
    registry.add("ResourceApplyAdagradDA", averaged::adagrad_da::<false>);
    registry.add("ResourceApplyAddSign", averaged::sign_rule::<false>);
    registry.add("ResourceApplyPowerSign", averaged::sign_rule::<true>);
    registry.add("ResourceSparseApplyAdagradDA", averaged::adagrad_da::<true>);
    registry.add("SparseApplyAdagradDA", averaged::adagrad_da::<true>);
    registry.add("ApplyCenteredRMSProp", rules::centered_rms_prop::<false>);
    registry.add("ApplyFtrl", rules::ftrl::<false>);
    registry.add("ApplyFtrlV2", rules::ftrl_v2::<false>);
    registry.add("ApplyGradientDescent", rules::gradient_descent);
    registry.add("ApplyMomentum", rules::momentum);
    registry.add("ApplyProximalAdagrad", rules::proximal_adagrad::<false>);
    registry.add("ApplyProximalGradientDescent", rules::proximal_gradient_descent::<false>);
    registry.add("ApplyRMSProp", rules::rms_prop::<false>);
    registry.add("ResourceApplyAdaMax", rules::adamax);
    registry.add("ResourceApplyAdadelta", rules::adadelta::<false>);
    registry.add("ResourceApplyAdagrad", rules::adagrad);
    registry.add("ResourceApplyAdagradV2", rules::adagrad_v2);
    registry.add("ResourceApplyAdam", rules::adam);
    registry.add("ResourceApplyAdamWithAmsgrad", rules::amsgrad);
    registry.add("ResourceApplyCenteredRMSProp", rules::centered_rms_prop::<false>);
    registry.add("ResourceApplyFtrl", rules::ftrl::<false>);
    registry.add("ResourceApplyFtrlV2", rules::ftrl_v2::<false>);
    registry.add("ResourceApplyGradientDescent", rules::gradient_descent);
    registry.add("ResourceApplyKerasMomentum", rules::keras_momentum);
    registry.add("ResourceApplyMomentum", rules::momentum);
    registry.add("ResourceApplyProximalAdagrad", rules::proximal_adagrad::<false>);
    registry.add("ResourceApplyProximalGradientDescent", rules::proximal_gradient_descent::<false>);
    registry.add("ResourceApplyRMSProp", rules::rms_prop::<false>);
    registry.add("ResourceSparseApplyAdadelta", rules::adadelta::<true>);
    registry.add("ResourceSparseApplyAdagrad", rules::sparse_adagrad);
    registry.add("ResourceSparseApplyAdagradV2", rules::sparse_adagrad_v2);
    registry.add("ResourceSparseApplyCenteredRMSProp", rules::centered_rms_prop::<true>);
    registry.add("ResourceSparseApplyFtrl", rules::ftrl::<true>);
    registry.add("ResourceSparseApplyFtrlV2", rules::ftrl_v2::<true>);
    registry.add("ResourceSparseApplyKerasMomentum", rules::sparse_keras_momentum);
    registry.add("ResourceSparseApplyMomentum", rules::sparse_momentum);
    registry.add("ResourceSparseApplyProximalAdagrad", rules::proximal_adagrad::<true>);
    registry.add("ResourceSparseApplyProximalGradientDescent", rules::proximal_gradient_descent::<true>);
    registry.add("ResourceSparseApplyRMSProp", rules::rms_prop::<true>);
    registry.add("SparseApplyAdadelta", rules::adadelta::<true>);
    registry.add("SparseApplyAdagrad", rules::sparse_adagrad);
    registry.add("SparseApplyAdagradV2", rules::sparse_adagrad_v2);
    registry.add("SparseApplyCenteredRMSProp", rules::centered_rms_prop::<true>);
    registry.add("SparseApplyFtrl", rules::ftrl::<true>);
    registry.add("SparseApplyFtrlV2", rules::ftrl_v2::<true>);
    registry.add("SparseApplyMomentum", rules::sparse_momentum);
    registry.add("SparseApplyProximalAdagrad", rules::proximal_adagrad::<true>);
    registry.add("SparseApplyProximalGradientDescent", rules::proximal_gradient_descent::<true>);
    registry.add("SparseApplyRMSProp", rules::rms_prop::<true>);
}
