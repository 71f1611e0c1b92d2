//! Decoders of files and texts that return what TensorFlow's return: images, sound, CSV records, JSON.
//!
//! The crate depends neither on kernels nor on graphs: functions take bytes and return pixels, samples or fields. Errors have TensorFlow's codes and texts.
//! The memory that a decoded file takes is limited by `flowmill_tensor::memory_limit`.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

pub mod bmp;
pub mod csv;
pub mod gif;
mod image;
pub mod jpeg;
pub mod json;
pub mod png;
pub mod wav;
pub mod webp;

pub use image::{Frames, Image, ImageFormat};
