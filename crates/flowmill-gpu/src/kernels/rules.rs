//! The table of optimizers.

/// An update rule, with the ops that apply it to references and to resources, to all elements or to some rows.
pub(super) struct Rule {
    /// The rule's type in the text of the kernels.
    pub(super) text: &'static str,
    pub(super) ops: &'static [&'static str],
    /// The variable and its slots, which are the first inputs.
    pub(super) variables: &'static [&'static str],
    /// The hyperparameters, in the order of the text.
    pub(super) scalars: &'static [&'static str],
    /// The attribute that chooses the rule's variant, and its default.
    pub(super) flag: Option<(&'static str, bool)>,
}

const NESTEROV: Option<(&str, bool)> = Some(("use_nesterov", false));
const SLOTS: Option<(&str, bool)> = Some(("update_slots", true));

pub(super) const RULES: &[Rule] = &[
    Rule {
        text: "struct GradientDescent",
        ops: &["ApplyGradientDescent", "ResourceApplyGradientDescent"],
        variables: &["var"],
        scalars: &["alpha"],
        flag: None,
    },
    Rule {
        text: "struct ProximalGradientDescent",
        ops: &[
            "ApplyProximalGradientDescent",
            "ResourceApplyProximalGradientDescent",
            "SparseApplyProximalGradientDescent",
            "ResourceSparseApplyProximalGradientDescent",
        ],
        variables: &["var"],
        scalars: &["alpha", "l1", "l2"],
        flag: None,
    },
    Rule {
        text: "struct Momentum",
        ops: &["ApplyMomentum", "ResourceApplyMomentum", "SparseApplyMomentum", "ResourceSparseApplyMomentum"],
        variables: &["var", "accum"],
        scalars: &["lr", "momentum"],
        flag: NESTEROV,
    },
    Rule {
        text: "struct KerasMomentum",
        ops: &["ResourceApplyKerasMomentum", "ResourceSparseApplyKerasMomentum"],
        variables: &["var", "accum"],
        scalars: &["lr", "momentum"],
        flag: NESTEROV,
    },
    Rule {
        text: "struct Adagrad",
        ops: &["ApplyAdagrad", "ResourceApplyAdagrad", "SparseApplyAdagrad", "ResourceSparseApplyAdagrad"],
        variables: &["var", "accum"],
        scalars: &["lr"],
        flag: SLOTS,
    },
    Rule {
        text: "struct AdagradV2",
        ops: &["ApplyAdagradV2", "ResourceApplyAdagradV2", "SparseApplyAdagradV2", "ResourceSparseApplyAdagradV2"],
        variables: &["var", "accum"],
        scalars: &["lr", "epsilon"],
        flag: SLOTS,
    },
    Rule {
        text: "struct ProximalAdagrad",
        ops: &["ApplyProximalAdagrad", "ResourceApplyProximalAdagrad", "SparseApplyProximalAdagrad", "ResourceSparseApplyProximalAdagrad"],
        variables: &["var", "accum"],
        scalars: &["lr", "l1", "l2"],
        flag: None,
    },
    Rule {
        text: "struct AdagradDA",
        ops: &["ApplyAdagradDA", "ResourceApplyAdagradDA", "SparseApplyAdagradDA", "ResourceSparseApplyAdagradDA"],
        variables: &["var", "gradient_accumulator", "gradient_squared_accumulator"],
        scalars: &["lr", "l1", "l2", "global_step"],
        flag: None,
    },
    Rule {
        text: "struct Adadelta",
        ops: &["ApplyAdadelta", "ResourceApplyAdadelta", "SparseApplyAdadelta", "ResourceSparseApplyAdadelta"],
        variables: &["var", "accum", "accum_update"],
        scalars: &["lr", "rho", "epsilon"],
        flag: None,
    },
    Rule {
        text: "struct Adam",
        ops: &["ApplyAdam", "ResourceApplyAdam"],
        variables: &["var", "m", "v"],
        scalars: &["beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"],
        flag: NESTEROV,
    },
    Rule {
        text: "struct Amsgrad",
        ops: &["ResourceApplyAdamWithAmsgrad"],
        variables: &["var", "m", "v", "vhat"],
        scalars: &["beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon"],
        flag: None,
    },
    Rule {
        text: "struct AdaMax",
        ops: &["ApplyAdaMax", "ResourceApplyAdaMax"],
        variables: &["var", "m", "v"],
        scalars: &["beta1_power", "lr", "beta1", "beta2", "epsilon"],
        flag: None,
    },
    Rule {
        text: "struct RMSProp",
        ops: &["ApplyRMSProp", "ResourceApplyRMSProp", "SparseApplyRMSProp", "ResourceSparseApplyRMSProp"],
        variables: &["var", "ms", "mom"],
        scalars: &["lr", "rho", "momentum", "epsilon"],
        flag: None,
    },
    Rule {
        text: "struct CenteredRMSProp",
        ops: &["ApplyCenteredRMSProp", "ResourceApplyCenteredRMSProp", "SparseApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp"],
        variables: &["var", "mg", "ms", "mom"],
        scalars: &["lr", "rho", "momentum", "epsilon"],
        flag: None,
    },
    Rule {
        text: "struct Ftrl",
        ops: &["ApplyFtrl", "ResourceApplyFtrl", "SparseApplyFtrl", "ResourceSparseApplyFtrl"],
        variables: &["var", "accum", "linear"],
        scalars: &["lr", "l1", "l2", "lr_power"],
        flag: Some(("multiply_linear_by_lr", false)),
    },
    Rule {
        text: "struct FtrlV2",
        ops: &["ApplyFtrlV2", "ResourceApplyFtrlV2", "SparseApplyFtrlV2", "ResourceSparseApplyFtrlV2"],
        variables: &["var", "accum", "linear"],
        scalars: &["lr", "l1", "l2", "lr_power", "l2_shrinkage"],
        flag: Some(("multiply_linear_by_lr", false)),
    },
    Rule {
        text: "struct AddSign",
        ops: &["ApplyAddSign", "ResourceApplyAddSign"],
        variables: &["var", "m"],
        scalars: &["lr", "alpha", "sign_decay", "beta"],
        flag: None,
    },
    Rule {
        text: "struct PowerSign",
        ops: &["ApplyPowerSign", "ResourceApplyPowerSign"],
        variables: &["var", "m"],
        scalars: &["lr", "logbase", "sign_decay", "beta"],
        flag: None,
    },
];
