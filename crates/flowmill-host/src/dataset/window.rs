//! Windows of elements: `WindowDataset`, whose elements are datasets, and `SlidingWindowDataset`, whose elements are batches.

use super::args::{Call, dataset_kernel};
use super::batch::stack;
use super::element::{Dataset, Element, Elements, Signature, UNKNOWN, check_room, to_tensor};
use super::source::of_elements;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Error, Result, bail};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("WindowDataset", |init| dataset_kernel(init, window));
    for op in ["SlidingWindowDataset", "ExperimentalSlidingWindowDataset"] {
        registry.add(op, |init| {
            let drop_remainder = init.attrs.get_or("drop_remainder", true)?;
            dataset_kernel(init, move |call| sliding_window(call, drop_remainder))
        });
    }
}

/// The shape of windows. A window has `size` elements, `stride` apart; consecutive windows begin `shift` elements apart.
#[derive(Clone, Copy)]
struct Shape {
    size: usize,
    shift: usize,
    stride: usize,
    drop_remainder: bool,
}

impl Shape {
    fn new(size: i64, shift: i64, stride: i64, drop_remainder: bool) -> Result<Shape> {
        for (value, what) in [(size, "size"), (shift, "shift"), (stride, "stride")] {
            if value <= 0 {
                bail!(InvalidArgument, "Window {what} must be greater than zero.");
            }
        }
        Ok(Shape { size: size as usize, shift: shift as usize, stride: stride as usize, drop_remainder })
    }

    /// Returns the number of input elements from a window's first element to its last.
    fn extent(&self) -> usize {
        (self.size - 1).saturating_mul(self.stride).saturating_add(1)
    }

    fn num_windows(&self, cardinality: i64) -> i64 {
        let Ok(count) = usize::try_from(cardinality) else { return cardinality };
        let windows = match (count, self.drop_remainder) {
            (0, _) => 0,
            (count, false) => count.div_ceil(self.shift),
            (count, true) if count < self.extent() => 0,
            (count, true) => (count - self.extent()) / self.shift + 1,
        };
        i64::try_from(windows).unwrap_or(i64::MAX)
    }
}

/// An iterator over the windows of an iterator.
struct Windows {
    shape: Shape,
    elements: Elements,
    buffer: VecDeque<std::result::Result<Element, Error>>,
}

impl Windows {
    fn next(&mut self) -> Result<Option<Vec<Element>>> {
        let Shape { size, shift, stride, drop_remainder } = self.shape;
        while self.buffer.len() < self.shape.extent() {
            check_room(self.buffer.len())?;
            match self.elements.next() {
                Ok(None) => break,
                Ok(Some(element)) => self.buffer.push_back(Ok(element)),
                Err(e) => self.buffer.push_back(Err(e)),
            }
        }
        if self.buffer.is_empty() || (drop_remainder && self.buffer.len() < self.shape.extent()) {
            return Ok(None);
        }
        let window = self.buffer.iter().step_by(stride).take(size).cloned().collect::<Result<Vec<_>>>();
        let passed = shift.min(self.buffer.len());
        self.buffer.drain(..passed);
        for _ in passed..shift {
            if self.elements.has_ended() {
                break;
            }
            // Skip the elements between windows.
            drop(self.elements.next());
        }
        window.map(Some)
    }
}

/// Makes the dataset of `WindowDataset`. An element has one dataset per component, with the window's elements of that component.
fn window(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let shape = Shape::new(call.scalar("size")?, call.scalar("shift")?, call.scalar("stride")?, call.scalar("drop_remainder")?)?;
    let of_element = input.signature.clone();
    Ok(Dataset::over(&input, call.signature()?, shape.num_windows(input.cardinality), move |elements| {
        let mut windows = Windows { shape, elements, buffer: VecDeque::new() };
        let of_element = of_element.clone();
        Ok(Elements::new(move || {
            let Some(window) = windows.next()? else { return Ok(None) };
            let dataset = |c: usize| {
                let signature = Signature { types: vec![of_element.types[c]], shapes: vec![of_element.shapes[c].clone()] };
                let elements = window.iter().map(|element| element.get(c).cloned().into_iter().collect()).collect();
                to_tensor(Arc::new(of_elements(signature, elements)))
            };
            Ok(Some((0..of_element.types.len()).map(dataset).collect()))
        }))
    }))
}

fn sliding_window(call: &mut Call<'_, '_>, drop_remainder: bool) -> Result<Dataset> {
    let input = call.input()?;
    let shape = Shape::new(call.scalar("window_size")?, call.scalar("window_shift")?, call.scalar("window_stride")?, drop_remainder)?;
    Ok(Dataset::over(&input, call.signature()?, UNKNOWN, move |elements| {
        let mut windows = Windows { shape, elements, buffer: VecDeque::new() };
        Ok(Elements::new(move || windows.next()?.map(|window| stack(&window)).transpose()))
    }))
}
