//! Which ops there are.

use crate::OpDef;
use crate::builtin;
use flowmill_tensor::{Result, bail};
use hashbrown::HashMap;
use std::sync::Arc;

/// The definitions of ops by name. Filled once, then shared.
#[derive(Clone, Debug)]
pub struct OpRegistry {
    ops: HashMap<String, Arc<OpDef>>,
}

impl OpRegistry {
    /// A registry of these definitions. `_Arg` and `_Retval`, which graphs themselves need, are added where they are missing.
    ///
    /// # Errors
    /// `AlreadyExists` for two definitions of one name.
    pub fn new(defs: impl IntoIterator<Item = OpDef>) -> Result<OpRegistry> {
        let mut registry = OpRegistry { ops: HashMap::new() };
        for def in defs {
            registry.add(def)?;
        }
        for def in builtin::function_ops() {
            if registry.get(&def.name).is_none() {
                registry.add(def)?;
            }
        }
        Ok(registry)
    }

    /// Adds a definition.
    ///
    /// # Errors
    /// `AlreadyExists` where the name is taken.
    pub fn add(&mut self, def: OpDef) -> Result<()> {
        if self.ops.contains_key(&def.name) {
            bail!(AlreadyExists, "Op with name {} is registered twice", def.name);
        }
        self.ops.insert(def.name.clone(), Arc::new(def));
        Ok(())
    }

    /// The definition of the op called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<OpDef>> {
        self.ops.get(name)
    }

    /// The same, or TensorFlow's error.
    ///
    /// # Errors
    /// `NotFound` where there is no such op.
    pub fn lookup(&self, name: &str) -> Result<&Arc<OpDef>> {
        match self.get(name) {
            Some(def) => Ok(def),
            None => bail!(
                NotFound,
                "Op type not registered '{name}' in this binary. Make sure that the op is part of the op catalogue or a function of the graph's library."
            ),
        }
    }

    /// All definitions, by name.
    pub fn sorted(&self) -> Vec<&Arc<OpDef>> {
        let mut defs: Vec<_> = self.ops.values().collect();
        defs.sort_by(|a, b| a.name.cmp(&b.name));
        defs
    }

    /// Number of ops.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}
