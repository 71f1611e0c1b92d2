//! One op's declaration, as the family files write it.

use flowmill_graph::builder::gradients::{GradientFn, OpGradient};
use flowmill_graph::image_layout::ImageLayout;
use flowmill_graph::{Declaration, Deprecation, Effects, ElementwiseFunction, Moves, OpDef, OpTraits, Role, ShapeFn, Work};
use flowmill_tensor::Result;

/// A declared op: text that becomes an [`OpDef`] when someone asks for the op. Declarations are constants, so that starting up costs nothing.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    name: &'static str,
    signature: &'static str,
    attrs: &'static str,
    commutative: bool,
    aggregate: bool,
    allows_uninitialized_input: bool,
    deprecated: Option<(i32, &'static str)>,
    shape_fn: Option<ShapeFn>,
    gradient: OpGradient,
    traits: OpTraits,
}

/// Declares the op `name` with arguments as in `(x: T, rest: N * T, cell: Ref(T), values: Tin) -> (y: float)`.
///
/// A name after a colon is that of an attribute or of an element type. An attribute that is a list of types makes a list of tensors.
pub(crate) const fn op(name: &'static str, signature: &'static str) -> Op {
    Op {
        name,
        signature,
        attrs: "",
        commutative: false,
        aggregate: false,
        allows_uninitialized_input: false,
        deprecated: None,
        shape_fn: None,
        gradient: OpGradient::Undefined,
        traits: NOTHING_KNOWN,
    }
}

/// [`OpTraits::default`], for constants.
const NOTHING_KNOWN: OpTraits = OpTraits {
    role: Role::Kernel,
    passes_on: false,
    moves: Moves::No,
    elementwise: None,
    reduces: false,
    reads_shape: false,
    selects: false,
    leaves_outputs_dead: false,
    effects: Effects::None,
    checks_input: false,
    costly: false,
    work: Work::Unknown,
    gives_handle_for_string: false,
    image_layout: None,
};

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
        Op { traits: OpTraits { effects: Effects::State, ..self.traits }, ..self }
    }

    /// The op is there for the error that its kernel returns for some inputs.
    pub(crate) const fn checks_input(self) -> Op {
        Op { traits: OpTraits { checks_input: true, ..self.traits }, ..self }
    }

    /// Inputs of a reference type may be uninitialised.
    pub(crate) const fn allows_uninitialized_input(self) -> Op {
        Op { allows_uninitialized_input: true, ..self }
    }

    /// Graphs of producer version `version` and later may not use the op.
    pub(crate) const fn deprecated(self, version: i32, explanation: &'static str) -> Op {
        Op { deprecated: Some((version, explanation)), ..self }
    }

    /// Sets the function that infers the outputs' static shapes from the inputs'.
    pub(crate) const fn shape(self, shape_fn: ShapeFn) -> Op {
        Op { shape_fn: Some(shape_fn), ..self }
    }

    /// Sets the function that makes the gradients of the inputs from those of the outputs.
    pub(crate) const fn gradient(self, gradient: GradientFn) -> Op {
        Op { gradient: OpGradient::Function(gradient), ..self }
    }

    /// Declares that no gradient flows through this op.
    pub(crate) const fn not_differentiable(self) -> Op {
        Op { gradient: OpGradient::NotDifferentiable, ..self }
    }

    /// Sets the part that the op's nodes have in a graph.
    pub(crate) const fn role(self, role: Role) -> Op {
        Op { traits: OpTraits { role, ..self.traits }, ..self }
    }

    /// The output is input 0, the same value.
    pub(crate) const fn passes_on(self) -> Op {
        Op { traits: OpTraits { passes_on: true, ..self.traits }, ..self }
    }

    /// Says how the outputs consist of elements of the inputs.
    pub(crate) const fn moves(self, moves: Moves) -> Op {
        Op { traits: OpTraits { moves, ..self.traits }, ..self }
    }

    /// Sets the function that computes each element of the output from those at the same place of the inputs.
    pub(crate) const fn elementwise(self, function: ElementwiseFunction) -> Op {
        Op { traits: OpTraits { elementwise: Some(function), ..self.traits }, ..self }
    }

    /// Input 0 is reduced over the axes in input 1.
    pub(crate) const fn reduces(self) -> Op {
        Op { traits: OpTraits { reduces: true, ..self.traits }, ..self }
    }

    /// The outputs depend on the shapes of the inputs alone.
    pub(crate) const fn reads_shape(self) -> Op {
        Op { traits: OpTraits { reads_shape: true, ..self.traits }, ..self }
    }

    /// The outputs have no more elements than the inputs; how many of them only the values say.
    pub(crate) const fn selects(self) -> Op {
        Op { traits: OpTraits { selects: true, ..self.traits }, ..self }
    }

    /// The kernel may leave outputs unset, which makes them dead.
    pub(crate) const fn leaves_outputs_dead(self) -> Op {
        Op { traits: OpTraits { leaves_outputs_dead: true, ..self.traits }, ..self }
    }

    /// The op makes or changes an object that a handle names, but TensorFlow does not declare it stateful.
    pub(crate) const fn handles_object(self) -> Op {
        Op { traits: OpTraits { effects: Effects::Object, ..self.traits }, ..self }
    }

    /// A node takes more than about ten microseconds for usual sizes.
    pub(crate) const fn costly(self) -> Op {
        Op { traits: OpTraits { costly: true, ..self.traits }, ..self }
    }

    /// Sets the number of operations of a node, as a function of shapes.
    pub(crate) const fn work(self, work: Work) -> Op {
        Op { traits: OpTraits { work, ..self.traits }, ..self }
    }

    /// An output of type `string` is a handle that holds an object.
    pub(crate) const fn gives_handle_for_string(self) -> Op {
        Op { traits: OpTraits { gives_handle_for_string: true, ..self.traits }, ..self }
    }

    /// Sets the inputs and outputs whose layout follows the attribute `data_format`.
    pub(crate) const fn image_layout(self, layout: &'static ImageLayout) -> Op {
        Op { traits: OpTraits { image_layout: Some(layout), ..self.traits }, ..self }
    }

    /// The op's type.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The definition that the declaration's text describes.
    ///
    /// # Errors
    /// `Internal` if the text is malformed: a test parses every declaration, so no caller sees one.
    pub fn definition(&self) -> Result<OpDef> {
        let mut def =
            crate::parse::definition(self.signature, self.attrs).map_err(|e| e.context(format!("Declaration of op '{}'", self.name)))?;
        def.name = self.name.to_owned();
        def.is_commutative = self.commutative;
        def.is_aggregate = self.aggregate;
        def.allows_uninitialized_input = self.allows_uninitialized_input;
        def.deprecation = self.deprecated.map(|(version, explanation)| Deprecation { version, explanation: explanation.to_owned() });
        def.shape_fn = self.shape_fn;
        def.gradient = self.gradient;
        def.traits = self.traits;
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
