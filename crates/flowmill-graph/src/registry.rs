//! The registry of ops.

use crate::builtin;
use crate::{Evaluator, OpDef};
use flowmill_tensor::{Result, bail};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// An op whose definition is made at its first use: a program uses a few dozen ops of a catalogue of hundreds.
pub trait Declaration: Sync {
    /// Returns the op's type.
    fn name(&self) -> &'static str;

    /// Its definition, which has this name.
    ///
    /// # Errors
    /// A declaration that is malformed; there is no such op then.
    fn definition(&self) -> Result<OpDef>;
}

/// Definitions of ops that graphs may hold and nothing is known of but their signatures.
pub trait Catalogue: Sync + fmt::Debug {
    /// Returns the definition of the op called `name`.
    fn get(&self, name: &str) -> Option<&Arc<OpDef>>;
}

/// The definitions of ops by name. Filled once, then shared.
#[derive(Clone, Debug, Default)]
pub struct OpRegistry {
    ops: HashMap<Cow<'static, str>, Entry>,
    /// For names that `ops` lacks.
    catalogue: Option<&'static dyn Catalogue>,
    evaluator: Kernels,
}

/// The evaluator that computes ops ahead of a step.
#[derive(Clone, Default)]
struct Kernels(Option<Arc<dyn Evaluator + Send + Sync>>);

impl fmt::Debug for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Some(_)" } else { "None" })
    }
}

#[derive(Clone)]
enum Entry {
    Defined(Arc<OpDef>),
    Declared { declaration: &'static dyn Declaration, made: OnceLock<Option<Arc<OpDef>>> },
}

impl Entry {
    fn get(&self) -> Option<&Arc<OpDef>> {
        match self {
            Entry::Defined(def) => Some(def),
            Entry::Declared { declaration, made } => made.get_or_init(|| declaration.definition().ok().map(Arc::new)).as_ref(),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl OpRegistry {
    /// Returns a registry of these definitions. `_Arg` and `_Retval`, which graphs themselves need, are added if they are missing.
    ///
    /// # Errors
    /// `AlreadyExists` for two definitions of one name.
    pub fn new(defs: impl IntoIterator<Item = OpDef>) -> Result<OpRegistry> {
        let mut registry = OpRegistry::default();
        for def in defs {
            registry.add(def)?;
        }
        registry.complete()
    }

    /// Like [`OpRegistry::new`], from declarations. A malformed one is ignored.
    ///
    /// # Errors
    /// `AlreadyExists` for two declarations of one name.
    pub fn declared<D: Declaration + 'static>(declarations: impl IntoIterator<Item = &'static D>) -> Result<OpRegistry> {
        let declarations = declarations.into_iter();
        let mut registry = OpRegistry { ops: HashMap::with_capacity(declarations.size_hint().0), ..OpRegistry::default() };
        for declaration in declarations {
            registry.insert(declaration.name().into(), Entry::Declared { declaration, made: OnceLock::new() })?;
        }
        registry.complete()
    }

    /// Returns the registry with a catalogue in which it looks up the names that it lacks.
    pub fn with_catalogue(mut self, catalogue: &'static dyn Catalogue) -> OpRegistry {
        self.catalogue = Some(catalogue);
        self
    }

    /// Returns the registry with an evaluator that computes ops ahead of a step. Static shapes can then depend on values that only a kernel can
    /// compute, such as that of `tf.reverse([2, 3], [0])`.
    pub fn with_evaluator(mut self, evaluator: Arc<dyn Evaluator + Send + Sync>) -> OpRegistry {
        self.evaluator = Kernels(Some(evaluator));
        self
    }

    /// Returns the evaluator that computes ops ahead of a step.
    pub(crate) fn evaluator(&self) -> Option<&Arc<dyn Evaluator + Send + Sync>> {
        self.evaluator.0.as_ref()
    }

    fn complete(mut self) -> Result<OpRegistry> {
        for def in builtin::function_ops() {
            if !self.ops.contains_key(def.name.as_str()) {
                self.add(def)?;
            }
        }
        Ok(self)
    }

    /// Adds a definition.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken.
    pub fn add(&mut self, def: OpDef) -> Result<()> {
        self.insert(def.name.clone().into(), Entry::Defined(Arc::new(def)))
    }

    fn insert(&mut self, name: Cow<'static, str>, entry: Entry) -> Result<()> {
        if let Err(taken) = self.ops.try_insert(name, entry) {
            bail!(AlreadyExists, "Op with name {} is registered twice", taken.entry.key());
        }
        Ok(())
    }

    /// Returns the definition of the op called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<OpDef>> {
        match self.ops.get(name) {
            Some(entry) => entry.get(),
            None => self.catalogue?.get(name),
        }
    }

    /// Like [`OpRegistry::get`], with TensorFlow's error for an unknown op.
    ///
    /// # Errors
    /// `NotFound` if there is no such op.
    pub fn lookup(&self, name: &str) -> Result<&Arc<OpDef>> {
        match self.get(name) {
            Some(def) => Ok(def),
            None => bail!(
                NotFound,
                "Op type not registered '{name}' in this binary. Make sure that the op is part of the op catalogue or a function of the graph's library."
            ),
        }
    }

    /// Returns all definitions but those of a catalogue, by name.
    pub fn sorted(&self) -> Vec<&Arc<OpDef>> {
        let mut defs: Vec<_> = self.ops.values().filter_map(Entry::get).collect();
        defs.sort_by(|a, b| a.name.cmp(&b.name));
        defs
    }

    /// The names of all ops but those of a catalogue, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.ops.keys().map(AsRef::as_ref).collect();
        names.sort_unstable();
        names
    }

    /// Number of ops, without those of a catalogue.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Returns true if there are no ops.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}
