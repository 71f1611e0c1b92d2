//! The interpreter of programs: strands, loops and batch programs consist of the same instructions.

use crate::invoke::{Callee, dereference};
use crate::kernel::{Kernel, KernelContext, ScalarOp};
use crate::step::DeviceStep;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Result, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

/// A register, as an index into the register file.
pub(super) type Reg = u32;

/// The register that an instruction reads a value from, and how it reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) reg: Reg,
    /// The last use: the register is emptied, so that the kernel may reuse the memory.
    pub(super) take: bool,
    /// The register holds a reference and the consumer wants the variable's value.
    pub(super) deref: bool,
}

/// One instruction. Every instruction writes all of its result registers; an empty one is dead.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    /// A pure function of one inline scalar. For any other value, `call` runs instead.
    Scalar1 { from: DType, to: DType, f: fn(u64) -> u64, a: Reg, dst: Reg, call: u32 },
    /// A pure function of two inline scalars.
    Scalar2 { from: DType, to: DType, f: fn(u64, u64) -> u64, a: Reg, b: Reg, dst: Reg, call: u32 },
    /// A kernel, as an index into `calls`.
    Call(u32),
    /// Copies or moves one value; dead when one of `controls` is. `call` names the node, here and below.
    Move { src: Operand, dst: Reg, controls: Box<[Reg]>, call: u32 },
    /// The first live operand.
    Merge { sources: Box<[Operand]>, dst: Reg, index: Option<Reg>, call: u32 },
    /// The operand goes to `dst + pred`; the other of the two is dead.
    Switch { data: Operand, pred: Operand, dst: Reg, controls: Box<[Reg]>, live: Option<Reg>, call: u32 },
}

/// A kernel with its operands.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) callee: Callee,
    /// `None` if the call is never made, and only names its node.
    pub(super) kernel: Option<Arc<dyn Kernel>>,
    pub(super) operands: Box<[Operand]>,
    /// Registers that must be live.
    pub(super) controls: Box<[Reg]>,
    /// The first of the result registers, which are adjacent.
    pub(super) dst: Reg,
    /// The register that is set live when the node ran, for nodes that wait for this node and not for an output.
    pub(super) live: Option<Reg>,
    /// Runs with dead operands too: a nested program.
    pub(super) accepts_dead: bool,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}({:?}) -> {}", self.callee.node, self.callee.op, self.operands, self.dst)
    }
}

/// Instructions with what they refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub(super) instrs: Vec<Instr>,
    pub(super) calls: Vec<Call>,
}

/// A register file with its constants in place, kept for the next run.
pub(super) struct Registers(pub(super) Vec<Option<Tensor>>);

/// The state that all programs share: constants, the number of registers, and register files that are free for use.
pub(super) struct RegisterPool {
    constants: Vec<Tensor>,
    num_regs: usize,
    free: Mutex<Vec<Registers>>,
}

/// Files kept for reuse; more steps at once than this allocate theirs anew.
const FILES_KEPT: usize = 16;

impl RegisterPool {
    /// A pool of files whose first registers hold `constants`.
    pub(super) fn new(constants: Vec<Tensor>, num_regs: usize) -> RegisterPool {
        RegisterPool { constants, num_regs, free: Mutex::new(Vec::new()) }
    }

    /// Returns a file whose registers are empty, except for constants.
    pub(super) fn acquire(&self) -> Registers {
        if let Some(file) = self.free.lock().pop() {
            return file;
        }
        let mut file = Vec::with_capacity(self.num_regs);
        file.extend(self.constants.iter().cloned().map(Some));
        file.resize(self.num_regs, None);
        Registers(file)
    }

    /// Empties a file and keeps it for reuse.
    pub(super) fn release(&self, mut file: Registers) {
        file.0[self.constants.len()..].fill(None);
        let mut free = self.free.lock();
        if free.len() < FILES_KEPT {
            free.push(file);
        }
    }
}

/// Returns an inline `true`, which is the value of a register that only says "live".
fn live() -> Option<Tensor> {
    Some(Tensor::scalar(true))
}

fn read(regs: &mut [Option<Tensor>], operand: Operand) -> Result<Option<Tensor>> {
    let slot = &mut regs[operand.reg as usize];
    let value = if operand.take { slot.take() } else { slot.clone() };
    if operand.deref { value.map(dereference).transpose() } else { Ok(value) }
}

/// Returns the value of a predicate, which graphs give the type `bool`.
fn is_true(predicate: &Tensor) -> Result<bool> {
    match predicate.scalar_bits(predicate.dtype()) {
        Some(bits) => Ok(bits != 0),
        None => bail!(InvalidArgument, "The second input must be a scalar, but it has shape {}", predicate.shape()),
    }
}

fn all_live(regs: &[Option<Tensor>], controls: &[Reg]) -> bool {
    controls.iter().all(|&r| regs[r as usize].is_some())
}

/// Returns true if a node with these inputs runs. A node that does not run reads nothing, not even a variable; inputs that it would have taken are
/// dropped.
fn admits(regs: &mut [Option<Tensor>], operands: &[Operand], controls: &[Reg], accepts_dead: bool) -> bool {
    let runs = (accepts_dead || operands.iter().all(|o| regs[o.reg as usize].is_some())) && all_live(regs, controls);
    if !runs {
        operands.iter().filter(|o| o.take).for_each(|o| regs[o.reg as usize] = None);
    }
    runs
}

impl Code {
    /// Runs the instructions in order.
    #[inline]
    pub(super) fn run(&self, regs: &mut [Option<Tensor>], step: &Arc<DeviceStep>) -> Result<()> {
        self.run_part(&self.instrs, regs, step)
    }

    /// Runs some of the instructions in order.
    #[inline]
    pub(super) fn run_part(&self, part: &[Instr], regs: &mut [Option<Tensor>], step: &Arc<DeviceStep>) -> Result<()> {
        for instr in part {
            match instr {
                Instr::Scalar1 { from, to, f, a, dst, call } => {
                    let x = regs[*a as usize].as_ref().and_then(|t| t.scalar_bits(*from));
                    match x.and_then(|x| Tensor::from_scalar_bits(*to, f(x))) {
                        Some(value) => regs[*dst as usize] = Some(value),
                        None => self.call(*call, regs, step)?,
                    }
                }
                Instr::Scalar2 { from, to, f, a, b, dst, call } => {
                    let x = regs[*a as usize].as_ref().and_then(|t| t.scalar_bits(*from));
                    let y = regs[*b as usize].as_ref().and_then(|t| t.scalar_bits(*from));
                    match x.zip(y).and_then(|(x, y)| Tensor::from_scalar_bits(*to, f(x, y))) {
                        Some(value) => regs[*dst as usize] = Some(value),
                        None => self.call(*call, regs, step)?,
                    }
                }
                Instr::Call(call) => self.call(*call, regs, step)?,
                Instr::Move { src, dst, controls, call } => {
                    let runs = all_live(regs, controls);
                    let value = if runs { read(regs, *src).map_err(|e| self.blame(*call, e))? } else { None };
                    regs[*dst as usize] = value;
                }
                Instr::Merge { sources, dst, index, call } => {
                    let winner = sources.iter().position(|s| regs[s.reg as usize].is_some());
                    let mut found = None;
                    if let Some(i) = winner {
                        found = read(regs, sources[i]).map_err(|e| self.blame(*call, e))?.map(|v| (v, i as i32));
                    }
                    sources.iter().filter(|s| s.take).for_each(|s| regs[s.reg as usize] = None);
                    if let Some(index) = index {
                        regs[*index as usize] = found.as_ref().map(|&(_, i)| Tensor::scalar(i));
                    }
                    regs[*dst as usize] = found.map(|(v, _)| v);
                }
                Instr::Switch { data, pred, dst, controls, live: live_reg, call } => {
                    let (mut sides, mut ran, mut values) = ([None, None], None, (None, None));
                    if admits(regs, &[*data, *pred], controls, false) {
                        let mut value = |operand: Operand| read(regs, operand).map_err(|e| self.blame(*call, e));
                        values = (value(*data)?, value(*pred)?);
                    }
                    if let (Some(data), Some(pred)) = values {
                        let taken = is_true(&pred).map_err(|e| self.blame(*call, e))?;
                        sides[usize::from(taken)] = Some(data);
                        ran = live();
                    }
                    let [f, t] = sides;
                    regs[*dst as usize] = f;
                    regs[*dst as usize + 1] = t;
                    if let Some(r) = live_reg {
                        regs[*r as usize] = ran;
                    }
                }
            }
        }
        Ok(())
    }

    fn blame(&self, call: u32, e: flowmill_tensor::Error) -> flowmill_tensor::Error {
        let call = &self.calls[call as usize];
        e.at_node(&call.callee.node, &call.callee.op)
    }

    fn call(&self, index: u32, regs: &mut [Option<Tensor>], step: &Arc<DeviceStep>) -> Result<()> {
        let call = &self.calls[index as usize];
        let runs = admits(regs, &call.operands, &call.controls, call.accepts_dead);
        let mut inputs: SmallVec<[Option<Tensor>; 8]> = SmallVec::with_capacity(call.operands.len());
        if runs {
            for &operand in &call.operands {
                inputs.push(read(regs, operand).map_err(|e| e.at_node(&call.callee.node, &call.callee.op))?);
            }
        }
        let (first, last) = (call.dst as usize, call.dst as usize + call.callee.outputs.len());
        regs[first..last].fill(None);
        if let Some(r) = call.live {
            regs[r as usize] = if runs { live() } else { None };
        }
        if !runs {
            return Ok(());
        }
        match &call.kernel {
            Some(kernel) => call.callee.invoke(&**kernel, &mut inputs, &mut regs[first..last], step),
            None => {
                if let (Some(value), true) = (inputs.first_mut(), first < last) {
                    regs[first] = value.take();
                }
                Ok(())
            }
        }
    }
}

/// A compiled strand: instructions that run once, in order.
pub(super) struct Strand {
    pub(super) code: Code,
    pub(super) pool: RegisterPool,
    /// The registers of the inputs.
    pub(super) inputs: Vec<Reg>,
    /// The registers of the outputs at the end.
    pub(super) outputs: Vec<Operand>,
}

impl Kernel for Strand {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut file = self.pool.acquire();
        let regs = &mut file.0[..];
        for (i, &reg) in self.inputs.iter().enumerate() {
            regs[reg as usize] = ctx.take(i).ok();
        }
        let step = ctx.device_step();
        let result = self.code.run(regs, step);
        if result.is_ok() {
            for (i, &operand) in self.outputs.iter().enumerate() {
                if let Some(value) = read(regs, operand)? {
                    ctx.set_output(i, value);
                }
            }
        }
        self.pool.release(file);
        result
    }
}

/// A `while` loop. Each iteration runs `before`, then `body` and another iteration, or `after` and the end.
pub(super) struct Loop {
    /// Every node that does not depend on the loop's condition being true or false, the condition among them.
    pub(super) before: Code,
    /// The code that runs while the condition holds.
    pub(super) body: Code,
    /// The code that runs once the condition no longer holds.
    pub(super) after: Code,
    pub(super) pool: RegisterPool,
    /// The registers of the inputs, and how they enter the loop.
    pub(super) inputs: Vec<Entry>,
    /// An input that is dead when another input is (a control input of its `Enter`): the register and the condition.
    pub(super) gates: Vec<(Reg, Reg)>,
    /// Moves from the registers of the inputs to the loop's variables before the first iteration.
    pub(super) entry: Vec<(Reg, Reg)>,
    /// Moves from the end of an iteration to the variables of the next one.
    pub(super) back: Vec<(Reg, Reg)>,
    /// The condition.
    pub(super) condition: Operand,
    /// The registers of the outputs after the last iteration.
    pub(super) outputs: Vec<Operand>,
    /// The `LoopCond`'s node, for errors.
    pub(super) node: Arc<str>,
}

/// An input of a loop: an `Enter`'s, or a control input of one.
pub(super) struct Entry {
    pub(super) reg: Reg,
    /// The input carries a reference, and the loop wants the variable's value.
    pub(super) deref: bool,
    /// The `Enter`'s name and op, for errors.
    pub(super) node: (Arc<str>, Arc<str>),
}

/// The number of iterations between two checks of the clock.
const ITERATIONS_A_LOOK: u32 = 64;

impl Loop {
    /// Runs the loop to its end. Returns false if the loop is dead because its `Enter`s are in a branch that was not taken.
    fn iterate(&self, regs: &mut [Option<Tensor>], step: &Arc<DeviceStep>) -> Result<bool> {
        for &(reg, gate) in &self.gates {
            if regs[gate as usize].is_none() {
                regs[reg as usize] = None;
            }
        }
        for &(from, to) in &self.entry {
            regs[to as usize] = regs[from as usize].take();
        }
        let mut until_look = ITERATIONS_A_LOOK;
        loop {
            self.before.run(regs, step)?;
            let goes_on = match read(regs, self.condition)? {
                None => return Ok(false),
                Some(condition) => is_true(&condition).map_err(|e| e.at_node(&self.node, "LoopCond"))?,
            };
            if !goes_on {
                self.after.run(regs, step)?;
                return Ok(true);
            }
            self.body.run(regs, step)?;
            for &(from, to) in &self.back {
                regs[to as usize] = regs[from as usize].take();
            }
            if step.step.cancel.is_cancelled() {
                step.step.cancel.check()?;
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = ITERATIONS_A_LOOK;
                step.step.look_up()?;
            }
        }
    }
}

impl Kernel for Loop {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut file = self.pool.acquire();
        let regs = &mut file.0[..];
        for (i, entry) in self.inputs.iter().enumerate() {
            let mut value = ctx.take(i).ok();
            if entry.deref {
                value = value.map(dereference).transpose().map_err(|e| e.at_node(&entry.node.0, &entry.node.1))?;
            }
            regs[entry.reg as usize] = value;
        }
        let step = ctx.device_step();
        let result = self.iterate(regs, step);
        if let Ok(true) = result {
            for (i, &operand) in self.outputs.iter().enumerate() {
                if let Some(value) = read(regs, operand)? {
                    ctx.set_output(i, value);
                }
            }
        }
        self.pool.release(file);
        result.map(|_| ())
    }
}

/// The scalar form of a call with no controls and plain operands.
pub(super) fn scalar_instr(op: ScalarOp, operands: &[Operand], dst: Reg, call: u32) -> Option<Instr> {
    if operands.iter().any(|o| o.deref) {
        return None;
    }
    match (op, operands) {
        (ScalarOp::Unary { from, to, f }, [a]) => Some(Instr::Scalar1 { from, to, f, a: a.reg, dst, call }),
        (ScalarOp::Binary { from, to, f }, [a, b]) => Some(Instr::Scalar2 { from, to, f, a: a.reg, b: b.reg, dst, call }),
        _ => None,
    }
}
