//! The command line: one file a subcommand.
//!
//! Exit codes: 0 fine, 1 it failed, 2 wrong usage or configuration. Errors go to standard error and say what to do next.

mod admin;
mod api;
mod apply;
mod audit;
mod authz;
mod call;
mod card;
mod card_try;
mod card_verify;
mod changes;
mod conditions;
mod config;
#[cfg(feature = "demo")]
mod demo;
mod document;
mod events;
mod guard;
mod health;
mod issuer;
mod key;
mod live;
mod migrate;
mod output;
mod policy;
mod resource;
mod serve;
mod signing_key;
mod stats;
mod versions;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use self::api::AdminArgs;
use self::document::Kind;
use self::resource::ResourceCommand;
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
    #[command(flatten)]
    admin: AdminArgs,
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
    /// Administrators and their tokens.
    #[command(subcommand)]
    Admin(admin::AdminCommand),
    /// Make the gateway hold what YAML or JSON files say.
    Apply(apply::ApplyArgs),
    /// Search the audit trail.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Ask who may do what, and what is used of limits.
    #[command(subcommand)]
    Authz(authz::AuthzCommand),
    /// Call an agent: resolve its card, send a text, print the answer.
    Call(call::CallArgs),
    /// Register, publish, verify and inspect agent cards.
    #[command(subcommand)]
    Card(card::CardCommand),
    /// Show who changed what, and what was refused.
    Changes(changes::ChangesArgs),
    /// Say under which conditions grants hold (Cedar policies).
    #[command(subcommand)]
    Conditions(conditions::ConditionsCommand),
    /// Everything on one machine with nothing installed.
    #[cfg(feature = "demo")]
    Demo(demo::Demo),
    /// Say who may do what.
    #[command(subcommand)]
    Grant(ResourceCommand),
    /// Try guardrail policies on texts.
    #[command(subcommand)]
    Guard(guard::GuardCommand),
    /// Say who else vouches for a tenant's principals (OpenID Connect).
    #[command(subcommand)]
    Issuer(issuer::IssuerCommand),
    /// Make, list, rotate and revoke API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Follow exchanges as they end.
    Live(live::LiveArgs),
    /// Print the admin API's description.
    Openapi,
    /// Write guardrail policies.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Manage who calls.
    #[command(subcommand)]
    Principal(ResourceCommand),
    /// Make keys that sign cards and tokens, and move them through their life.
    #[command(subcommand)]
    SigningKey(signing_key::SigningKeyCommand),
    /// Show a tenant's figures, who called whom, and how the agents fare.
    Stats(stats::StatsArgs),
    /// Manage tenants.
    #[command(subcommand)]
    Tenant(ResourceCommand),
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
        if error.is::<Misuse>() { Self::Usage(error) } else { Self::Failed(error) }
    }
}

/// What was typed in, or is in a file or the environment, can't be right: exit code 2 from wherever it is noticed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misuse(String);

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
    let outcome = cli.run();
    let (code, error) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Usage(error)) => (2, error),
        Err(Failure::Failed(error)) => (1, error),
    };
    say_error(&error);
    ExitCode::from(code)
}

impl Cli {
    fn run(self) -> Result<(), Failure> {
        let Self { common, command } = self;
        let admin = &common.admin;
        match command {
            Command::Admin(command) => block_on(async { Ok(admin::run(command, admin).await?) }),
            Command::Apply(args) => block_on(async { Ok(apply::run(args, admin).await?) }),
            Command::Audit(command) => block_on(async { Ok(audit::run(command, admin).await?) }),
            Command::Authz(command) => block_on(async { Ok(authz::run(command, admin).await?) }),
            Command::Call(args) => block_on(call::run(args, admin.json)),
            Command::Card(command) => block_on(card::run(command, admin)),
            Command::Changes(args) => block_on(async { Ok(changes::run(&args, admin).await?) }),
            Command::Conditions(command) => block_on(async { Ok(conditions::run(command, admin).await?) }),
            Command::Config(command) => command.run(&common),
            #[cfg(feature = "demo")]
            Command::Demo(command) => command.run(&common),
            Command::Grant(command) => resource(Kind::Grant, command, admin),
            Command::Guard(command) => block_on(guard::run(command, admin)),
            Command::Health(command) => command.run(&common),
            Command::Issuer(command) => block_on(async { Ok(issuer::run(command, admin).await?) }),
            Command::Key(command) => block_on(async { Ok(key::run(command, admin).await?) }),
            Command::Live(args) => block_on(async { Ok(live::run(args, admin).await?) }),
            Command::Migrate(command) => command.run(&common),
            Command::Openapi => say(&(crate::admin::openapi().to_pretty_json().map_err(anyhow::Error::from)? + "\n")),
            Command::Policy(command) => block_on(async { Ok(policy::run(command, admin).await?) }),
            Command::Principal(command) => resource(Kind::Principal, command, admin),
            Command::Serve(command) => command.run(&common),
            Command::SigningKey(command) => block_on(async { Ok(signing_key::run(command, admin).await?) }),
            Command::Stats(args) => block_on(async { Ok(stats::run(args, admin).await?) }),
            Command::Tenant(command) => resource(Kind::Tenant, command, admin),
        }
    }
}

fn resource(kind: Kind, command: ResourceCommand, admin: &AdminArgs) -> Result<(), Failure> {
    block_on(async { Ok(resource::run(kind, command, admin).await?) })
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
