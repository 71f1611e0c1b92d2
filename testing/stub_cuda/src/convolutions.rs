//! Convolutions of images with channels last and their gradients, on the host, as cuDNN describes them.

use crate::errors::{self, INVALID_VALUE, check};
use crate::numbers::{Bfloat, Half, Number};
use crate::objects::{CONTROLS, current, objects, run};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// `cudnnStatus_t`.
pub(crate) type Status = c_int;
pub(crate) const SUCCESS: Status = 0;
pub(crate) const NOT_INITIALIZED: Status = 1001;
pub(crate) const BAD_PARAM: Status = 2000;
pub(crate) const NOT_SUPPORTED: Status = 3000;
pub(crate) const EXECUTION_FAILED: Status = 5000;

/// `CUDNN_ACTIVATION_RELU` and `CUDNN_ACTIVATION_IDENTITY`.
pub(crate) const RELU: c_int = 1;
pub(crate) const IDENTITY: c_int = 5;
/// `CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM`, the one algorithm for a bias without an activation.
pub(crate) const PRECOMPUTED: c_int = 1;

/// Algorithms by their number, bytes of workspace and determinism, the fastest first. The first one of outputs needs more memory than any GPU has.
pub(crate) const OUTPUT: &[(c_int, usize, c_int)] = &[(6, 1 << 40, 1), (0, 0, 1), (PRECOMPUTED, 64, 1)];
pub(crate) const GRADIENTS: &[(c_int, usize, c_int)] = &[(0, 0, 0), (1, 128, 1)];

/// A description of any kind. Tensors and filters have four sizes: images or output channels, channels, rows, columns.
#[derive(Clone, Copy, Default)]
pub(crate) struct Description {
    pub(crate) dtype: c_int,
    pub(crate) sizes: [usize; 4],
    pub(crate) pads: [usize; 2],
    pub(crate) strides: [usize; 2],
    pub(crate) dilations: [usize; 2],
    pub(crate) groups: usize,
    pub(crate) activation: c_int,
}

impl Description {
    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    fn bytes(&self) -> usize {
        self.len() * if self.dtype == 0 { 4 } else { 2 }
    }

    /// Returns the number of the element at these places, where channels are last.
    fn at(&self, [n, c, y, x]: [usize; 4]) -> usize {
        let [_, channels, rows, columns] = self.sizes;
        ((n * rows + y) * columns + x) * channels + c
    }
}

/// The shapes of a convolution: those of the input, the filter and the output, and the windows.
#[derive(Clone, Copy)]
pub(crate) struct Shapes {
    pub(crate) x: Description,
    pub(crate) w: Description,
    pub(crate) y: Description,
    pub(crate) window: Description,
}

impl Shapes {
    /// Returns the shapes, or the status for those that do not fit each other.
    pub(crate) fn new([x, w, y, window]: [Description; 4]) -> Result<Shapes, Status> {
        let ([n, channels, rows, columns], [k, depth, height, width]) = (x.sizes, w.sizes);
        let extent = |i: usize, input: usize, size: usize| {
            let reach = (size - 1) * window.dilations[i] + 1;
            (input + 2 * window.pads[i]).checked_sub(reach).map(|rest| rest / window.strides[i] + 1)
        };
        let output = (extent(0, rows, height), extent(1, columns, width));
        let groups = window.groups;
        let fits = output == (Some(y.sizes[2]), Some(y.sizes[3])) && y.sizes[..2] == [n, k];
        if !fits || channels != depth * groups || !k.is_multiple_of(groups) || [w.dtype, y.dtype] != [x.dtype; 2] {
            return Err(BAD_PARAM);
        }
        if ![0, 2, 9].contains(&x.dtype) {
            return Err(NOT_SUPPORTED);
        }
        Ok(Shapes { x, w, y, window })
    }

    /// Calls `f` with the numbers of each input, filter and output element that are multiplied and added, in order.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        let ([n, k, out_rows, out_columns], [_, depth, height, width]) = (self.y.sizes, self.w.sizes);
        let per_group = k / self.window.groups;
        let place = |i: usize, at: usize, tap: usize| {
            let place = (at * self.window.strides[i] + tap * self.window.dilations[i]).checked_sub(self.window.pads[i])?;
            (place < self.x.sizes[2 + i]).then_some(place)
        };
        for image in 0..n {
            for (y, x) in (0..out_rows).flat_map(|y| (0..out_columns).map(move |x| (y, x))) {
                for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
                    let (Some(row), Some(column)) = (place(0, y, i), place(1, x, j)) else { continue };
                    for channel in 0..k {
                        for d in 0..depth {
                            let from = self.x.at([image, channel / per_group * depth + d, row, column]);
                            f(from, self.w.at([channel, d, i, j]), self.y.at([image, channel, y, x]));
                        }
                    }
                }
            }
        }
    }
}

/// The tensor that a convolution writes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Written {
    Input,
    Filter,
    Output,
}

/// A convolution that is enqueued: its algorithm, the addresses of the input, the filter and the output, the workspace, and the bias with its activation.
pub(crate) struct Call {
    pub(crate) shapes: Shapes,
    pub(crate) written: Written,
    pub(crate) algorithm: c_int,
    pub(crate) addresses: [u64; 3],
    pub(crate) workspace: (u64, usize),
    pub(crate) bias: Option<(u64, c_int)>,
}

impl Call {
    /// Enqueues the convolution on a stream.
    pub(crate) fn enqueue(self, stream: usize) -> Status {
        if CONTROLS.fails_convolutions.load(Ordering::SeqCst) {
            return EXECUTION_FAILED;
        }
        let all = if self.written == Written::Output { OUTPUT } else { GRADIENTS };
        let Some(&(number, memory, determinism)) = all.iter().find(|(number, ..)| *number == self.algorithm) else { return BAD_PARAM };
        if self.workspace.1 < memory {
            return BAD_PARAM;
        }
        if self.bias.is_some_and(|(_, mode)| mode == IDENTITY && number != PRECOMPUTED) {
            return NOT_SUPPORTED;
        }
        let enqueued = match self.shapes.x.dtype {
            0 => self.run::<f32>(stream, memory),
            2 => self.run::<Half>(stream, memory),
            _ => self.run::<Bfloat>(stream, memory),
        };
        if enqueued.is_err() {
            return BAD_PARAM;
        }
        CONTROLS.convolutions.fetch_add(1, Ordering::SeqCst);
        CONTROLS.unordered_convolutions.fetch_add(u64::from(determinism == 0), Ordering::SeqCst);
        SUCCESS
    }

    fn run<T: Number>(self, stream: usize, memory: usize) -> Result<(), errors::Code> {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        let Shapes { x, w, y, .. } = self.shapes;
        let has = |start: u64, bytes: usize| objects.is_memory(start, bytes, device);
        check([x, w, y].iter().zip(self.addresses).all(|(of, start)| has(start, of.bytes())), INVALID_VALUE)?;
        check(memory == 0 || has(self.workspace.0, memory), INVALID_VALUE)?;
        check(self.bias.is_none_or(|(start, _)| has(start, y.sizes[1] * size_of::<T>())), INVALID_VALUE)?;
        drop(objects);
        let work = run(controls, move || {
            // SAFETY: the ranges were checked, and stay allocated until the work is done.
            unsafe { self.compute::<T>(memory) };
            Ok(())
        });
        stream.enqueue(work)
    }

    /// Computes the convolution in `f32`.
    ///
    /// # Safety
    /// The addresses must be of memory with the sizes of the shapes.
    unsafe fn compute<T: Number>(&self, memory: usize) {
        let Shapes { x, w, y, .. } = self.shapes;
        // SAFETY: as the function requires.
        let read = |start: u64, i: usize| unsafe { (*(start as *const T).add(i)).value() };
        let [at_x, at_w, at_y] = self.addresses;
        // SAFETY: as the function requires.
        unsafe { std::ptr::write_bytes(self.workspace.0 as *mut u8, 0xff, memory) };
        let (to, of) = match self.written {
            Written::Input => (at_x, x),
            Written::Filter => (at_w, w),
            Written::Output => (at_y, y),
        };
        let mut sums = vec![0f32; of.len()];
        self.shapes.each(|i, f, o| match self.written {
            Written::Input => sums[i] += read(at_w, f) * read(at_y, o),
            Written::Filter => sums[f] += read(at_x, i) * read(at_y, o),
            Written::Output => sums[o] += read(at_x, i) * read(at_w, f),
        });
        for (i, sum) in sums.into_iter().enumerate() {
            let value = match self.bias {
                None => sum,
                Some((bias, mode)) => {
                    let value = sum + read(bias, i % y.sizes[1]);
                    if mode == RELU { value.max(0.0) } else { value }
                }
            };
            // SAFETY: as the function requires.
            unsafe { *(to as *mut T).add(i) = T::of(value) };
        }
    }
}
