//! `chancery config check|show|schema`.

use clap::{Args, Subcommand};

use super::{Common, Failure, say};
use crate::config::{load, schema};

/// Check, show or describe the configuration.
#[derive(Debug, Args)]
pub(super) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Name every problem of file and environment at once; exit code 2 if there is any.
    Check,
    /// Print what is in force (defaults, file, environment), without secrets.
    Show,
    /// Print a JSON Schema of the configuration.
    Schema,
}

impl Config {
    pub(super) fn run(self, common: &Common) -> Result<(), Failure> {
        match self.what {
            What::Check => {
                load::load(&common.source())?;
                say("the configuration is fine\n")
            }
            What::Show => say(&load::show(&common.source())?),
            What::Schema => {
                let schema = serde_json::to_string_pretty(&schema::schema()).map_err(anyhow::Error::from)?;
                say(&format!("{schema}\n"))
            }
        }
    }
}
