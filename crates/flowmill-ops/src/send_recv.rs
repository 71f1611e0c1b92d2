//! Tensors that move between devices.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("_Send", "(tensor: T)")
        .attrs("T: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false")
        .stateful(),
    op("_Recv", "() -> (tensor: tensor_type)")
        .attrs("tensor_type: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false")
        .stateful(),
    op("_HostSend", "(tensor: T)")
        .attrs("T: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false")
        .stateful(),
    op("_HostRecv", "() -> (tensor: tensor_type)")
        .attrs("tensor_type: type; tensor_name: string; send_device: string; send_device_incarnation: int; recv_device: string;
                client_terminated: bool = false")
        .stateful(),
];
