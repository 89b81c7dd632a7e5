//! The command line: one file a subcommand.
//!
//! Exit codes: 0 fine, 1 it failed, 2 wrong usage or configuration. Errors go to standard error and say what to do next.

mod config;
mod health;
mod migrate;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::{Problems, Source};

/// A multi-tenant A2A security gateway.
#[derive(Debug, Parser)]
#[command(name = "chancery", version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

/// What every command understands.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// The configuration file [default: chancery.toml, if it exists].
    #[arg(long, short, global = true, env = "CHANCERY_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Common {
    /// Where the configuration comes from.
    #[must_use]
    pub fn source(&self) -> Source {
        Source::of_process(self.config.clone())
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check, show or describe the configuration.
    Config(config::Config),
    /// Ask a running gateway whether it is ready (for container probes).
    Health(health::Health),
    /// Bring the database's schema up to this version.
    Migrate(migrate::Migrate),
    /// Serve: discovery and calls on one listener, administration on another.
    Serve(serve::Serve),
}

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage or configuration: exit code 2.
    Usage(anyhow::Error),
    /// Anything else: exit code 1.
    Failed(anyhow::Error),
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Usage(problems.into())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

/// Reads the command line, runs the command, says what went wrong.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are errors to clap; they go to standard output with code 0.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome = match cli.command {
        Command::Config(command) => command.run(&cli.common),
        Command::Health(command) => command.run(&cli.common),
        Command::Migrate(command) => command.run(&cli.common),
        Command::Serve(command) => command.run(&cli.common),
    };
    let (code, error) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(error)) => (2, error),
        Err(Failure::Failed(error)) => (1, error),
    };
    say_error(&error);
    ExitCode::from(code)
}

/// The whole chain of causes, one a line.
fn say_error(error: &anyhow::Error) {
    use std::io::Write as _;
    let mut out = std::io::stderr().lock();
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(out, "error: {error}");
    for cause in error.chain().skip(1) {
        let _ = writeln!(out, "  because: {cause}");
    }
}

/// Writes to standard output; a reader that has gone away is no failure.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::Failed(error.into())),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A runtime for commands that wait for something.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::Failed(error.into()))?.block_on(work)
}
