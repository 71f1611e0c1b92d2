//! Frames, branches, and ops that only order others.

use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Role;

pub(crate) const OPS: &[Op] = &[
    op("Switch", "(data: T, pred: bool) -> (output_false: T, output_true: T)")
        .leaves_outputs_dead()
        .role(Role::Switch)
        .attrs("T: type")
        .shape(shape::switch),
    op("_SwitchN", "(data: T, output_index: int32) -> (outputs: num_outs * T)")
        .leaves_outputs_dead()
        .role(Role::Switch)
        .attrs("num_outs: int >= 1; T: type")
        .shape(shape::switch),
    op("Merge", "(inputs: N * T) -> (output: T, value_index: int32)").role(Role::Merge).attrs("T: type; N: int >= 1").shape(shape::merge),
    op("Enter", "(data: T) -> (output: T)")
        .role(Role::Enter)
        .attrs("T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10")
        .shape(shape::enter),
    op("Exit", "(data: T) -> (output: T)").role(Role::Exit).attrs("T: type").shape(shape::unchanged),
    op("NextIteration", "(data: T) -> (output: T)").role(Role::NextIteration).attrs("T: type").shape(shape::unchanged),
    op("ToBool", "(input: T) -> (output: bool)").attrs("T: type").shape(shape::scalars),
    op("LoopCond", "(input: bool) -> (output: bool)").passes_on().role(Role::LoopCond).shape(shape::loop_cond),
    op("RefSwitch", "(data: Ref(T), pred: bool) -> (output_false: Ref(T), output_true: Ref(T))")
        .leaves_outputs_dead()
        .role(Role::Switch)
        .attrs("T: type")
        .allows_uninitialized_input()
        .shape(shape::switch),
    op("RefMerge", "(inputs: N * Ref(T)) -> (output: Ref(T), value_index: int32)")
        .role(Role::Merge)
        .attrs("T: type; N: int >= 1")
        .shape(shape::merge),
    op("RefEnter", "(data: Ref(T)) -> (output: Ref(T))")
        .role(Role::Enter)
        .attrs("T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10")
        .shape(shape::unchanged),
    op("RefExit", "(data: Ref(T)) -> (output: Ref(T))").role(Role::Exit).attrs("T: type").shape(shape::unchanged),
    op("RefNextIteration", "(data: Ref(T)) -> (output: Ref(T))").role(Role::NextIteration).attrs("T: type").shape(shape::unchanged),
    op("NoOp", "()").role(Role::NoOp).not_differentiable().shape(shape::unknown),
    op("ControlTrigger", "()").role(Role::ControlTrigger).shape(shape::unknown),
    op("Abort", "()").attrs("error_msg: string = ''; exit_without_error: bool = false").shape(shape::unknown),
    op("Assert", "(condition: bool, data: T)")
        .not_differentiable()
        .attrs("T: list(type) >= 1; summarize: int = 3")
        .stateful()
        .shape(shape::unknown),
    op("RefSelect", "(index: int32, inputs: N * Ref(T)) -> (output: Ref(T))").attrs("T: type; N: int >= 1").shape(shape::ref_select),
];
