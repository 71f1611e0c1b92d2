//! The choice between the methods of a convolution.

use crate::gemm::Precision;
use flowmill_numeric::conv::{ConvLayer, ConvTrial, Method, MethodEstimate, TileSize};
use flowmill_numeric::window::Window;
use flowmill_runtime::tuning::{ChoiceSource, Tuner, TuningCandidate};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A convolution, without the size of the batch: an image's result must not depend on the images beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// The window over one image.
    window: Window,
    out_channels: usize,
    groups: usize,
}

impl Shape {
    fn of(window: &Window, out_channels: usize, groups: usize) -> Shape {
        Shape { window: Window { batch: 1, ..*window }, out_channels, groups }
    }
}

/// A method and the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChosenMethod {
    method: Method,
    source: ChoiceSource,
}

/// Chooses the methods of a kernel's convolutions.
pub(super) struct MethodChooser {
    tuner: Arc<Tuner>,
    precision: Precision,
    /// The choice for the images that the kernel is made for, or that it got first, which costs no look-up.
    first: OnceLock<(Shape, ChosenMethod)>,
}

impl MethodChooser {
    pub(super) fn new(tuner: &Arc<Tuner>, precision: Precision) -> MethodChooser {
        MethodChooser { tuner: tuner.clone(), precision, first: OnceLock::new() }
    }

    /// Chooses the method for convolutions over `window` before the first step. Whoever makes the plan saves what is measured, once for all its kernels.
    pub(super) fn prepare(&self, window: &Window, out_channels: usize, groups: usize) {
        let shape = Shape::of(window, out_channels, groups);
        self.first.get_or_init(|| (shape, self.look_up(&shape)));
    }

    /// Returns the method for convolutions over `window`, which is the same in each call.
    pub(super) fn choose(&self, window: &Window, out_channels: usize, groups: usize) -> Method {
        let shape = Shape::of(window, out_channels, groups);
        let look_up = || {
            let chosen = self.look_up(&shape);
            self.tuner.save();
            chosen
        };
        let (first, chosen) = self.first.get_or_init(|| (shape, look_up()));
        if *first == shape { chosen.method } else { look_up().method }
    }

    /// Returns the reason for a method that the kernel used last.
    pub(super) fn source(&self, method: Method) -> ChoiceSource {
        let first = self.first.get().filter(|(_, chosen)| chosen.method == method);
        first.map_or(ChoiceSource::Estimated, |(_, chosen)| chosen.source)
    }

    fn look_up(&self, shape: &Shape) -> ChosenMethod {
        let &Shape { window, out_channels, groups } = shape;
        let estimated =
            ChosenMethod { method: Method::estimated(self.precision, &window, out_channels, groups), source: ChoiceSource::Estimated };
        if self.tuner.is_off() {
            return estimated;
        }
        let Some(layer) = ConvLayer::new(self.precision, &window, out_channels, groups) else { return estimated };
        let estimates = layer.candidates();
        let candidates: Vec<_> = estimates.iter().map(|estimate| candidate(&layer, estimate)).collect();
        let choice = self.tuner.choose(&layer.to_string(), &candidates, |i| {
            let mut trial = ConvTrial::new(&layer, estimates[i].method);
            Box::new(move || trial.run())
        });
        estimates.get(choice.candidate).map_or(estimated, |e| ChosenMethod { method: e.method, source: choice.source })
    }
}

fn candidate(layer: &ConvLayer, estimate: &MethodEstimate) -> TuningCandidate {
    let duration = |nanoseconds: f64| Duration::from_nanos(nanoseconds as u64);
    let (preparation, run) = ConvTrial::estimate(layer, estimate);
    TuningCandidate {
        name: estimate.method.name(),
        per_step: duration(estimate.nanoseconds),
        preparation: duration(preparation),
        run: duration(run),
    }
}

/// Returns the name of a way to compute, with the reason for it if it was measured.
pub(super) fn algorithm(name: &'static str, method: Method, source: ChoiceSource) -> &'static str {
    match (source, method) {
        (ChoiceSource::Estimated, _) => name,
        (ChoiceSource::Measured, Method::Direct) => "product measured",
        (ChoiceSource::Measured, Method::Tiles(TileSize::Two)) => "Winograd F(2x2) measured",
        (ChoiceSource::Measured, Method::Tiles(TileSize::Four)) => "Winograd F(4x4) measured",
        (ChoiceSource::Measured, Method::Narrow) => "dot products measured",
        (ChoiceSource::Measured, Method::Planes) => "planes measured",
        (ChoiceSource::Measured, Method::Groups) => "patches in place measured",
    }
}
