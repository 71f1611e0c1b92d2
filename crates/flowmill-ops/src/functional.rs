//! Ops that call functions: branches, loops, calls, and how arguments reach a function's body.

use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Role;

pub(crate) const OPS: &[Op] = &[
    op("If", "(cond: Tcond, input: Tin) -> (output: Tout)")
        .costly()
        .role(Role::If)
        .attrs(
            "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; else_branch: func;
                output_shapes: list(shape) = []",
        )
        .stateful()
        .shape(shape::branch),
    op("StatelessIf", "(cond: Tcond, input: Tin) -> (output: Tout)")
        .costly()
        .role(Role::If)
        .attrs(
            "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; else_branch: func;
                output_shapes: list(shape) = []",
        )
        .shape(shape::branch),
    op("While", "(input: T) -> (output: T)")
        .costly()
        .role(Role::While)
        .attrs("T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; parallel_iterations: int = 10")
        .stateful()
        .shape(shape::while_loop),
    op("StatelessWhile", "(input: T) -> (output: T)")
        .costly()
        .role(Role::While)
        .attrs("T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; parallel_iterations: int = 10")
        .shape(shape::while_loop),
    op("_If", "(cond: Tcond, input: Tin) -> (output: Tout)")
        .costly()
        .role(Role::If)
        .attrs("Tcond: type; Tin: list(type) >= 1; Tout: list(type) >= 1; then_branch: func; else_branch: func")
        .stateful()
        .shape(shape::unknown),
    op("_While", "(input: T) -> (output: T)")
        .costly()
        .role(Role::While)
        .attrs("T: list(type) >= 0; cond: func; body: func")
        .stateful()
        .shape(shape::unchanged_each),
    op("Case", "(branch_index: int32, input: Tin) -> (output: Tout)")
        .costly()
        .role(Role::Case)
        .attrs("Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []")
        .stateful()
        .shape(shape::branch),
    op("StatelessCase", "(branch_index: int32, input: Tin) -> (output: Tout)")
        .costly()
        .role(Role::Case)
        .attrs("Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: list(shape) = []")
        .shape(shape::branch),
    op("PartitionedCall", "(args: Tin) -> (output: Tout)")
        .costly()
        .role(Role::Call)
        .attrs(
            "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; config_proto: string = '';
                executor_type: string = ''",
        )
        .shape(shape::unknown),
    op("StatefulPartitionedCall", "(args: Tin) -> (output: Tout)")
        .costly()
        .role(Role::Call)
        .attrs(
            "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; config_proto: string = '';
                executor_type: string = ''",
        )
        .stateful()
        .shape(shape::unknown),
    op("SymbolicGradient", "(input: Tin) -> (output: Tout)")
        .costly()
        .role(Role::SymbolicGradient)
        .attrs("Tin: list(type) >= 1; Tout: list(type) >= 1; f: func")
        .shape(shape::symbolic_gradient),
    op("_Arg", "() -> (output: T)").role(Role::Arg).attrs("T: type; index: int >= 0").stateful().shape(shape::arg),
    op("_Retval", "(input: T)").role(Role::Retval).attrs("T: type; index: int >= 0").stateful().shape(shape::unknown),
    op("_ListToArray", "(input: Tin) -> (output: N * T)").attrs("Tin: list(type) >= 1; T: type; N: int >= 1").shape(shape::unknown),
    op("_ArrayToList", "(input: N * T) -> (output: out_types)")
        .attrs("T: type; N: int >= 1; out_types: list(type) >= 1")
        .shape(shape::unknown),
    op("For", "(start: int32, limit: int32, delta: int32, input: T) -> (output: T)")
        .costly()
        .role(Role::For)
        .attrs("T: list(type) >= 0; body: func")
        .shape(shape::unknown),
];
