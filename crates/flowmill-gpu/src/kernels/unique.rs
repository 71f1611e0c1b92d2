//! `Unique` and `UniqueWithCounts`: the distinct elements in the order of their first occurrence.

use super::select::Selector;
use super::sized::{Begun, sized};
use super::types::{INDICES, NUMBERS};
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

const TEXT: &str = include_str!("unique.cu");

pub(super) fn register(registry: &mut KernelRegistry) {
    let unique = |make| KernelDef::new(make).constrain("T", NUMBERS).constrain("out_idx", INDICES);
    registry.register("Unique", unique(|init| make(init, false)));
    registry.register("UniqueWithCounts", unique(|init| make(init, true)));
}

/// The kernels for elements of one type.
struct Programs {
    index: DType,
    selector: Selector,
    insert: CompiledKernel,
    mark_first: CompiledKernel,
    store: CompiledKernel,
}

/// Elements that have been inserted into a table of the first of equal ones.
struct Inserted {
    input: Tensor,
    slots: Tensor,
    table: Tensor,
    /// The number of each element that is the first of its equals.
    numbers: Tensor,
}

fn make(init: &KernelInit<'_>, with_counts: bool) -> Result<Arc<dyn Kernel>> {
    let (dtype, index) = (init.dtype("T")?, init.attrs.get_or("out_idx", DType::I32)?);
    let [element, compute] = element_types(dtype)?;
    let (index_name, count_name) = if index == DType::I64 { ("long long", "unsigned long long") } else { ("int", "unsigned int") };
    let types = [element, compute, ("I", index_name), ("Count", count_name)];
    let kernel = |name| CompiledKernel::new(TEXT, name, &types);
    let programs = Arc::new(Programs {
        index,
        selector: Selector::new(DType::U32)?,
        insert: kernel("insert"),
        mark_first: kernel("mark_first"),
        store: kernel("store"),
    });
    sized(move |device, inputs| {
        let [input] = inputs else { bail!(Internal, "Unique has one input") };
        if input.rank() != 1 {
            bail!(InvalidArgument, "unique expects a 1D vector.");
        }
        let n = input.num_elements();
        if n == 0 {
            let mut outputs = vec![device.allocate(dtype, &Shape::new(&[0]))?];
            for _ in 0..1 + usize::from(with_counts) {
                outputs.push(device.allocate(index, &Shape::new(&[0]))?);
            }
            return Ok(Begun::Whole(outputs));
        }
        let (inserted, count) = programs.insert(device, input)?;
        let programs = programs.clone();
        let then = move |device: &GpuDevice, count: &Tensor| {
            programs.store(device, dtype, &inserted, count.to_scalar::<i32>()? as u32 as usize, with_counts)
        };
        Ok(Begun::Numbers(count, Box::new(then)))
    })
}

impl Programs {
    /// Enqueues the search for equal elements. Returns the number of distinct ones, too.
    fn insert(&self, device: &GpuDevice, input: &Tensor) -> Result<(Inserted, Tensor)> {
        let n = input.num_elements();
        // At most half of the slots are used. Numbers of elements and slots are 32 bits wide.
        let size = n.saturating_mul(2).next_power_of_two();
        if size > 1 << 31 {
            bail!(Unimplemented, "GPU kernels find equal elements among at most {} elements", 1 << 30);
        }
        let table = device.allocate(DType::U32, &Shape::new(&[size]))?;
        device.gpu().fill(device.address(&table)?, 0, table.num_bytes())?;
        let slots = device.allocate(DType::U32, &Shape::new(&[n]))?;
        let is_first = device.allocate(DType::U32, &Shape::new(&[n]))?;
        let of = |tensor| device.address(tensor).map(Argument::Address);
        let (grid, count) = (device.linear_grid(n), Argument::U32(word(n)?));
        self.insert.launch(device, grid, &[of(&slots)?, of(&table)?, Argument::U32(size as u32 - 1), of(input)?, count])?;
        self.mark_first.launch(device, grid, &[of(&is_first)?, of(&slots)?, of(&table)?, count])?;
        let selection = self.selector.select(device, &is_first)?;
        let numbers = self.selector.numbers(device, &selection)?;
        Ok((Inserted { input: input.clone(), slots, table, numbers }, selection.total))
    }

    fn store(&self, device: &GpuDevice, dtype: DType, inserted: &Inserted, distinct: usize, with_counts: bool) -> Result<Vec<Tensor>> {
        let n = inserted.input.num_elements();
        let values = device.allocate(dtype, &Shape::new(&[distinct]))?;
        let indices = device.allocate(self.index, &Shape::new(&[n]))?;
        let of = |tensor| device.address(tensor).map(Argument::Address);
        let mut outputs = vec![values, indices];
        if with_counts {
            let counts = device.allocate(self.index, &Shape::new(&[distinct]))?;
            device.gpu().fill(device.address(&counts)?, 0, counts.num_bytes())?;
            outputs.push(counts);
        }
        let counts = outputs.get(2).map_or(Ok(Argument::U64(0)), of)?;
        let Inserted { input, slots, table, numbers } = inserted;
        let arguments =
            [of(&outputs[0])?, of(&outputs[1])?, counts, of(input)?, of(slots)?, of(table)?, of(numbers)?, Argument::U32(word(n)?)];
        self.store.launch(device, device.linear_grid(n), &arguments)?;
        Ok(outputs)
    }
}
