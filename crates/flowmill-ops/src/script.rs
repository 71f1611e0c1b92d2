//! Calls back into the host language.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("PyFunc", "(input: Tin) -> (output: Tout)")
        .not_differentiable()
        .attrs("token: string; Tin: list(type) >= 0; Tout: list(type) >= 0")
        .stateful()
        .shape(shape::unknown),
    op("PyFuncStateless", "(input: Tin) -> (output: Tout)")
        .not_differentiable()
        .attrs("token: string; Tin: list(type) >= 0; Tout: list(type) >= 0")
        .shape(shape::unknown),
    op("EagerPyFunc", "(input: Tin) -> (output: Tout)")
        .attrs("token: string; is_async: bool = false; Tin: list(type) >= 0; Tout: list(type) >= 0")
        .stateful()
        .shape(shape::unknown),
];
