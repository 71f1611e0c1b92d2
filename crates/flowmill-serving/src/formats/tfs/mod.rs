//! The JSON of TensorFlow Serving's REST API.
//!
//! Shapes, names and codes are those of TensorFlow Serving's sources. Messages are worded differently, and name the byte of the input.

mod examples;
mod messages;
mod predict;
mod print;
mod results;

pub use examples::{ExamplesRequest, parse_examples};
pub use messages::{print_metadata, print_model_status};
pub use predict::{Layout, PredictRequest, parse_predict};
pub use print::{print_error, print_predict};
pub use results::{print_classifications, print_regressions};

/// The signature of a request that names none.
pub const DEFAULT_SIGNATURE: &str = "serving_default";
