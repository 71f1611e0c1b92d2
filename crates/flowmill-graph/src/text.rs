//! The text form of a graph: one node per line, in topological order. Each line has all that is needed to make its node again.
//!
//! ```text
//! x = Placeholder() {dtype=f32, shape=[?,784]}
//! w = Const() {dtype=f32, value=f32[784,10]#a1f3c09b5d2e4f60}
//! y = MatMul(x, w) {T=f32, transpose_a=false, transpose_b=false} @/device:CPU:0
//! sw:2 = Switch(y, p) {T=f32} ^init
//! ```
//!
//! * `name:n` if a node has other than one output; its tensors are `name`, `name:1`, …
//! * Attributes in the order of their names, those with the op's default value left out. An attribute the op does not declare says
//!   what it is: `list(string)["loc:@w"]`, `shape[2,?]`.
//! * Tensors: type, shape, then the values in braces (`i32[2]{1,2}`), or `#` and a hash of the values if they take more than
//!   [`MAX_VALUE_BYTES`]: reading those back needs a table of them.
//! * Functions as `@name{attr=value}`.
//!
//! # Grammar
//! In EBNF, for one line. `word` is a run of letters, digits and `._-/+>`; `string` is in double quotes; `#` begins a comment.
//!
//! ```text
//! line      = [ node ] [ comment ] ;
//! node      = word [ ":" number ] "=" op "(" [ tensor { "," tensor } ] ")" [ attrs ] [ "@" device ] { "^" word } ;
//! op        = word ;
//! tensor    = word [ ":" number ] ;
//! attrs     = "{" [ word "=" value { "," word "=" value } ] "}" ;
//! value     = "true" | "false" | "none" | number | string | type | "type#" number | constant | shape | "shape" shape
//!           | list | "list" "(" kind ")" list | "@" function | "$" word ;
//! list      = "[" [ value { "," value } ] "]" ;
//! function  = word [ attrs ] ;
//! shape     = "?" | "[" [ size { "," size } ] "]" ;
//! size      = number | "?" ;
//! constant  = type "[" [ number { "," number } ] "]" ( "{" [ element { "," element } ] "}" | "#" hash ) ;
//! ```
//!
//! A shape and a list without their keywords are values of attributes that the op declares. A device ends at the next blank.
//!
//! Not in the text: versions, the library, debug information, unknown fields.

mod constants;
mod lexer;
mod literal;
mod parse;
mod print;
mod tensor;

pub use constants::ConstantTable;
pub use parse::parse_graph;
pub use print::AttrText;

/// Constants of up to this many bytes are written by value.
pub const MAX_VALUE_BYTES: usize = 256;
