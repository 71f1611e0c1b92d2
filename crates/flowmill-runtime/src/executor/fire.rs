//! Fires nodes and delivers their outputs.

use super::asynchronous::{self, Completed};
use super::block::{Iteration, IterationRef, Slot};
use super::protocol::Arrival;
use super::run::Item;
use super::stats::{Firing, InputStats, OutputStats};
use super::tables::{Delivery, EXPENSIVE, Edge, Kind, MAY_BE_DEAD, NONE, Node, PREPARE, Source};
use super::worker::Worker;
use crate::invoke::dereference;
use crate::kernel::KernelContext;
use crate::plan::PlanEdge;
use flowmill_tensor::{Error, Result, Tensor, error};
use std::time::Instant;

/// A return value in place of the number of items made ready: the fired item's reference must not be settled, because an asynchronous kernel holds it
/// or the step failed.
const UNSETTLED: u64 = u64::MAX;

impl Worker<'_> {
    /// Fires a node and settles the reference that its item held.
    ///
    /// # Safety
    /// The item holds a reference of its iteration, which is `self.iteration`. All inputs have arrived; at a Merge, those that decided it.
    #[inline]
    pub(super) unsafe fn fire(&mut self, item: Item) {
        let node = &self.tables.nodes[item.node as usize];
        self.current = item.node;
        let mut dead = item.is_dead();
        // SAFETY: here and below, passed on to the caller.
        unsafe {
            if node.flags & PREPARE != 0 && !dead {
                match self.prepare(node, item.iteration) {
                    Ok(live) => dead = !live,
                    Err(e) => return self.fail(item.node, e),
                }
            }
            let ready = if dead { self.fire_dead(node, item) } else { self.fire_live(node, item) };
            if ready != UNSETTLED {
                self.settle_current(ready);
            }
        }
    }

    /// Fires a live node. Returns the number of items that it made ready.
    #[inline]
    unsafe fn fire_live(&mut self, node: &Node, item: Item) -> u64 {
        let iteration = item.iteration;
        // SAFETY: here and below, passed on to the caller; the slots of a node that is no Merge belong to this firing.
        unsafe {
            match node.kind {
                Kind::Op | Kind::Program => return self.call(node, item),
                Kind::NoOp => return self.signal(iteration, node.group, false),
                _ if self.has_stats && node.kind != Kind::Async => self.record(node, item, self.now()),
                _ => {}
            }
            match node.kind {
                Kind::Async => self.start_async(node, item),
                Kind::Pass => {
                    let mut ready = 0;
                    for (input, group) in self.inputs(node, iteration).iter_mut().zip(node.group..) {
                        let value = input.take();
                        if group < node.group + node.num_outputs {
                            ready += self.deliver(iteration, group, value);
                        }
                    }
                    ready + self.signal(iteration, node.group + node.num_outputs, false)
                }
                Kind::Const => {
                    let value = self.tables.consts[node.arg as usize].clone();
                    self.deliver(iteration, node.group, Some(value)) + self.signal(iteration, node.group + 1, false)
                }
                Kind::Ret => {
                    self.run.set_result(node.arg, self.take_input(node, iteration));
                    self.signal(iteration, node.group, false)
                }
                Kind::Merge => {
                    let winner = winner(node, iteration);
                    let value = (*(*iteration).slots.add((node.slot + winner) as usize)).take();
                    let mut ready = self.deliver(iteration, node.group, value);
                    if node.num_outputs > 1 {
                        ready += self.deliver(iteration, node.group + 1, Some(Tensor::scalar(winner as i32)));
                    }
                    ready + self.signal(iteration, node.group + node.num_outputs, false)
                }
                Kind::Enter | Kind::EnterConst => {
                    let value = self.take_input(node, iteration);
                    self.enter(node, iteration, value);
                    0
                }
                Kind::Exit => {
                    let value = self.take_input(node, iteration);
                    match self.exit(node, iteration, value) {
                        Ok(()) => 0,
                        Err(e) => self.fail_unsettled(e),
                    }
                }
                Kind::NextIteration => {
                    let value = self.take_input(node, iteration);
                    self.next_iteration(node, iteration, value);
                    0
                }
                Kind::ControlTrigger | Kind::NoOp | Kind::Arg | Kind::Op | Kind::Program => {
                    self.signal(iteration, node.group + node.num_outputs, false)
                }
            }
        }
    }

    /// Fires a dead node: all its outputs are dead. A dead Exit waits for the end of its frame, and a dead NextIteration starts no iteration.
    #[inline(never)]
    unsafe fn fire_dead(&mut self, node: &Node, item: Item) -> u64 {
        // SAFETY: passed on to the caller.
        unsafe {
            // A dead Merge has no value: an input that came too late drops its own, perhaps just now.
            if node.kind != Kind::Merge {
                self.inputs(node, item.iteration).fill_with(|| None);
            }
            match node.kind {
                Kind::Exit | Kind::NextIteration => 0,
                Kind::Enter | Kind::EnterConst => {
                    self.enter(node, item.iteration, None);
                    0
                }
                _ => (node.group..=node.group + node.num_outputs).map(|group| self.deliver(item.iteration, group, None)).sum(),
            }
        }
    }

    #[cold]
    fn fail_unsettled(&mut self, error: Error) -> u64 {
        self.fail(self.current, error);
        UNSETTLED
    }

    /// Returns the inputs of a node that fires.
    ///
    /// # Safety
    /// The node is no Merge: a Merge fires while other inputs may still be written.
    #[inline(always)]
    unsafe fn inputs<'a>(&self, node: &Node, iteration: *const Iteration) -> &'a mut [Slot] {
        debug_assert!(node.kind != Kind::Merge);
        // SAFETY: the node's slots are within its frame's iterations; all arrived, so nobody else touches them until the node has fired.
        unsafe { std::slice::from_raw_parts_mut((*iteration).slots.add(node.slot as usize), node.num_inputs as usize) }
    }

    /// Takes the input of a node with one input that fires.
    ///
    /// # Safety
    /// The node has an input and is no Merge: a Merge fires while other inputs may still be written.
    #[inline(always)]
    unsafe fn take_input(&self, node: &Node, iteration: *const Iteration) -> Slot {
        debug_assert!(node.kind != Kind::Merge && node.num_inputs == 1);
        // SAFETY: as in `inputs`.
        unsafe { (*(*iteration).slots.add(node.slot as usize)).take() }
    }

    /// Calls a kernel and delivers its outputs.
    #[inline(always)]
    unsafe fn call(&mut self, node: &Node, item: Item) -> u64 {
        let run = self.run;
        // SAFETY: passed on to the caller.
        let inputs = unsafe { self.inputs(node, item.iteration) };
        let Some(kernel) = &node.kernel else { return self.fail_unsettled(error!(Internal, "the node has no kernel")) };
        let start = if self.has_stats { self.now() } else { 0 };
        let outputs = &mut self.outputs()[..node.num_outputs as usize];
        // SAFETY: the item holds a reference of its iteration.
        let mut context = KernelContext::in_iteration(inputs, outputs, &run.device_step, unsafe { IterationRef::new(item.iteration) });
        let result = if node.flags & EXPENSIVE == 0 {
            kernel.compute(&mut context)
        } else {
            let before = Instant::now();
            let result = kernel.compute(&mut context);
            self.tables.costs[node.arg as usize].learn(before.elapsed().as_nanos());
            result
        };
        for input in inputs {
            *input = None;
        }
        if self.has_stats {
            self.record(node, item, start);
        }
        match result {
            // SAFETY: passed on to the caller.
            Ok(()) => unsafe { self.give_outputs(node, item.iteration) },
            Err(e) => {
                self.outputs().fill_with(|| None);
                self.fail_unsettled(e)
            }
        }
    }

    /// Delivers the outputs that a kernel has set.
    #[inline]
    unsafe fn give_outputs(&mut self, node: &Node, iteration: *const Iteration) -> u64 {
        let mut ready = 0;
        for i in 0..node.num_outputs {
            let value = self.outputs()[i as usize].take();
            let check = &self.tables.checks[(node.group + i) as usize];
            match &value {
                Some(tensor) if check.is_plain(tensor) => {}
                None if node.flags & MAY_BE_DEAD != 0 => {}
                _ => {
                    if let Err(e) = self.check_output(node, i, &value) {
                        return self.fail_unsettled(e);
                    }
                }
            }
            // SAFETY: passed on to the caller.
            ready += unsafe { self.deliver(iteration, node.group + i, value) };
        }
        // SAFETY: passed on to the caller.
        ready + unsafe { self.signal(iteration, node.group + node.num_outputs, false) }
    }

    #[cold]
    fn check_output(&mut self, node: &Node, output: u32, value: &Slot) -> Result<()> {
        let name = &self.tables.names[self.current as usize].name;
        let checked = self.tables.checks[(node.group + output) as usize].check(output as usize, value.as_ref(), name);
        if checked.is_err() {
            self.outputs().fill_with(|| None);
        }
        checked
    }

    /// Starts an asynchronous kernel, and delivers its outputs if it ends at once.
    unsafe fn start_async(&mut self, node: &Node, item: Item) -> u64 {
        // SAFETY: passed on to the caller.
        let inputs = unsafe { self.inputs(node, item.iteration) };
        let Some(kernel) = node.kernel.as_ref().and_then(|k| k.as_async()) else {
            return self.fail_unsettled(error!(Internal, "the node has no kernel"));
        };
        let run = self.run;
        let outputs = &mut self.outputs()[..node.num_outputs as usize];
        // SAFETY: the item holds a reference of its iteration.
        let mut context = KernelContext::in_iteration(inputs, outputs, &run.device_step, unsafe { IterationRef::new(item.iteration) });
        match kernel.try_finish(&mut context) {
            // SAFETY: passed on to the caller.
            Some(Ok(())) => return unsafe { self.give_finished(node, item) },
            Some(Err(e)) => {
                self.outputs().fill_with(|| None);
                return self.fail_unsettled(e);
            }
            None => {}
        }
        let inputs: Vec<Tensor> = inputs.iter_mut().filter_map(Option::take).collect();
        self.run.add_live();
        let before = (node.flags & EXPENSIVE != 0).then(Instant::now);
        let completed = asynchronous::start(self.run, item, kernel, inputs);
        if let Some(before) = before {
            self.tables.costs[node.arg as usize].learn(before.elapsed().as_nanos());
        }
        match completed {
            Some(completed) => {
                self.run.drop_live();
                // SAFETY: passed on to the caller.
                unsafe { self.give_completed(node, item, completed) }
            }
            None => {
                // Nothing of the run was touched since the kernel started; another thread may have it from here on.
                self.shared = true;
                UNSETTLED
            }
        }
    }

    /// Delivers the result of an asynchronous kernel that did not end at once.
    ///
    /// # Safety
    /// The requirements of [`Worker::fire`] hold for the item that started the kernel.
    pub(super) unsafe fn complete_async(&mut self, item: Item, completed: Completed) {
        let node = &self.tables.nodes[item.node as usize];
        self.current = item.node;
        // SAFETY: passed on to the caller.
        unsafe {
            let ready = self.give_completed(node, item, completed);
            if ready != UNSETTLED {
                self.settle_current(ready);
            }
        }
    }

    unsafe fn give_completed(&mut self, node: &Node, item: Item, completed: Completed) -> u64 {
        let values = match completed {
            Ok(values) if values.len() <= node.num_outputs as usize => values,
            Ok(values) => return self.fail_unsettled(error!(Internal, "{} outputs instead of {}", values.len(), node.num_outputs)),
            Err(e) => return self.fail_unsettled(e),
        };
        for (output, value) in self.outputs().iter_mut().zip(values) {
            *output = value;
        }
        // SAFETY: passed on to the caller.
        unsafe { self.give_finished(node, item) }
    }

    /// Delivers the outputs that an asynchronous kernel has set.
    unsafe fn give_finished(&mut self, node: &Node, item: Item) -> u64 {
        if self.has_stats {
            self.record(node, item, u64::MAX);
        }
        // SAFETY: passed on to the caller.
        unsafe { self.give_outputs(node, item.iteration) }
    }

    /// Records a firing that ends now. `start` is `u64::MAX` for an asynchronous kernel.
    ///
    /// The item holds a reference of its iteration.
    #[cold]
    fn record(&mut self, node: &Node, item: Item, start: u64) {
        let Some(stats) = self.run.stats() else { return };
        // The time of the record does not belong to the node.
        let end = stats.now();
        let outputs = OutputStats::of(&self.outputs()[..node.num_outputs as usize]);
        let (tables, n) = (self.tables, item.node as usize);
        let input = |edge: &PlanEdge| InputStats {
            name: tables.names[edge.node.0 as usize].name.clone(),
            slot: (edge.slot != PlanEdge::CONTROL).then_some(edge.slot),
        };
        let inputs = tables.inputs.iter().flat_map(|table| table.of_node(item.node)).map(input).collect();
        // SAFETY: passed on to the callers, which fire the item.
        let (frame, iteration) = unsafe { ((*item.iteration).frame_id, IterationRef::new(item.iteration).path()) };
        let scheduled = u64::from(item.info >> 1) << 6;
        stats.record(Firing {
            name: &tables.names[n].name,
            op: &tables.names[n].op,
            scheduled,
            // An asynchronous kernel started when it was scheduled, or soon after.
            start: if start == u64::MAX { scheduled } else { start },
            end,
            inputs,
            outputs,
            frame: (!iteration.is_empty()).then(|| tables.frames[frame as usize].name.clone()),
            iteration,
            transfer: node.kernel.as_ref().and_then(|kernel| kernel.transfer()),
            algorithm: node.kernel.as_ref().and_then(|kernel| kernel.algorithm()),
        });
    }

    /// Fills in the inputs that no edge delivers. Returns false if one of them is dead.
    ///
    /// # Safety
    /// The requirements of [`Worker::fire`] hold for the item that is fired.
    unsafe fn prepare(&mut self, node: &Node, iteration: *const Iteration) -> Result<bool> {
        let mut live = true;
        for p in &self.tables.prepare[node.prepare.0 as usize..node.prepare.1 as usize] {
            // SAFETY: invariants that the node reads have arrived before it fires, and change no more. A Merge reads none.
            let invariant = |i: u32| unsafe { &*(*(*iteration).frame).invariants.add(i as usize) };
            // SAFETY: the slot belongs to this firing: all slots of a node that is no Merge do, and the winner's of a Merge, which alone is
            // asked for below.
            let slot = || unsafe { &mut *(*iteration).slots.add((node.slot + p.input) as usize) };
            match p.source {
                Source::Const(c) => *slot() = Some(self.tables.consts[c as usize].clone()),
                Source::Token => *slot() = Some(Tensor::scalar(true)),
                Source::Invariant(i) => match invariant(i) {
                    Some(value) => *slot() = Some(value.clone()),
                    None => live &= node.kind == Kind::Program,
                },
                Source::InvariantToken(i) => *slot() = invariant(i).as_ref().map(|_| Tensor::scalar(true)),
                Source::InvariantLiveness(i) => live &= invariant(i).is_some(),
                // After all that can make the node dead: a dead node reads nothing.
                Source::Dereference if !live => {}
                // SAFETY: passed on to the caller.
                Source::Dereference if node.kind == Kind::Merge && p.input != unsafe { winner(node, iteration) } => {}
                Source::Dereference => {
                    let slot = slot();
                    *slot = slot.take().map(dereference).transpose()?;
                }
            }
        }
        Ok(live)
    }

    /// Delivers a live or dead value along all edges of a group. Returns the number of items that became ready on this worker.
    ///
    /// # Safety
    /// The group belongs to a node whose outputs arrive in `iteration`, which is kept alive, and it is delivered once there.
    #[inline]
    pub(super) unsafe fn deliver(&mut self, iteration: *const Iteration, group: u32, value: Slot) -> u64 {
        let tables = self.tables;
        let edges = &tables.edges[tables.groups[group as usize] as usize..tables.groups[group as usize + 1] as usize];
        let Some((last, others)) = edges.split_last() else { return 0 };
        let dead = value.is_none();
        let mut ready = 0;
        for edge in others {
            let copy = if edge.slot == NONE { None } else { value.clone() };
            // SAFETY: passed on to the caller.
            ready += unsafe { self.arrive(iteration, edge, copy, dead) };
        }
        // SAFETY: passed on to the caller.
        ready + unsafe { self.arrive(iteration, last, value, dead) }
    }

    /// Delivers along control edges that the node was executed, or that it is dead.
    ///
    /// # Safety
    /// The group belongs to a node whose outputs arrive in `iteration`, which is kept alive, and it is delivered once there.
    #[inline(always)]
    pub(super) unsafe fn signal(&mut self, iteration: *const Iteration, group: u32, dead: bool) -> u64 {
        let tables = self.tables;
        let mut ready = 0;
        for edge in &tables.edges[tables.groups[group as usize] as usize..tables.groups[group as usize + 1] as usize] {
            // A program takes control inputs as values.
            let token = if edge.slot == NONE || dead { None } else { Some(Tensor::scalar(true)) };
            // SAFETY: passed on to the caller.
            ready += unsafe { self.arrive(iteration, edge, token, dead) };
        }
        ready
    }

    #[inline(always)]
    unsafe fn arrive(&mut self, iteration: *const Iteration, edge: &Edge, value: Slot, dead: bool) -> u64 {
        // SAFETY: the edge's slot and counter are within iterations of its target's frame. The slot is this delivery's until it is counted, and
        // after that too where it loses at a Merge.
        unsafe {
            let arrival = match edge.delivery {
                Delivery::Merge | Delivery::MergeEnter | Delivery::MergeControl => self.arrive_at_merge(iteration, edge, value, dead),
                delivery => {
                    if edge.slot != NONE {
                        (*iteration).slots.add(edge.slot as usize).write(value);
                    }
                    match delivery {
                        Delivery::Direct if dead => Arrival::Dead,
                        Delivery::Count => (*iteration).counter(edge.counter).arrive(dead, self.shared),
                        Delivery::CountIgnoreDead => (*iteration).counter(edge.counter).arrive(false, self.shared),
                        _ => Arrival::Live,
                    }
                }
            };
            match arrival {
                Arrival::Pending => 0,
                arrival => self.ready(iteration, edge.to, arrival == Arrival::Dead),
            }
        }
    }

    #[inline(never)]
    unsafe fn arrive_at_merge(&mut self, iteration: *const Iteration, edge: &Edge, value: Slot, dead: bool) -> Arrival {
        // SAFETY: as in `arrive`. The caller's reference keeps the iteration from being completed, and the slot from being swept, until a late
        // value is dropped.
        unsafe {
            let counter = (*iteration).counter(edge.counter);
            match edge.delivery {
                Delivery::MergeControl => counter.merge_control(self.shared),
                _ if dead => counter.merge_dead(edge.delivery == Delivery::MergeEnter, self.shared),
                _ => {
                    let slot = (*iteration).slots.add(edge.slot as usize);
                    slot.write(value);
                    let input = edge.slot - self.tables.nodes[edge.to as usize].slot;
                    counter.merge_live(input, self.shared).unwrap_or_else(|| {
                        *slot = None;
                        Arrival::Pending
                    })
                }
            }
        }
    }
}

/// Returns the input that a live Merge passes on.
///
/// # Safety
/// The node is a Merge that fires live in `iteration`.
#[inline(always)]
unsafe fn winner(node: &Node, iteration: *const Iteration) -> u32 {
    // SAFETY: a Merge without a counter has two inputs, of which one arrives in an iteration: its arrival is what made the node ready.
    unsafe {
        match node.arg {
            NONE => u32::from((*(*iteration).slots.add(node.slot as usize)).is_none()),
            counter => (*iteration).counter(counter).winner(),
        }
    }
}
