//! Names of the tensors and nodes that a run feeds, fetches and executes. Ids are accepted as well.

use flowmill_graph::{Graph, NodeId, OutputId};
use flowmill_tensor::{Result, Tensor, error};

/// A tensor of a graph: a name, `x:0` or `x` for output 0, or the id of an output.
pub trait ToTensorName {
    /// Returns the tensor's name.
    ///
    /// # Errors
    /// Returns `NotFound` or `OutOfRange` for an id that is not in the graph. A name is not checked.
    fn to_tensor_name(&self, graph: &Graph) -> Result<String>;
}

impl ToTensorName for OutputId {
    fn to_tensor_name(&self, graph: &Graph) -> Result<String> {
        graph.output_type(*self)?;
        Ok(graph.tensor_name(*self))
    }
}

/// A node of a graph: a name, or an id.
pub trait ToNodeName {
    /// Returns the node's name.
    ///
    /// # Errors
    /// Returns `NotFound` for an id that is not in the graph. A name is not checked.
    fn to_node_name(&self, graph: &Graph) -> Result<String>;
}

impl ToNodeName for NodeId {
    fn to_node_name(&self, graph: &Graph) -> Result<String> {
        graph.node(*self).map(|node| node.name().to_owned())
    }
}

macro_rules! names {
    ($($name:ty),*) => {$(
        impl ToTensorName for $name {
            fn to_tensor_name(&self, _: &Graph) -> Result<String> {
                Ok((*self).to_string())
            }
        }

        impl ToNodeName for $name {
            fn to_node_name(&self, _: &Graph) -> Result<String> {
                Ok((*self).to_string())
            }
        }
    )*};
}

names!(&str, String, &String);

/// The fetches of a run: one tensor, an array, or a list of any length.
pub trait Fetches {
    /// The type of the fetched values: a [`Tensor`] for one tensor, an array or a `Vec` of them for several.
    type Values;

    /// Returns the names of the tensors.
    ///
    /// # Errors
    /// Returns `NotFound` or `OutOfRange` for an id that is not in the graph. A name is not checked.
    fn names(&self, graph: &Graph) -> Result<Vec<String>>;

    /// Returns the values in the form of the fetches. `values` has one value for each name.
    ///
    /// # Errors
    /// Returns `Internal` for another number of values.
    fn values(self, values: Vec<Tensor>) -> Result<Self::Values>;
}

impl<T: ToTensorName> Fetches for T {
    type Values = Tensor;

    fn names(&self, graph: &Graph) -> Result<Vec<String>> {
        Ok(vec![self.to_tensor_name(graph)?])
    }

    fn values(self, values: Vec<Tensor>) -> Result<Tensor> {
        let [value] = [self].values(values)?;
        Ok(value)
    }
}

impl<T: ToTensorName, const N: usize> Fetches for [T; N] {
    type Values = [Tensor; N];

    fn names(&self, graph: &Graph) -> Result<Vec<String>> {
        self.iter().map(|tensor| tensor.to_tensor_name(graph)).collect()
    }

    fn values(self, values: Vec<Tensor>) -> Result<[Tensor; N]> {
        values.try_into().map_err(|values: Vec<Tensor>| error!(Internal, "{} values for {N} fetches", values.len()))
    }
}

impl<T: ToTensorName> Fetches for &[T] {
    type Values = Vec<Tensor>;

    fn names(&self, graph: &Graph) -> Result<Vec<String>> {
        self.iter().map(|tensor| tensor.to_tensor_name(graph)).collect()
    }

    fn values(self, values: Vec<Tensor>) -> Result<Vec<Tensor>> {
        Ok(values)
    }
}

impl<T: ToTensorName> Fetches for Vec<T> {
    type Values = Vec<Tensor>;

    fn names(&self, graph: &Graph) -> Result<Vec<String>> {
        self.as_slice().names(graph)
    }

    fn values(self, values: Vec<Tensor>) -> Result<Vec<Tensor>> {
        Ok(values)
    }
}
