//! `While` and `For`: loops whose bodies are functions.

use super::{function, to_bool};
use flowmill_runtime::{AsyncContext, AsyncKernel, Caller, FunctionHandle, Kernel, KernelContext, KernelInit, Pace};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::marker::PhantomData;
use std::sync::Arc;

/// The state of one kind of loop, which determines the next call.
trait Iterations: Send + Sized + 'static {
    /// The functions that the loop calls.
    type Functions: Clone + Send + Sync + 'static;

    /// Returns the first state of a loop with these inputs.
    fn new(functions: &Self::Functions, inputs: Vec<Tensor>) -> Result<Self>;

    /// Returns the function to call next, with its arguments, after the last one returned `results`; `None` at the end of the loop.
    fn next(&mut self, results: Option<Vec<Tensor>>) -> Result<Option<(FunctionHandle, Vec<Tensor>)>>;

    /// Returns true if [`Iterations::next`] reads the elements of the results that it takes next. They must be in the host's memory then.
    fn reads_results(&self) -> bool {
        false
    }

    /// Returns the loop variables at the end of the loop.
    fn into_variables(self) -> Vec<Tensor>;
}

/// The kernel of a loop.
struct Loop<I: Iterations> {
    functions: I::Functions,
    num_outputs: usize,
    kind: PhantomData<fn() -> I>,
}

impl<I: Iterations> Loop<I> {
    fn make(init: &KernelInit<'_>, functions: I::Functions) -> Arc<dyn Kernel> {
        Arc::new(Loop::<I> { functions, num_outputs: init.output_types.len(), kind: PhantomData })
    }
}

impl<I: Iterations> Kernel for Loop<I> {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "loops are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl<I: Iterations> AsyncKernel for Loop<I> {
    fn start(&self, mut ctx: AsyncContext) {
        match I::new(&self.functions, ctx.take_inputs(0)) {
            Ok(iterations) => {
                let caller = ctx.caller().clone();
                Running { iterations, ctx, caller, pace: Pace::new(), num_outputs: self.num_outputs }.go_on(None);
            }
            Err(e) => ctx.done(Err(e)),
        }
    }
}

/// One call of a loop.
struct Running<I> {
    iterations: I,
    ctx: AsyncContext,
    caller: Caller,
    pace: Pace,
    num_outputs: usize,
}

impl<I: Iterations> Running<I> {
    /// Continues after the last function returned `results`, on this thread as long as no function has to wait. A loop that has occupied its thread
    /// for some time lets other nodes run in between, because the loop may be waiting for them.
    fn go_on(mut self, mut results: Option<Result<Vec<Tensor>>>) {
        loop {
            if self.iterations.reads_results()
                && let Some(Ok(given)) = &mut results
                && let Some(there) = given.pop_if(|result| !result.is_on_host())
            {
                return self.go_on_with_copy(std::mem::take(given), there);
            }
            let turn = self.pace.tick(self.caller.step());
            let next = match (turn, results.take().transpose()) {
                (Err(e), _) | (_, Err(e)) => Err(e),
                (Ok(true), Ok(given)) if self.caller.has_others() => {
                    let caller = self.caller.clone();
                    return caller.yield_now(move || self.go_on_at_once(given));
                }
                (Ok(_), Ok(given)) => self.iterations.next(given),
            };
            match self.step(next) {
                Some((running, given)) => (self, results) = (running, Some(given)),
                None => return,
            }
        }
    }

    /// Continues when the last one of the results, which is in the memory of a device, is in the host's memory.
    fn go_on_with_copy(self, mut results: Vec<Tensor>, last: Tensor) {
        let caller = self.caller.clone();
        let copied = move |copied: Result<Tensor>| {
            let results = copied.map(|last| {
                results.push(last);
                results
            });
            // The device calls back on a thread of its own, which runs no nodes.
            let caller = self.caller.clone();
            caller.yield_now(move || self.go_on(Some(results)));
        };
        caller.device_step().device.copy_to_host(last, Box::new(copied));
    }

    /// Continues without a check of the elapsed time.
    fn go_on_at_once(mut self, given: Option<Vec<Tensor>>) {
        let next = self.iterations.next(given);
        if let Some((running, given)) = self.step(next) {
            running.go_on(Some(given));
        }
    }

    /// Calls the next function, or ends the loop. Returns the function's results if they are available now.
    fn step(self, next: Result<Option<(FunctionHandle, Vec<Tensor>)>>) -> Option<(Running<I>, Result<Vec<Tensor>>)> {
        let (function, args) = match next {
            Ok(Some(call)) => call,
            Ok(None) => {
                self.ctx.end_with_results(Ok(self.iterations.into_variables()), self.num_outputs);
                return None;
            }
            Err(e) => {
                self.ctx.done(Err(e));
                return None;
            }
        };
        match function.try_call(args, &self.caller) {
            Ok(results) => Some((self, results)),
            Err(args) => {
                let caller = self.caller.clone();
                function.start(args, &caller, move |results| self.go_on(Some(results)));
                None
            }
        }
    }
}

/// The kernel of `While`, which calls `body` on the loop variables as long as `cond` returns true for them. The body owns its arguments, so that it
/// can update them in place.
struct While {
    functions: [FunctionHandle; 2],
    variables: Vec<Tensor>,
    count: usize,
    /// True if the next results are those of `cond`.
    decides: bool,
}

impl While {
    fn condition(&mut self) -> (FunctionHandle, Vec<Tensor>) {
        self.decides = true;
        (self.functions[0].clone(), self.variables.clone())
    }
}

impl Iterations for While {
    type Functions = [FunctionHandle; 2];

    fn new(functions: &Self::Functions, variables: Vec<Tensor>) -> Result<While> {
        Ok(While { functions: functions.clone(), count: variables.len(), variables, decides: false })
    }

    fn next(&mut self, results: Option<Vec<Tensor>>) -> Result<Option<(FunctionHandle, Vec<Tensor>)>> {
        match results {
            None => {}
            Some(results) if self.decides => {
                let [condition] = &results[..] else {
                    bail!(InvalidArgument, "Expected a single scalar return value from WhileOp cond, got {} tensors.", results.len());
                };
                if !to_bool(condition)? {
                    return Ok(None);
                }
                self.decides = false;
                return Ok(Some((self.functions[1].clone(), std::mem::take(&mut self.variables))));
            }
            Some(results) if results.len() == self.count => self.variables = results,
            Some(results) => {
                bail!(InvalidArgument, "While loop body returned {} arguments. Expected: {}.", results.len(), self.count)
            }
        }
        Ok(Some(self.condition()))
    }

    fn reads_results(&self) -> bool {
        self.decides
    }

    fn into_variables(self) -> Vec<Tensor> {
        self.variables
    }
}

pub(super) fn make_while(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    Ok(Loop::<While>::make(init, [function(init, "cond")?, function(init, "body")?]))
}

/// The kernel of `For`, which calls `body(i, variables)` for `i` from `start` to `limit` (exclusive) in steps of `delta`.
struct For {
    body: FunctionHandle,
    i: i64,
    limit: i64,
    delta: i64,
    variables: Vec<Tensor>,
    count: usize,
}

impl Iterations for For {
    type Functions = FunctionHandle;

    fn new(body: &FunctionHandle, mut inputs: Vec<Tensor>) -> Result<For> {
        let variables = inputs.split_off(inputs.len().min(3));
        let mut bounds = [0i32; 3];
        for (i, (bound, name)) in bounds.iter_mut().zip(["start", "limit", "delta"]).enumerate() {
            match inputs.get(i) {
                Some(tensor) => match tensor.scalar_bits(DType::I32) {
                    Some(bits) => *bound = bits as u32 as i32,
                    None => bail!(InvalidArgument, "{name} must be a scalar, but {}", tensor.shape()),
                },
                None => bail!(Internal, "Missing input {i}"),
            }
        }
        let [start, limit, delta] = bounds;
        if !((delta > 0 && start <= limit) || (delta < 0 && start >= limit) || start == limit) {
            bail!(InvalidArgument, "Invalid start/limit/delta: {start} {limit} {delta}");
        }
        let [i, limit, delta] = bounds.map(i64::from);
        Ok(For { body: body.clone(), i, limit, delta, count: variables.len(), variables })
    }

    fn next(&mut self, results: Option<Vec<Tensor>>) -> Result<Option<(FunctionHandle, Vec<Tensor>)>> {
        if let Some(results) = results {
            if results.len() != self.count {
                bail!(InvalidArgument, "For loop body returned {} arguments. Expected: {}.", results.len(), self.count);
            }
            self.variables = results;
        }
        let is_inside = if self.delta > 0 { self.i < self.limit } else { self.i > self.limit };
        if !is_inside {
            return Ok(None);
        }
        let mut args = Vec::with_capacity(self.count + 1);
        // The number fits, because it is between `start` and `limit`, which are `i32`.
        args.push(Tensor::scalar(self.i as i32));
        args.append(&mut self.variables);
        self.i += self.delta;
        Ok(Some((self.body.clone(), args)))
    }

    fn into_variables(self) -> Vec<Tensor> {
        self.variables
    }
}

pub(super) fn make_for(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    Ok(Loop::<For>::make(init, function(init, "body")?))
}
