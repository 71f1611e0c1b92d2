use crate::testing::Call;
use flowmill_runtime::{AsyncContext, DeviceStep, FunctionLibraryRuntime};
use flowmill_tensor::{Code, Result, Tensor, bail, error};
use std::sync::{Arc, mpsc};

type Outputs = Result<Vec<Option<Tensor>>>;

fn step() -> Arc<DeviceStep> {
    let functions = FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined."));
    Arc::new(DeviceStep::on_host(Arc::default(), Arc::new(functions)))
}

fn receive(step: &Arc<DeviceStep>) -> mpsc::Receiver<Outputs> {
    let call =
        Call::new("_Recv").attr("tensor_name", "t").attr("send_device", "a").attr("recv_device", "b").attr("send_device_incarnation", 1i64);
    let kernel = call.kernel().unwrap();
    let (sender, receiver) = mpsc::channel();
    kernel.as_async().unwrap().start(AsyncContext::new(Vec::new(), step.clone(), Box::new(move |result| sender.send(result).unwrap())));
    receiver
}

#[test]
fn a_receive_waits_for_its_send() {
    let step = step();
    let receiver = receive(&step);
    assert!(receiver.try_recv().is_err());
    step.step.rendezvous.send(&"a;0000000000000001;b;t".into(), Some(Tensor::scalar(3f32))).unwrap();
    let out = receiver.try_recv().unwrap().unwrap();
    assert_eq!(out[0].as_ref().unwrap().to_scalar::<f32>().unwrap(), 3.0);
}

#[test]
fn a_receive_ends_with_its_step() {
    let step = step();
    let receiver = receive(&step);
    step.step.cancel.cancel(error!(DeadlineExceeded, "late"));
    let e = receiver.try_recv().unwrap().unwrap_err();
    assert!(e.code() == Code::DeadlineExceeded && e.is_derived());
    assert_eq!(receive(&step).try_recv().unwrap().unwrap_err().code(), Code::DeadlineExceeded);
    assert!(step.step.rendezvous.send(&"a;0000000000000001;b;t".into(), None).is_ok());
}
