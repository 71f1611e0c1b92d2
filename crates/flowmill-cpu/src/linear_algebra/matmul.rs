//! `MatMul` and `_FusedMatMul`.

use super::product::{Product, Sizes, StableRhs, finish};
use crate::gemm::{Activation, Epilogue, MatrixRef};
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, DType, PartialShape, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::marker::PhantomData;
use std::sync::Arc;

/// Multiply-adds from which a product is worth another thread.
const EXPENSIVE: usize = 200_000;
/// The number of rows that is assumed where it is not known.
const USUAL_ROWS: usize = 8;

/// Which operands are stored as their transposes.
#[derive(Clone, Copy)]
struct Transposed {
    a: bool,
    b: bool,
}

impl Transposed {
    fn new(init: &KernelInit<'_>) -> Result<Transposed> {
        Ok(Transposed { a: init.attrs.get_or("transpose_a", false)?, b: init.attrs.get_or("transpose_b", false)? })
    }

    /// Checks that the operands are matrices that can be multiplied.
    fn sizes(self, a: &Shape, b: &Shape) -> Result<Sizes> {
        let matrix = |shape: &Shape, i: usize| match *shape.dims() {
            [rows, columns] => Ok((rows, columns)),
            _ if shape.rank() < 2 => bail!(InvalidArgument, "In[{i}] ndims must be >= 2: {}", shape.rank()),
            _ => bail!(InvalidArgument, "In[{i}] is not a matrix. Instead it has shape {shape}"),
        };
        let (a_dims, b_dims) = (matrix(a, 0)?, matrix(b, 1)?);
        let (m, k) = if self.a { (a_dims.1, a_dims.0) } else { a_dims };
        let (rows, n) = if self.b { (b_dims.1, b_dims.0) } else { b_dims };
        if k != rows {
            bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {a}, In[1]: {b}");
        }
        Ok(Sizes { m, k, n })
    }

    /// An estimate from what is known when the plan is made.
    fn cost(self, init: &KernelInit<'_>) -> Cost {
        let (a, b) = (init.input_shape(0), init.input_shape(1));
        let (m, k) = if self.a { (a.dim(1), a.dim(0)) } else { (a.dim(0), a.dim(1)) };
        let (rows, n) = if self.b { (b.dim(1), b.dim(0)) } else { (b.dim(0), b.dim(1)) };
        let work = m.unwrap_or(USUAL_ROWS).saturating_mul(k.or(rows).unwrap_or(1)).saturating_mul(n.unwrap_or(1));
        if work >= EXPENSIVE { Cost::Expensive } else { Cost::Cheap }
    }
}

/// The sizes of a product of matrices of these shapes.
///
/// # Errors
/// `InvalidArgument` where they are no matrices, or none that can be multiplied.
pub(crate) fn product_sizes(a: &Shape, b: &Shape) -> Result<Sizes> {
    Transposed { a: false, b: false }.sizes(a, b)
}

/// An estimate for a product of an unknown number of rows with these weights.
pub(crate) fn product_cost(weights: &PartialShape) -> Cost {
    let work = weights.dim(0).unwrap_or(1).saturating_mul(weights.dim(1).unwrap_or(1)).saturating_mul(USUAL_ROWS);
    if work >= EXPENSIVE { Cost::Expensive } else { Cost::Cheap }
}

fn operand<'a, T: Product>(data: &'a [T], rows: usize, columns: usize, transposed: bool) -> MatrixRef<'a, T> {
    MatrixRef { data, ld: if transposed { rows } else { columns }, transposed }
}

struct MatMul<T> {
    transposed: Transposed,
    cost: Cost,
    marker: PhantomData<fn() -> T>,
}

impl<T: Product> Kernel for MatMul<T> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (ctx.input(0)?, ctx.input(1)?);
        let size = self.transposed.sizes(a.shape(), b.shape())?;
        let mut c = Tensor::uninit(T::DTYPE, [size.m, size.n])?;
        T::product(
            size,
            operand(a.as_slice()?, size.m, size.k, self.transposed.a),
            operand(b.as_slice()?, size.k, size.n, self.transposed.b),
            c.as_mut_slice()?,
        );
        ctx.set_output(0, c);
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// The kernel of `MatMul`.
pub(super) fn make_matmul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let transposed = Transposed::new(init)?;
    let cost = transposed.cost(init);
    match init.dtype("T")? {
        DType::F32 => {
            Ok(Arc::new(FusedMatMul { transposed, cost, rhs: StableRhs::new(init.constant(1).is_some()), fusion: Fusion::default() }))
        }
        t => for_dtype!(t, [f16, bf16, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
            T => Ok(Arc::new(MatMul::<T> { transposed, cost, marker: PhantomData })), _ => init.unsupported()),
    }
}

/// What happens to a product before it is stored.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fusion {
    /// The third input is added to every row.
    bias: bool,
    /// The input after that is added element by element.
    residual: bool,
    activation: Activation,
}

impl Fusion {
    pub(crate) fn new(init: &KernelInit<'_>) -> Result<Fusion> {
        let mut fusion = Fusion::default();
        let ops: Vec<&str> = init.attrs.list("fused_ops")?;
        for (i, op) in ops.iter().enumerate() {
            let last = i + 1 == ops.len();
            fusion.activation = match *op {
                "BiasAdd" if i == 0 => {
                    fusion.bias = true;
                    continue;
                }
                "Add" if !fusion.residual => {
                    fusion.residual = true;
                    continue;
                }
                "Relu" if last => Activation::Relu,
                "Relu6" if last => Activation::Relu6,
                "LeakyRelu" if last => Activation::LeakyRelu(init.attrs.get_or("leakyrelu_alpha", 0.2f32)?),
                "Elu" if last => Activation::Elu,
                "Tanh" if last => Activation::Tanh,
                "Sigmoid" if last => Activation::Sigmoid,
                "GeluExact" if last => Activation::GeluExact,
                "GeluApproximate" if last => Activation::GeluApproximate,
                _ => bail!(Unimplemented, "Fusion is not implemented: [{}]", ops.join(",")),
            };
        }
        Ok(fusion)
    }

    /// The fusion's operands among `args`, the inputs after the matrices.
    pub(crate) fn epilogue<'a>(&self, args: &[&'a Tensor], size: Sizes) -> Result<Epilogue<'a>> {
        let mut args = args.iter();
        let mut epilogue = Epilogue { activation: self.activation, ..Epilogue::default() };
        if self.bias {
            let Some(bias) = args.next().filter(|b| b.num_elements() == size.n && b.rank() >= 1) else {
                bail!(InvalidArgument, "Fused MatMul needs a bias of {} elements", size.n);
            };
            epilogue.bias = Some(bias.as_slice()?);
        }
        if self.residual {
            let Some(residual) = args.next().filter(|r| *r.shape().dims() == [size.m, size.n]) else {
                bail!(InvalidArgument, "Fused MatMul needs an addend of shape [{},{}]", size.m, size.n);
            };
            epilogue.residual = Some((residual.as_slice()?, size.n));
        }
        Ok(epilogue)
    }
}

/// The product of `float32` matrices and what follows it.
struct FusedMatMul {
    transposed: Transposed,
    cost: Cost,
    rhs: StableRhs,
    fusion: Fusion,
}

impl FusedMatMul {
    fn multiply(&self, a: &Tensor, b: &Tensor, args: &[&Tensor]) -> Result<Tensor> {
        let size = self.transposed.sizes(a.shape(), b.shape())?;
        let epilogue = self.fusion.epilogue(args, size)?;
        let mut c = Tensor::uninit(DType::F32, [size.m, size.n])?;
        let target = c.as_mut_slice::<f32>()?;
        let rows = a.as_slice::<f32>()?;
        if self.transposed.a {
            f32::product(size, operand(rows, size.m, size.k, true), operand(b.as_slice()?, size.k, size.n, self.transposed.b), target);
            finish(target, size, &epilogue);
        } else {
            self.rhs.multiply(size, rows, b, self.transposed.b, target, &epilogue)?;
        }
        Ok(c)
    }
}

impl Kernel for FusedMatMul {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let c = {
            let args: smallvec::SmallVec<[&Tensor; 2]> = ctx.inputs_from(2).collect();
            self.multiply(ctx.input(0)?, ctx.input(1)?, &args)?
        };
        ctx.set_output(0, c);
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// A fused product of 16-bit floats, computed in `float32`.
struct Widened<T> {
    inner: FusedMatMul,
    marker: PhantomData<fn() -> T>,
}

impl<T: crate::number::Number<Acc = f32>> Kernel for Widened<T> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let wide = |t: &Tensor| Tensor::from_slice(t.shape().clone(), &t.as_slice::<T>()?.iter().map(|x| x.widen()).collect::<Vec<f32>>());
        let inputs = ctx.inputs_from(0).map(wide).collect::<Result<Vec<_>>>()?;
        let [a, b, args @ ..] = &inputs[..] else { bail!(Internal, "a product needs two inputs") };
        let c = self.inner.multiply(a, b, &args.iter().collect::<Vec<_>>())?;
        let narrow: Vec<T> = c.as_slice::<f32>()?.iter().map(|&x| T::narrow(x)).collect();
        let out = Tensor::from_slice(c.shape().clone(), &narrow)?;
        ctx.set_output(0, out);
        Ok(())
    }

    fn cost(&self) -> Cost {
        self.inner.cost
    }
}

/// The kernel of `_FusedMatMul`.
pub(super) fn make_fused_matmul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let transposed = Transposed::new(init)?;
    let cost = transposed.cost(init);
    let dtype = init.dtype("T")?;
    let rhs = StableRhs::new(dtype == DType::F32 && init.constant(1).is_some());
    let inner = FusedMatMul { transposed, cost, rhs, fusion: Fusion::new(init)? };
    match dtype {
        DType::F32 => Ok(Arc::new(inner)),
        DType::F16 => Ok(Arc::new(Widened::<f16> { inner, marker: PhantomData })),
        DType::BF16 => Ok(Arc::new(Widened::<bf16> { inner, marker: PhantomData })),
        _ => init.unsupported(),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Call, strings, ty};
    use flowmill_tensor::{Complex, DType, Element, Result, Tensor, bf16};

    fn matrix<T: Element>(dims: [usize; 2], f: impl Fn(usize) -> T) -> Tensor {
        Tensor::from_slice(dims, &(0..dims[0] * dims[1]).map(f).collect::<Vec<_>>()).unwrap()
    }

    fn matmul(a: Tensor, b: Tensor, transpose: [bool; 2]) -> Result<Tensor> {
        Call::new("MatMul")
            .attr("T", ty(a.dtype()))
            .attr("transpose_a", transpose[0])
            .attr("transpose_b", transpose[1])
            .inputs(vec![a, b])
            .run1()
    }

    #[test]
    fn every_transposition_and_type() {
        let expected = [7, 10, 15, 22];
        let (plain, swapped) = (|i: usize| i as i32 + 1, |i: usize| [1, 3, 2, 4][i]);
        for transpose in [[false, false], [true, false], [false, true], [true, true]] {
            let pick = |t: bool| if t { matrix([2, 2], swapped) } else { matrix([2, 2], plain) };
            let c = matmul(pick(transpose[0]), pick(transpose[1]), transpose).unwrap();
            assert_eq!(c.as_slice::<i32>().unwrap(), expected, "{transpose:?}");
            let float = |t: bool| matrix([2, 2], |i| if t { swapped(i) } else { plain(i) } as f32);
            let c = matmul(float(transpose[0]), float(transpose[1]), transpose).unwrap();
            assert_eq!(c.as_slice::<f32>().unwrap(), expected.map(|x| x as f32), "{transpose:?}");
        }
        let complex = matmul(matrix([1, 1], |_| Complex::new(1f64, 2.0)), matrix([1, 1], |_| Complex::new(3.0, 1.0)), [false; 2]).unwrap();
        assert_eq!(complex.as_slice::<Complex<f64>>().unwrap(), [Complex::new(1.0, 7.0)]);
        let half = matmul(matrix([1, 300], |_| bf16::from_f32(1.0)), matrix([300, 1], |_| bf16::from_f32(1.0)), [false; 2]).unwrap();
        assert_eq!(half.as_slice::<bf16>().unwrap(), [bf16::from_f32(300.0)]);
    }

    #[test]
    fn sizes_are_checked() {
        let zeros = |dims: &[usize]| Tensor::zeros(DType::F32, dims).unwrap();
        let error = matmul(zeros(&[2, 3]), zeros(&[2, 3]), [false; 2]).unwrap_err();
        assert!(error.message().contains("Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]"), "{error}");
        assert!(matmul(zeros(&[2]), zeros(&[2, 3]), [false; 2]).unwrap_err().message().contains("In[0] ndims must be >= 2"));
        assert_eq!(matmul(zeros(&[2, 0]), zeros(&[0, 3]), [false; 2]).unwrap().as_slice::<f32>().unwrap(), [0.0; 6]);
        assert_eq!(matmul(zeros(&[0, 2]), zeros(&[2, 3]), [false; 2]).unwrap().shape().dims(), [0, 3]);
    }

    #[test]
    fn a_right_hand_side_is_followed_when_it_changes() {
        let call = |b: &Tensor| Call::new("MatMul").attr("T", ty(DType::F32)).inputs(vec![matrix([2, 32], |i| i as f32), b.clone()]);
        let weights = [matrix([32, 32], |i| (i % 7) as f32), matrix([32, 32], |i| (i % 5) as f32)];
        let expected: Vec<Tensor> = weights.iter().map(|b| call(b).run1().unwrap()).collect();
        let kernel = call(&weights[0]).kernel().unwrap();
        for i in [0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 0] {
            let c = call(&weights[i]).run_with(&kernel).unwrap()[0].take_slice();
            assert_eq!(c, expected[i].as_slice::<f32>().unwrap());
        }
    }

    trait TakeSlice {
        fn take_slice(&self) -> Vec<f32>;
    }
    impl TakeSlice for Option<Tensor> {
        fn take_slice(&self) -> Vec<f32> {
            self.as_ref().unwrap().as_slice::<f32>().unwrap().to_vec()
        }
    }

    #[test]
    fn fusions() {
        let fused = |ops: &[&str], args: Vec<Tensor>| {
            let call = Call::new("_FusedMatMul").attr("T", ty(DType::F32)).attr("fused_ops", strings(ops));
            Ok::<_, flowmill_tensor::Error>(
                call.inputs(vec![matrix([2, 3], |i| i as f32 - 2.0), matrix([3, 2], |i| i as f32)])
                    .inputs(args)
                    .run1()?
                    .as_slice::<f32>()?
                    .to_vec(),
            )
        };
        // The product is [-2, -5; 16, 22].
        let bias = || Tensor::vector(&[1f32, 10.0]).unwrap();
        assert_eq!(fused(&["BiasAdd"], vec![bias()]).unwrap(), [-1.0, 5.0, 17.0, 32.0]);
        assert_eq!(fused(&["BiasAdd", "Relu6"], vec![bias()]).unwrap(), [0.0, 5.0, 6.0, 6.0]);
        assert_eq!(fused(&["BiasAdd", "Add", "Relu"], vec![bias(), matrix([2, 2], |_| 1f32)]).unwrap(), [0.0, 6.0, 18.0, 33.0]);
        let tanh = fused(&["BiasAdd", "Tanh"], vec![bias()]).unwrap();
        assert!((tanh[0] + 0.761_594_2).abs() < 1e-6);
        assert!(fused(&["BiasAdd"], vec![Tensor::vector(&[1f32]).unwrap()]).is_err());
        assert!(fused(&["Relu", "BiasAdd"], vec![bias()]).unwrap_err().message().contains("Fusion is not implemented"));
    }
}
