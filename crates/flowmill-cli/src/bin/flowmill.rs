//! The command line as a program of its own; the Python wheel carries the same as a module.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(flowmill_cli::run(std::env::args_os()))
}
