//! The `chancery` binary: arguments → command → exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    chancery::cli::main()
}
