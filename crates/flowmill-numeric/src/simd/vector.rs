//! The vector type that hand-written kernels are generic over.
//!
//! A kernel is written once as an `#[inline(always)]` function over `V: Vector` (or [`MathVector`]) and instantiated
//! inside a `#[target_feature]` function for each [`Isa`](super::Isa); [`for_each_isa!`] writes those wrappers.
//!
//! Every operation is lane-wise, so a partial vector produces the same bits as a full one.

/// A vector of `LANES` numbers of one instruction set, as sums of products need it.
///
/// # Safety
/// Each method may be called only on a CPU that has the instruction set of the implementing type. Methods with
/// pointers need `LANES` (or `n`) elements readable or writable there; no alignment is needed.
pub(crate) unsafe trait Lanes: Copy + Send + Sync {
    type Elem: Copy + Send + Sync + PartialOrd + std::fmt::Debug;
    const LANES: usize;

    unsafe fn splat(x: Self::Elem) -> Self;
    unsafe fn zero() -> Self;
    unsafe fn load(p: *const Self::Elem) -> Self;
    unsafe fn store(self, p: *mut Self::Elem);
    /// Returns the first `n <= LANES` elements at `p`; the other lanes are zero.
    unsafe fn load_part(p: *const Self::Elem, n: usize) -> Self;
    /// Stores the first `n <= LANES` lanes.
    unsafe fn store_part(self, p: *mut Self::Elem, n: usize);
    /// Returns the sums of the lanes. Integers wrap around.
    unsafe fn add(self, b: Self) -> Self;
    /// Returns `self > b ? self : b` lane by lane: `b` when either is NaN, so `splat(0).max(x)` keeps NaNs.
    unsafe fn max(self, b: Self) -> Self;
    /// Returns `self < b ? self : b` lane by lane: `b` when either is NaN.
    unsafe fn min(self, b: Self) -> Self;
}

/// A vector of floats.
///
/// # Safety
/// The requirements of [`Lanes`] hold.
pub(crate) unsafe trait Vector: Lanes {
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// Returns `self * b + c`, rounded once if the instruction set can fuse the two operations.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// Returns the sum of the lanes, which are added in halves.
    unsafe fn sum(self) -> Self::Elem;
}

/// Operations besides arithmetic that elementary functions on `f32` need.
///
/// # Safety
/// The requirements of [`Vector`] hold.
pub(crate) unsafe trait MathVector: Vector<Elem = f32> {
    /// The lanes as 32-bit integers.
    type Int: Copy;
    type Mask: Copy;

    /// Returns the first `n <= LANES` elements at `p`; the other lanes are `fill`.
    unsafe fn load_part_or(p: *const f32, n: usize, fill: f32) -> Self;
    unsafe fn sqrt(self) -> Self;
    unsafe fn abs(self) -> Self;
    /// Rounds to the nearest integer, ties to even.
    unsafe fn round(self) -> Self;
    /// Returns the nearest integer as an integer; unspecified outside the range of `i32`.
    unsafe fn to_int(self) -> Self::Int;
    unsafe fn from_int(i: Self::Int) -> Self;
    unsafe fn bits(self) -> Self::Int;
    unsafe fn from_bits(i: Self::Int) -> Self;

    unsafe fn int_splat(i: i32) -> Self::Int;
    unsafe fn int_add(a: Self::Int, b: Self::Int) -> Self::Int;
    unsafe fn int_sub(a: Self::Int, b: Self::Int) -> Self::Int;
    unsafe fn int_and(a: Self::Int, b: Self::Int) -> Self::Int;
    unsafe fn int_or(a: Self::Int, b: Self::Int) -> Self::Int;
    unsafe fn int_xor(a: Self::Int, b: Self::Int) -> Self::Int;
    unsafe fn int_shl<const N: u32>(a: Self::Int) -> Self::Int;
    /// Shifts right, extending the sign.
    unsafe fn int_sar<const N: u32>(a: Self::Int) -> Self::Int;
    unsafe fn int_eq(a: Self::Int, b: Self::Int) -> Self::Mask;

    unsafe fn lt(self, b: Self) -> Self::Mask;
    unsafe fn is_nan(self) -> Self::Mask;
    unsafe fn any(m: Self::Mask) -> bool;
    /// Returns `m ? a : b`.
    unsafe fn select(m: Self::Mask, a: Self, b: Self) -> Self;
}

/// A vector of the compilation target's baseline, which the compiler maps to registers.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Portable<T, const N: usize>(pub(crate) [T; N]);

/// Computes `a * b + c`: fused if the baseline has an instruction for it, otherwise with two roundings.
macro_rules! multiply_add {
    ($a:expr, $b:expr, $c:expr) => {
        if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { $a.mul_add($b, $c) } else { $a * $b + $c }
    };
}

macro_rules! portable_lanes {
    ($t:ty, $n:expr, $add:expr) => {
        // SAFETY: plain Rust; only the pointer methods have requirements, stated by the trait.
        unsafe impl Lanes for Portable<$t, $n> {
            type Elem = $t;
            const LANES: usize = $n;

            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                Self([x; $n])
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                Self([<$t>::default(); $n])
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: the caller guarantees `LANES` readable elements; the read is unaligned.
                Self(unsafe { p.cast::<[$t; $n]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: the caller guarantees `LANES` writable elements; the write is unaligned.
                unsafe { p.cast::<[$t; $n]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, n: usize) -> Self {
                let mut lanes = [<$t>::default(); $n];
                for (i, lane) in lanes.iter_mut().enumerate().take(n) {
                    // SAFETY: the caller guarantees `n` readable elements.
                    *lane = unsafe { *p.add(i) };
                }
                Self(lanes)
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $t, n: usize) {
                for (i, lane) in self.0.iter().enumerate().take(n) {
                    // SAFETY: the caller guarantees `n` writable elements.
                    unsafe { *p.add(i) = *lane };
                }
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| $add(self.0[i], b.0[i])))
            }
            #[inline(always)]
            unsafe fn max(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| if self.0[i] > b.0[i] { self.0[i] } else { b.0[i] }))
            }
            #[inline(always)]
            unsafe fn min(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| if self.0[i] < b.0[i] { self.0[i] } else { b.0[i] }))
            }
        }
    };
}

portable_lanes!(f32, 4, |a, b| a + b);
portable_lanes!(f64, 2, |a, b| a + b);
portable_lanes!(i32, 4, i32::wrapping_add);

macro_rules! portable_vector {
    ($t:ty, $n:expr) => {
        // SAFETY: plain Rust without requirements of its own.
        unsafe impl Vector for Portable<$t, $n> {
            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] - b.0[i]))
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] * b.0[i]))
            }
            #[inline(always)]
            unsafe fn div(self, b: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i] / b.0[i]))
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                Self(std::array::from_fn(|i| multiply_add!(self.0[i], b.0[i], c.0[i])))
            }
            #[inline(always)]
            unsafe fn sum(self) -> $t {
                let mut lanes = self.0;
                let mut half = $n / 2;
                while half > 0 {
                    for i in 0..half {
                        lanes[i] += lanes[i + half];
                    }
                    half /= 2;
                }
                lanes[0]
            }
        }
    };
}

portable_vector!(f32, 4);
portable_vector!(f64, 2);

// SAFETY: plain Rust without requirements of its own.
unsafe impl MathVector for Portable<f32, 4> {
    type Int = [i32; 4];
    type Mask = [bool; 4];

    #[inline(always)]
    unsafe fn load_part_or(p: *const f32, n: usize, fill: f32) -> Self {
        let mut lanes = [fill; 4];
        for (i, lane) in lanes.iter_mut().enumerate().take(n) {
            // SAFETY: the caller guarantees `n` readable elements.
            *lane = unsafe { *p.add(i) };
        }
        Self(lanes)
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Self(self.0.map(f32::abs))
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        Self(self.0.map(f32::round_ties_even))
    }
    #[inline(always)]
    unsafe fn to_int(self) -> [i32; 4] {
        self.0.map(|x| x.round_ties_even() as i32)
    }
    #[inline(always)]
    unsafe fn from_int(i: [i32; 4]) -> Self {
        Self(i.map(|x| x as f32))
    }
    #[inline(always)]
    unsafe fn bits(self) -> [i32; 4] {
        self.0.map(|x| x.to_bits() as i32)
    }
    #[inline(always)]
    unsafe fn from_bits(i: [i32; 4]) -> Self {
        Self(i.map(|x| f32::from_bits(x as u32)))
    }
    #[inline(always)]
    unsafe fn int_splat(i: i32) -> [i32; 4] {
        [i; 4]
    }
    #[inline(always)]
    unsafe fn int_add(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        std::array::from_fn(|i| a[i].wrapping_add(b[i]))
    }
    #[inline(always)]
    unsafe fn int_sub(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        std::array::from_fn(|i| a[i].wrapping_sub(b[i]))
    }
    #[inline(always)]
    unsafe fn int_and(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        std::array::from_fn(|i| a[i] & b[i])
    }
    #[inline(always)]
    unsafe fn int_or(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        std::array::from_fn(|i| a[i] | b[i])
    }
    #[inline(always)]
    unsafe fn int_xor(a: [i32; 4], b: [i32; 4]) -> [i32; 4] {
        std::array::from_fn(|i| a[i] ^ b[i])
    }
    #[inline(always)]
    unsafe fn int_shl<const N: u32>(a: [i32; 4]) -> [i32; 4] {
        a.map(|x| x << N)
    }
    #[inline(always)]
    unsafe fn int_sar<const N: u32>(a: [i32; 4]) -> [i32; 4] {
        a.map(|x| x >> N)
    }
    #[inline(always)]
    unsafe fn int_eq(a: [i32; 4], b: [i32; 4]) -> [bool; 4] {
        std::array::from_fn(|i| a[i] == b[i])
    }
    #[inline(always)]
    unsafe fn lt(self, b: Self) -> [bool; 4] {
        std::array::from_fn(|i| self.0[i] < b.0[i])
    }
    #[inline(always)]
    unsafe fn is_nan(self) -> [bool; 4] {
        self.0.map(f32::is_nan)
    }
    #[inline(always)]
    unsafe fn any(m: [bool; 4]) -> bool {
        m.contains(&true)
    }
    #[inline(always)]
    unsafe fn select(m: [bool; 4], a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|i| if m[i] { a.0[i] } else { b.0[i] }))
    }
}

/// Defines, for one generic kernel, its copies for each instruction set and the function that chooses among them.
///
/// `for_each_isa! { unsafe fn name(args…) -> ret = kernel::<f32>; }` defines `unsafe fn name(isa: Isa, args…) -> ret`, which calls
/// `kernel::<V>(args…)` with the `f32` vector of `isa`. Generic parameters of `name` that are listed after `f32` are passed on to `kernel`.
/// `kernel` must be `#[inline(always)]`, and so must all that it calls; closures that the compiler does not inline run without the instruction set.
macro_rules! for_each_isa {
    (
        $(#[$meta:meta])*
        $vis:vis unsafe fn $name:ident $(<$($g:ident : $bound:path),+>)? ($($arg:ident : $ty:ty),* $(,)?)
        $(-> $ret:ty)? = $kernel:ident :: <$elem:ident $(, $extra:ident)*>;
    ) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// The CPU has `isa`, and the requirements of the kernel hold.
        #[allow(clippy::too_many_arguments)]
        $vis unsafe fn $name $(<$($g: $bound),+>)? (isa: $crate::simd::Isa, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx512 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the features are enabled here; the caller guarantees the kernel's requirements.
                unsafe { $kernel::<$crate::simd::for_each_isa!(@vector avx512 $elem) $(, $extra)*>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx2 $(<$($g: $bound),+>)? ($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the features are enabled here; the caller guarantees the kernel's requirements.
                unsafe { $kernel::<$crate::simd::for_each_isa!(@vector avx2 $elem) $(, $extra)*>($($arg),*) }
            }
            // SAFETY: the CPU has `isa` and the kernel's requirements hold, by this function's contract.
            unsafe {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    $crate::simd::Isa::Avx512 => avx512($($arg),*),
                    #[cfg(target_arch = "x86_64")]
                    $crate::simd::Isa::Avx2 => avx2($($arg),*),
                    _ => $kernel::<$crate::simd::for_each_isa!(@vector portable $elem) $(, $extra)*>($($arg),*),
                }
            }
        }
    };
    (@vector avx512 f32) => { $crate::simd::x86::F32x16 };
    (@vector avx2 f32) => { $crate::simd::x86::F32x8 };
    (@vector portable f32) => { $crate::simd::vector::Portable<f32, 4> };
}
pub(crate) use for_each_isa;
