//! Copies of tensors between a GPU, the host and other GPUs.

use super::GpuDevice;
use crate::backend::Stream;
use flowmill_runtime::{CopyDone, Device};
use flowmill_tensor::{Result, Tensor};

/// Copies of at most this many bytes are made on the compute stream, without events between streams.
const SMALL_COPY: usize = 64 << 10;

impl GpuDevice {
    /// Copies a tensor of the host to the GPU.
    pub(crate) fn upload(&self, tensor: &Tensor) -> Result<Tensor> {
        let on_device = self.allocate(tensor.dtype(), tensor.shape())?;
        let bytes = tensor.as_bytes()?;
        if bytes.is_empty() {
            return Ok(on_device);
        }
        let (buffer, to) = (self.staging.take(bytes.len())?, self.address(&on_device)?);
        // SAFETY: the buffer has room for the bytes, and nobody else uses it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.as_ptr(), bytes.len()) };
        let stream = if bytes.len() <= SMALL_COPY { Stream::Compute } else { Stream::Upload };
        if stream != Stream::Compute {
            // The memory may have had another owner, whose work is still in the compute stream.
            self.gpu.wait_in(stream, &self.gpu.record(Stream::Compute)?)?;
        }
        // SAFETY: the buffer and the tensor are kept until the event.
        unsafe { self.gpu.upload(to, buffer.as_ptr(), bytes.len(), stream)? };
        let end = self.gpu.record(stream)?;
        if stream != Stream::Compute {
            self.gpu.wait_in(Stream::Compute, &end)?;
        }
        let target = on_device.clone();
        self.when_reached(end, move |_| drop((buffer, target)));
        Ok(on_device)
    }

    /// Copies a tensor of the GPU to the host.
    pub(super) fn download(&self, tensor: Tensor, done: CopyDone) {
        let (dtype, shape) = (tensor.dtype(), tensor.shape().clone());
        let bytes = tensor.num_bytes();
        if bytes == 0 {
            return done(Tensor::zeros(dtype, shape));
        }
        let enqueue = || -> Result<_> {
            let (buffer, from) = (self.staging.take(bytes)?, self.address(&tensor)?);
            let stream = if bytes <= SMALL_COPY { Stream::Compute } else { Stream::Download };
            if stream != Stream::Compute {
                self.gpu.wait_in(stream, &self.gpu.record(Stream::Compute)?)?;
            }
            // SAFETY: the buffer and the tensor are kept until the event, and nobody reads the buffer before.
            unsafe { self.gpu.download(buffer.as_ptr(), from, bytes, stream)? };
            Ok((self.gpu.record(stream)?, buffer))
        };
        match enqueue() {
            Ok((end, buffer)) => self.when_reached(end, move |ended| {
                let copied = ended.and_then(|()| {
                    // SAFETY: the copy has ended, and wrote this many bytes.
                    let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr(), bytes) };
                    Tensor::copy_from_bytes(dtype, shape, bytes)
                });
                drop((buffer, tensor));
                done(copied);
            }),
            Err(e) => done(Err(e)),
        }
    }

    /// Copies a tensor to another GPU, over the link between the two or through page-locked memory of the host. Nobody waits for the copy: later work of
    /// the other GPU's compute stream sees the elements.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the other memory is full, and the driver's errors.
    pub(super) fn send(&self, tensor: &Tensor, other: &GpuDevice) -> Result<Tensor> {
        let copy = other.allocate(tensor.dtype(), tensor.shape())?;
        let bytes = tensor.num_bytes();
        if bytes == 0 {
            return Ok(copy);
        }
        let (from, to) = (self.address(tensor)?, other.address(&copy)?);
        let is_written = self.gpu.record(Stream::Compute)?;
        // The memory may have had another owner, whose work is still in the other compute stream.
        let is_unused = other.gpu.record(Stream::Compute)?;
        let is_direct = self.options.peer_copies && self.gpu.can_copy_to(&other.gpu);
        let (end, buffer) = if is_direct {
            self.gpu.wait_in(Stream::Peer, &is_written)?;
            self.gpu.wait_in(Stream::Peer, &is_unused)?;
            self.gpu.copy_to_peer(&other.gpu, to, from, bytes)?;
            (self.gpu.record(Stream::Peer)?, None)
        } else {
            let buffer = self.staging.take(bytes)?;
            self.gpu.wait_in(Stream::Download, &is_written)?;
            // SAFETY: the buffer and both tensors are kept until the event, and nobody else uses the buffer.
            unsafe { self.gpu.download(buffer.as_ptr(), from, bytes, Stream::Download)? };
            let is_staged = self.gpu.record(Stream::Download)?;
            other.gpu.wait_in(Stream::Upload, &is_staged)?;
            other.gpu.wait_in(Stream::Upload, &is_unused)?;
            // SAFETY: as above.
            unsafe { other.gpu.upload(to, buffer.as_ptr(), bytes, Stream::Upload)? };
            (other.gpu.record(Stream::Upload)?, Some(buffer))
        };
        other.gpu.wait_in(Stream::Compute, &end)?;
        let kept = (tensor.clone(), copy.clone(), buffer);
        // The other GPU's work waits for the copy anyway, and callbacks of this GPU do not.
        other.when_reached(end, move |_| drop(kept));
        Ok(copy)
    }
}
