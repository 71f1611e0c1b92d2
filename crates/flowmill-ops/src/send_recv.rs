//! Tensors that move between devices.

use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Role;

pub(crate) const OPS: &[Op] = &[
    op("_Send", "(tensor: T)")
        .role(Role::Send)
        .attrs(
            "T: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false",
        )
        .stateful()
        .shape(shape::unknown),
    op("_Recv", "() -> (tensor: tensor_type)")
        .leaves_outputs_dead()
        .role(Role::Recv)
        .attrs(
            "tensor_type: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false",
        )
        .stateful()
        .shape(shape::unknown),
    op("_HostSend", "(tensor: T)")
        .role(Role::Send)
        .attrs(
            "T: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false",
        )
        .stateful()
        .shape(shape::unknown),
    op("_HostRecv", "() -> (tensor: tensor_type)")
        .leaves_outputs_dead()
        .role(Role::Recv)
        .attrs(
            "tensor_type: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false",
        )
        .stateful()
        .shape(shape::unknown),
];
