//! A scanner and a printer for the JSON of tensors.

pub(crate) mod elements;
pub(crate) mod number;
pub(crate) mod print;
pub(crate) mod scanner;

pub(crate) use elements::Elements;
pub(crate) use scanner::Scanner;
