//! The columns of a profile.

/// The statistics of a node or of several. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) definitions: u64,
    pub(crate) runs: u64,
    pub(crate) nanos: u64,
    pub(crate) accelerator_nanos: u64,
    pub(crate) cpu_nanos: u64,
    pub(crate) requested_bytes: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) residual_bytes: u64,
    pub(crate) output_bytes: u64,
    pub(crate) parameters: u64,
    pub(crate) float_ops: u64,
}

impl Stats {
    fn fields(&mut self) -> [&mut u64; 11] {
        let Stats { definitions, runs, nanos, accelerator_nanos, cpu_nanos, .. } = self;
        let Stats { requested_bytes, peak_bytes, residual_bytes, output_bytes, parameters, float_ops, .. } = self;
        [
            definitions,
            runs,
            nanos,
            accelerator_nanos,
            cpu_nanos,
            requested_bytes,
            peak_bytes,
            residual_bytes,
            output_bytes,
            parameters,
            float_ops,
        ]
    }

    pub(crate) fn add(&mut self, mut other: Stats) {
        for (sum, value) in self.fields().into_iter().zip(other.fields()) {
            *sum = sum.saturating_add(*value);
        }
    }

    /// Returns the mean of the statistics of several steps: what depends on firings is divided.
    pub(crate) fn mean(mut self, steps: u64) -> Stats {
        let kept = (self.definitions, self.parameters);
        self.fields().into_iter().for_each(|value| *value /= steps.max(1));
        (self.definitions, self.parameters) = kept;
        self
    }
}
