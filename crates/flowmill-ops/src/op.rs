//! One op's declaration, as the family files write it.

use flowmill_graph::builder::gradients::{GradientFn, OpGradient};
use flowmill_graph::{Declaration, Deprecation, OpDef, ShapeFn};
use flowmill_tensor::Result;

/// A declared op: text that becomes an [`OpDef`] when someone asks for the op. Declarations are constants, so that starting up costs nothing.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    name: &'static str,
    signature: &'static str,
    attrs: &'static str,
    commutative: bool,
    aggregate: bool,
    stateful: bool,
    allows_uninitialized_input: bool,
    deprecated: Option<(i32, &'static str)>,
    shape_fn: Option<ShapeFn>,
    gradient: OpGradient,
}

/// Declares the op `name` with arguments as in `(x: T, rest: N * T, cell: Ref(T), values: Tin) -> (y: float)`.
///
/// What stands behind a colon is the name of an attribute or of an element type. An attribute that is a list of types makes a list of tensors.
pub(crate) const fn op(name: &'static str, signature: &'static str) -> Op {
    Op {
        name,
        signature,
        attrs: "",
        commutative: false,
        aggregate: false,
        stateful: false,
        allows_uninitialized_input: false,
        deprecated: None,
        shape_fn: None,
        gradient: OpGradient::Undefined,
    }
}

impl Op {
    /// Attributes in order, separated by semicolons: `T: {float, half} = float; N: int >= 1; mode: {'up', 'down'}; sizes: list(int) = [1, 1]`.
    /// The module [`parse`](crate::parse) has the grammar.
    pub(crate) const fn attrs(self, attrs: &'static str) -> Op {
        Op { attrs, ..self }
    }

    /// The inputs may be swapped.
    pub(crate) const fn commutative(self) -> Op {
        Op { commutative: true, ..self }
    }

    /// The op sums its inputs.
    pub(crate) const fn aggregate(self) -> Op {
        Op { aggregate: true, ..self }
    }

    /// The op has state or side effects.
    pub(crate) const fn stateful(self) -> Op {
        Op { stateful: true, ..self }
    }

    /// Inputs of a reference type may be uninitialised.
    pub(crate) const fn allows_uninitialized_input(self) -> Op {
        Op { allows_uninitialized_input: true, ..self }
    }

    /// Graphs of producer version `version` and later may not use the op.
    pub(crate) const fn deprecated(self, version: i32, explanation: &'static str) -> Op {
        Op { deprecated: Some((version, explanation)), ..self }
    }

    /// How the outputs' static shapes follow from the inputs'.
    pub(crate) const fn shape(self, shape_fn: ShapeFn) -> Op {
        Op { shape_fn: Some(shape_fn), ..self }
    }

    /// How the gradients of the inputs follow from those of the outputs.
    pub(crate) const fn gradient(self, gradient: GradientFn) -> Op {
        Op { gradient: OpGradient::Function(gradient), ..self }
    }

    /// What comes before the op does not matter, to the gradient, to what comes after.
    pub(crate) const fn not_differentiable(self) -> Op {
        Op { gradient: OpGradient::NotDifferentiable, ..self }
    }

    /// The op's type.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The definition that the declaration's text describes.
    ///
    /// # Errors
    /// `Internal` where the text is malformed: a test parses every declaration, so no caller sees one.
    pub fn definition(&self) -> Result<OpDef> {
        let mut def =
            crate::parse::definition(self.signature, self.attrs).map_err(|e| e.context(format!("Declaration of op '{}'", self.name)))?;
        def.name = self.name.to_owned();
        def.is_commutative = self.commutative;
        def.is_aggregate = self.aggregate;
        def.is_stateful = self.stateful;
        def.allows_uninitialized_input = self.allows_uninitialized_input;
        def.deprecation = self.deprecated.map(|(version, explanation)| Deprecation { version, explanation: explanation.to_owned() });
        def.shape_fn = self.shape_fn;
        def.gradient = self.gradient;
        Ok(def)
    }
}

impl Declaration for Op {
    fn name(&self) -> &'static str {
        self.name
    }

    fn definition(&self) -> Result<OpDef> {
        Op::definition(self)
    }
}
