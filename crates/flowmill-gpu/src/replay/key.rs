//! The shapes that a recording is for.

use crate::backend::Address;
use crate::device::GpuDevice;
use flowmill_runtime::KernelContext;
use flowmill_tensor::{SmallVec, Tensor};

/// The largest number of bytes of an input in the host's memory whose value is part of a key.
const MAX_HOST_BYTES: usize = 1024;

/// The shapes of the inputs of a call, and the values of those in the host's memory.
#[derive(PartialEq, Eq)]
pub(super) struct ShapeKey(SmallVec<[u64; 32]>);

/// The first word of each input in a key.
const ON_DEVICE: u64 = 0;
const ON_HOST: u64 = 1;

impl ShapeKey {
    /// Returns the key of a call, and the addresses of the inputs that are read in the device's memory. Returns `None` if an input is dead or is
    /// no tensor of the device or a small one of the host.
    pub(super) fn of(ctx: &KernelContext<'_>, device: &GpuDevice, reads_input: &[bool]) -> Option<(ShapeKey, Vec<Option<Address>>)> {
        let (mut words, mut addresses) = (SmallVec::new(), Vec::with_capacity(reads_input.len()));
        for (i, reads) in reads_input.iter().enumerate() {
            let tensor = ctx.input(i).ok()?;
            let mut address = None;
            if *reads {
                if tensor.is_on_host() {
                    push_host_tensor(&mut words, tensor)?;
                } else {
                    push_shape(&mut words, ON_DEVICE, tensor);
                    address = Some(device.address(tensor).ok()?);
                }
            }
            addresses.push(address);
        }
        Some((ShapeKey(words), addresses))
    }
}

fn push_shape(words: &mut SmallVec<[u64; 32]>, memory: u64, tensor: &Tensor) {
    words.extend([memory, tensor.rank() as u64]);
    words.extend(tensor.shape().dims().iter().map(|&dim| dim as u64));
}

/// Returns `None` for a tensor that is too large, or has no bytes.
fn push_host_tensor(words: &mut SmallVec<[u64; 32]>, tensor: &Tensor) -> Option<()> {
    if tensor.num_bytes() > MAX_HOST_BYTES {
        return None;
    }
    push_shape(words, ON_HOST, tensor);
    for chunk in tensor.as_bytes().ok()?.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        words.push(u64::from_ne_bytes(word));
    }
    Some(())
}
