//! Formatting of values as text: `AsString`, `StringFormat`.

use crate::from_fn::from_fn;
use crate::summarize::{format_general, summarize_both_ends};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Complex, DType, Element, Result, bail, bf16, f16, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("AsString", make_as_string);
    registry.add("StringFormat", make_string_format);
}

/// The notation of floats: C's `%f`, `%e` or `%g`.
#[derive(Clone, Copy, PartialEq)]
enum Notation {
    Fixed,
    Scientific,
    Shortest,
}

/// A conversion of C's `printf`.
#[derive(Clone, Copy)]
struct Conversion {
    notation: Notation,
    precision: usize,
    width: usize,
    fill: Option<char>,
}

/// The number of digits after the point if the attribute `precision` is not set.
const DEFAULT_PRECISION: usize = 6;
/// The widest field and the most digits. Greater values are an error, because each element would take that much memory.
const MAX_WIDTH: i64 = 1 << 15;

fn make_as_string(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let conversion = conversion(init, dtype)?;
    if dtype == DType::String {
        return super::map_strings(move |s| {
            let blanks = vec![b' '; conversion.width.saturating_sub(s.len())];
            Ok(if conversion.fill == Some('-') { [&s[..], &blanks].concat() } else { [&blanks, &s[..]].concat() }.into())
        });
    }
    for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>], T => from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let texts = input.as_slice::<T>()?.iter().map(|x| Bytes::from(x.to_text(&conversion))).collect();
        let output = ctx.allocator().from_strings(input.shape().clone(), texts)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

fn conversion(init: &KernelInit<'_>, dtype: DType) -> Result<Conversion> {
    let attrs = init.attrs;
    let (precision, width): (i64, i64) = (attrs.get_or("precision", -1)?, attrs.get_or("width", -1)?);
    let (scientific, shortest) = (attrs.get_or("scientific", false)?, attrs.get_or("shortest", false)?);
    if !dtype.is_floating() && !dtype.is_complex() {
        if scientific || shortest {
            bail!(InvalidArgument, "scientific and shortest format not supported for datatype {dtype}");
        }
        if precision > -1 {
            bail!(InvalidArgument, "precision not supported for datatype {dtype}");
        }
    }
    if scientific && shortest {
        bail!(InvalidArgument, "Cannot select both scientific and shortest notation");
    }
    if precision > MAX_WIDTH || width > MAX_WIDTH {
        bail!(InvalidArgument, "precision and width must be at most {MAX_WIDTH}, got {precision} and {width}");
    }
    let fill = match attrs.get_or("fill", "")? {
        "" => None,
        " " => Some(' '),
        "+" => Some('+'),
        "-" => Some('-'),
        "0" => Some('0'),
        other if other.len() > 1 => bail!(InvalidArgument, "Fill string must be one or fewer characters"),
        other => bail!(InvalidArgument, "Fill argument not supported: \"{other}\""),
    };
    Ok(Conversion {
        notation: match (scientific, shortest) {
            (true, _) => Notation::Scientific,
            (_, true) => Notation::Shortest,
            _ => Notation::Fixed,
        },
        precision: usize::try_from(precision).unwrap_or(DEFAULT_PRECISION),
        width: usize::try_from(width).unwrap_or(0),
        fill,
    })
}

impl Conversion {
    /// Formats a number like C's `printf`, which also shows the sign of NaN.
    fn float(&self, x: f64) -> String {
        let magnitude = x.abs();
        let digits = match self.notation {
            _ if x.is_nan() => "nan".to_owned(),
            _ if x.is_infinite() => "inf".to_owned(),
            Notation::Fixed => format!("{magnitude:.*}", self.precision),
            Notation::Scientific => scientific(magnitude, self.precision),
            Notation::Shortest => format_general(magnitude, self.precision),
        };
        self.field(x.is_sign_negative(), &digits, x.is_finite())
    }

    /// Returns sign and digits, padded to the field's width. Only numbers are padded with zeros.
    fn field(&self, negative: bool, digits: &str, is_number: bool) -> String {
        let sign = match self.fill {
            _ if negative => "-",
            Some('+') => "+",
            Some(' ') => " ",
            _ => "",
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        match self.fill {
            Some('-') => format!("{sign}{digits}{:missing$}", ""),
            Some('0') if is_number => format!("{sign}{:0>missing$}{digits}", ""),
            _ => format!("{:missing$}{sign}{digits}", ""),
        }
    }
}

/// Formats a number that is not negative like C's `%e`.
fn scientific(x: f64, precision: usize) -> String {
    let text = format!("{x:.precision$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{mantissa}e-{exponent:0>2}"),
        None => format!("{mantissa}e+{exponent:0>2}"),
    }
}

/// A type whose elements can be formatted.
trait ToText: Element {
    fn to_text(&self, conversion: &Conversion) -> String;
}

macro_rules! float_text {
    ($($t:ty),*) => { $(impl ToText for $t {
        fn to_text(&self, conversion: &Conversion) -> String {
            conversion.float(f64::from(*self))
        }
    })* };
}

macro_rules! integer_text {
    ($($t:ty),*) => { $(impl ToText for $t {
        fn to_text(&self, conversion: &Conversion) -> String {
            let value = i128::from(*self);
            conversion.field(value < 0, &value.unsigned_abs().to_string(), true)
        }
    })* };
}

macro_rules! complex_text {
    ($($t:ty),*) => { $(impl ToText for Complex<$t> {
        fn to_text(&self, conversion: &Conversion) -> String {
            format!("({},{})", conversion.float(f64::from(self.re)), conversion.float(f64::from(self.im)))
        }
    })* };
}

float_text!(f16, bf16, f32, f64);
integer_text!(i8, i16, i32, i64, u8, u16, u32, u64);
complex_text!(f32, f64);

impl ToText for bool {
    fn to_text(&self, _: &Conversion) -> String {
        self.to_string()
    }
}

/// Makes the kernel of `StringFormat`, which replaces the placeholders of a template by summaries of the inputs.
fn make_string_format(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let template: &str = init.attrs.get_or("template", "%s")?;
    let placeholder: &str = init.attrs.get_or("placeholder", "%s")?;
    let summarize: i64 = init.attrs.get_or("summarize", 3)?;
    let pieces: Vec<String> =
        if placeholder.is_empty() { vec![template.to_owned()] } else { template.split(placeholder).map(str::to_owned).collect() };
    let inputs = init.input_types.len();
    if pieces.len() - 1 != inputs {
        bail!(InvalidArgument, "num placeholders in template and num inputs must match: {} vs. {inputs}", pieces.len() - 1);
    }
    from_fn(move |ctx| {
        let mut text = pieces.first().cloned().unwrap_or_default();
        for (input, piece) in ctx.inputs_from(0).zip(pieces.iter().skip(1)) {
            text.push_str(&summarize_both_ends(input, summarize));
            text.push_str(piece);
        }
        ctx.set_output(0, ctx.allocator().string(text)?);
        Ok(())
    })
}
