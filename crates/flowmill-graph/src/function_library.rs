//! The functions that a graph may call.

use crate::OpDef;
use flowmill_proto as proto;
use flowmill_proto::{AttrValue, FunctionDef, FunctionDefLibrary, GradientDef, Message, RegisteredGradient, UnknownFields};
use flowmill_tensor::{Result, bail};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A function: its definition as it came over the wire, and its signature as an op.
#[derive(Clone, Debug)]
pub struct Function {
    def: FunctionDef,
    op_def: Arc<OpDef>,
}

impl Function {
    /// Returns the definition.
    pub fn def(&self) -> &FunctionDef {
        &self.def
    }

    /// Returns the op of a node that calls the function by its name.
    pub fn op_def(&self) -> &Arc<OpDef> {
        &self.op_def
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.op_def.name
    }
}

/// Functions by name, in the order they were added, and their gradients; and the definitions of ops that the registry lacks and that came with a graph.
#[derive(Clone, Debug, Default)]
pub struct FunctionLibrary {
    /// The functions by a number that grows with each function added.
    functions: BTreeMap<u64, Arc<Function>>,
    numbers: HashMap<String, u64>,
    next: u64,
    gradients: Vec<GradientDef>,
    gradient_places: HashMap<String, usize>,
    registered_gradients: Vec<RegisteredGradient>,
    unknown_fields: UnknownFields,
    /// Ops without functions.
    foreign_ops: BTreeMap<String, Arc<OpDef>>,
}

impl FunctionLibrary {
    /// Returns a library of these functions and gradients.
    ///
    /// # Errors
    /// `InvalidArgument` for a malformed signature, or if two functions have one name.
    pub fn from_proto(def: FunctionDefLibrary) -> Result<FunctionLibrary> {
        let mut library = FunctionLibrary::default();
        library.add_library(def)?;
        Ok(library)
    }

    /// Returns the wire form, in the order the functions were added.
    pub fn to_proto(&self) -> FunctionDefLibrary {
        FunctionDefLibrary {
            function: self.iter().map(|f| f.def.clone()).collect(),
            gradient: self.gradients.clone(),
            registered_gradients: self.registered_gradients.clone(),
            unknown_fields: self.unknown_fields.clone(),
        }
    }

    /// Adds a function; nothing happens if the same one is there already.
    ///
    /// # Errors
    /// `InvalidArgument` for a signature that is malformed, or if another function has this name.
    pub fn add(&mut self, def: FunctionDef) -> Result<()> {
        let Some(signature) = &def.signature else { bail!(InvalidArgument, "FunctionDef without a signature") };
        if signature.name.is_empty() {
            bail!(InvalidArgument, "FunctionDef without a name");
        }
        if let Some(there) = self.get(&signature.name) {
            // Values that are not equal to themselves, such as NaN, are compared as they are written.
            if there.def == def || there.def.encode_to_vec() == def.encode_to_vec() {
                return Ok(());
            }
            bail!(
                InvalidArgument,
                "Cannot add function '{}' because a different function with the same name already exists.",
                signature.name
            );
        }
        let op_def = Arc::new(OpDef::from_proto(signature).map_err(|e| e.context(format_args!("Function '{}'", signature.name)))?);
        self.numbers.insert(op_def.name.clone(), self.next);
        self.functions.insert(self.next, Arc::new(Function { def, op_def }));
        self.next += 1;
        Ok(())
    }

    /// Makes `gradient_func` the gradient of `function_name`.
    ///
    /// # Errors
    /// `InvalidArgument` if it has another one.
    pub fn add_gradient(&mut self, def: GradientDef) -> Result<()> {
        if let Some(&place) = self.gradient_places.get(&def.function_name) {
            let there = &self.gradients[place].gradient_func;
            if *there == def.gradient_func {
                return Ok(());
            }
            bail!(
                InvalidArgument,
                "Cannot assign gradient function '{}' to '{}' because it already has gradient function '{there}'",
                def.gradient_func,
                def.function_name
            );
        }
        self.gradient_places.insert(def.function_name.clone(), self.gradients.len());
        self.gradients.push(def);
        Ok(())
    }

    /// Adds everything of another library. After an error some of it may have been added.
    ///
    /// # Errors
    /// `InvalidArgument` for a malformed signature, or if a name has another function or gradient.
    pub fn add_library(&mut self, def: FunctionDefLibrary) -> Result<()> {
        for function in def.function {
            self.add(function)?;
        }
        for gradient in def.gradient {
            self.add_gradient(gradient)?;
        }
        for gradient in def.registered_gradients {
            if !self.registered_gradients.contains(&gradient) {
                self.registered_gradients.push(gradient);
            }
        }
        if self.unknown_fields.is_empty() {
            self.unknown_fields = def.unknown_fields;
        }
        Ok(())
    }

    /// Removes a function. Returns true if it existed.
    pub fn remove(&mut self, name: &str) -> bool {
        self.numbers.remove(name).is_some_and(|number| self.functions.remove(&number).is_some())
    }

    /// Replaces the function of the same name, or adds it.
    ///
    /// # Errors
    /// `InvalidArgument` for a signature that is malformed; nothing is changed then.
    pub fn replace(&mut self, def: FunctionDef) -> Result<()> {
        let Some(&number) = def.signature.as_ref().and_then(|s| self.numbers.get(&s.name)) else { return self.add(def) };
        let op_def = Arc::new(OpDef::from_proto(&def.signature.clone().unwrap_or_default())?);
        self.functions.insert(number, Arc::new(Function { def, op_def }));
        Ok(())
    }

    /// Returns the function called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(self.numbers.get(name)?)
    }

    /// Returns the op of the function called `name`, or the foreign op of that name.
    pub fn op_def(&self, name: &str) -> Option<&Arc<OpDef>> {
        if self.functions.is_empty() && self.foreign_ops.is_empty() {
            return None;
        }
        self.get(name).map(|f| &f.op_def).or_else(|| self.foreign_ops.get(name))
    }

    /// Adds the definition of an op that the registry lacks, as a MetaGraph's list of ops has it. Nodes of the op are kept and written, but no step can
    /// run them. Nothing happens if the name is taken. The wire form of the library does not have such ops.
    ///
    /// # Errors
    /// `InvalidArgument` for a malformed definition.
    pub fn add_foreign_op(&mut self, def: &proto::OpDef) -> Result<()> {
        if self.op_def(&def.name).is_none() {
            self.foreign_ops.insert(def.name.clone(), Arc::new(OpDef::from_proto(def)?));
        }
        Ok(())
    }

    /// Returns the functions that nodes call, each given by its op and its attributes, and those that these functions call, and so on.
    pub fn reachable<'a, A: Iterator<Item = &'a AttrValue>>(&self, nodes: impl IntoIterator<Item = (&'a str, A)>) -> Vec<&Arc<Function>> {
        let mut names = BTreeSet::new();
        nodes.into_iter().for_each(|(op, attrs)| add_names(op, attrs, &mut names));
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        while let Some(name) = names.pop_first() {
            let Some(function) = self.get(&name) else { continue };
            if seen.insert(name) {
                found.push(function);
                function.def.node_def.iter().for_each(|node| add_names(&node.op, node.attr.values(), &mut names));
            }
        }
        found
    }

    /// The name of the function's gradient.
    pub fn gradient(&self, name: &str) -> Option<&str> {
        self.gradient_places.get(name).map(|&place| &*self.gradients[place].gradient_func)
    }

    /// The functions in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Function>> {
        self.functions.values()
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Returns true if there are neither functions nor gradients.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.gradients.is_empty() && self.registered_gradients.is_empty()
    }
}

/// Adds the names that may be those of functions which a node calls.
fn add_names<'a>(op: &str, attrs: impl Iterator<Item = &'a AttrValue>, names: &mut BTreeSet<String>) {
    names.insert(op.to_owned());
    names.extend(attrs.flat_map(AttrValue::functions).map(|function| function.name.clone()));
}
