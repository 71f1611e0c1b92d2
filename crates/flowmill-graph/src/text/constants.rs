//! Constants that a text names by a hash of their values.

use crate::Graph;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{Result, Tensor};
use std::collections::BTreeMap;

/// The constants that a text names by their hash.
#[derive(Clone, Debug, Default)]
pub struct ConstantTable(BTreeMap<u64, Tensor>);

impl ConstantTable {
    /// Returns a table of nothing.
    pub fn new() -> ConstantTable {
        ConstantTable::default()
    }

    /// Adds a constant.
    pub fn add(&mut self, tensor: Tensor) {
        self.0.insert(tensor_hash(&tensor), tensor);
    }

    /// Returns all constants of a graph.
    ///
    /// # Errors
    /// `InvalidArgument`, `ResourceExhausted` or `Unimplemented`, see [`Tensor::from_proto`].
    pub fn of_graph(graph: &Graph) -> Result<ConstantTable> {
        let mut table = ConstantTable::new();
        for node in graph.op_nodes() {
            for value in node.attrs().values() {
                if let Some(Value::Tensor(tensor)) = &value.value {
                    table.add(Tensor::from_proto(tensor)?);
                }
            }
        }
        Ok(table)
    }

    pub(super) fn get(&self, hash: u64) -> Option<&Tensor> {
        self.0.get(&hash)
    }
}

/// Returns a hash that is the same on every machine: FNV-1a over the type, the shape and the values.
pub(super) fn tensor_hash(tensor: &Tensor) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    add(&tensor.dtype().number().to_le_bytes());
    for &dim in tensor.shape().iter() {
        add(&(dim as u64).to_le_bytes());
    }
    if let Ok(bytes) = tensor.as_bytes() {
        add(bytes);
    }
    for string in tensor.as_strings().unwrap_or(&[]) {
        add(&(string.len() as u64).to_le_bytes());
        add(string);
    }
    hash
}
