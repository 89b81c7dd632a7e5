//! `chancery call URL TEXT`: crate `a2a-client` from a shell. Resolves the card, says what its signature is worth, calls, prints
//! parts as they come.
//!
//! What the agent says goes to standard output, what there is to say about it to standard error. Exit code 1 also where the
//! task ends otherwise than completed.

mod print;

use std::path::{Path, PathBuf};
use std::time::Duration;

use a2a_client::{
    Agent, CallError, CallLimits, Card, ConnectError, Credential, Dialect, Keys, Message, Options, Part, Proof, Reply,
    ResolveError, Resume, Sending, Signatures, TaskState, connections, fetch_keys,
};
use anyhow::{Context as _, anyhow};
use clap::Args;
use egress::ConnectorSettings;
use secrecy::{ExposeSecret as _, SecretString};

use self::print::Printer;
use crate::cli::card_verify::key_set_of;
use crate::cli::{Failure, output};

/// Arguments of `call`.
#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The agent's address, such as http://localhost:8100/a2a/default/echo.
    url: String,
    /// What to say.
    text: String,
    /// Print what happens as it happens; a stream that breaks is taken up again.
    #[arg(long)]
    stream: bool,
    /// A file to send along.
    #[arg(long)]
    file: Option<PathBuf>,
    /// Go on with this task: the answer to what it asked.
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Don't wait for the task to end.
    #[arg(long, conflicts_with = "stream")]
    no_wait: bool,
    #[command(flatten)]
    proof: ProofArgs,
    #[command(flatten)]
    wire: WireArgs,
}

/// Who calls, and whom the card must be signed by.
#[derive(Debug, Args)]
struct ProofArgs {
    /// The key or token, sent as bearer.
    #[arg(long, visible_alias = "token", env = "CHANCERY_KEY", hide_env_values = true)]
    key: Option<SecretString>,
    /// A key sent in X-API-Key instead.
    #[arg(long, conflicts_with = "key")]
    api_key: Option<SecretString>,
    /// Call only if a signature of the card holds under the key set of the gateway that serves it.
    #[arg(long)]
    verify: bool,
    /// The same under this key set: a URL, or a file with a JWK or a JWK set.
    #[arg(long, value_name = "URL|FILE")]
    jwks: Option<String>,
}

/// How the agent is spoken to.
#[derive(Debug, Args)]
struct WireArgs {
    /// Speak this dialect (v10_jsonrpc, v10_http_json, v10_grpc, v03_jsonrpc, v03_http_json) instead of the card's first.
    #[arg(long)]
    dialect: Option<String>,
    /// Activate an extension.
    #[arg(long, value_name = "URI")]
    extension: Vec<String>,
    /// Seconds an answer, or the next event, may take.
    #[arg(long, default_value_t = 300, value_name = "SECONDS")]
    timeout: u64,
    /// PEM file with certificates to believe besides the public ones.
    #[arg(long, value_name = "FILE")]
    roots: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The agent can't be found or says no, or the task ends otherwise than completed.
pub(super) async fn run(args: CallArgs, raw: bool) -> Result<(), Failure> {
    let message = message(&args)?;
    let agent = options(&args)?.connect(&args.url).await.map_err(not_connected)?;
    report_proof(&args, &agent).await;
    let mut printer = Printer::new(raw);
    let reached = if args.stream {
        stream(&agent, message, &mut printer).await?
    } else {
        send(&agent, message, args.no_wait, &mut printer).await?
    };
    match reached {
        Some((TaskState::Failed | TaskState::Rejected | TaskState::Canceled, id)) => {
            Err(anyhow!("the task did not complete; its messages above say why, task {id}").into())
        }
        Some((TaskState::InputRequired | TaskState::AuthRequired, id)) => {
            output::note(&format!("the agent waits for an answer: chancery call {} \"…\" --task {id}", args.url));
            Ok(())
        }
        Some((TaskState::Unspecified | TaskState::Submitted | TaskState::Working | TaskState::Completed, _)) | None => {
            Ok(())
        }
    }
}

/// How a task stood at the end, and its id.
type Reached = Option<(TaskState, String)>;

async fn send(agent: &Agent, message: Message, no_wait: bool, printer: &mut Printer) -> Result<Reached, Failure> {
    let sending = if no_wait { Sending::new().return_immediately() } else { Sending::new() };
    let reply = agent.send_with(message, sending).await.map_err(failed)?;
    printer.reply(&reply)?;
    Ok(match reply {
        Reply::Task(task) => Some((task.state(), task.id().to_owned())),
        Reply::Message(_) => None,
    })
}

async fn stream(agent: &Agent, message: Message, printer: &mut Printer) -> Result<Reached, Failure> {
    let mut events = agent.stream(message).await.map_err(failed)?;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => printer.event(&event)?,
            Err(error) => {
                printer.end()?;
                return Err(failed(error));
            }
        }
    }
    printer.end()?;
    Ok(events.state().zip(events.task_id().map(str::to_owned)))
}

fn options(args: &CallArgs) -> Result<Options, Failure> {
    let WireArgs { dialect, extension, timeout, roots } = &args.wire;
    let patience = Duration::from_secs(*timeout);
    let limits = CallLimits { total: patience, idle: patience, ..CallLimits::default() };
    let mut options =
        Options::new().limits(limits).resume(Resume::default()).system_roots().auth(credential(&args.proof));
    for uri in extension {
        options = options.extension(uri);
    }
    if let Some(name) = dialect {
        let dialect = Dialect::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Dialect::ALL.into_iter().map(Dialect::name).collect();
            Failure::Usage(anyhow!("--dialect must be one of {}", names.join(", ")))
        })?;
        options = options.only([dialect]);
    }
    if let Some(path) = roots {
        options = options.extra_roots(&read(path)?).map_err(|error| Failure::Usage(error.into()))?;
    }
    match keys(args)? {
        Some(keys) => Ok(options.signatures(Signatures::Required(keys))),
        None => Ok(options),
    }
}

fn credential(args: &ProofArgs) -> Credential {
    match (&args.key, &args.api_key) {
        (_, Some(key)) => Credential::api_key(key.expose_secret()),
        (Some(key), None) => Credential::bearer(key.expose_secret()),
        (None, None) => Credential::None,
    }
}

/// The keys that must have signed, if anybody must.
fn keys(args: &CallArgs) -> Result<Option<Keys>, Failure> {
    match &args.proof.jwks {
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => Ok(Some(Keys::At(url.clone()))),
        Some(path) => {
            let keys = Keys::from_file(path).with_context(|| format!("reading the keys in {path}"));
            keys.map(Some).map_err(Failure::Usage)
        }
        None if args.proof.verify => {
            let url = url::Url::parse(&args.url).context("the address is no URL").map_err(Failure::Usage)?;
            Ok(Some(Keys::At(key_set_of(&url).map_err(Failure::Usage)?)))
        }
        None => Ok(None),
    }
}

/// Says what the card's signatures are worth. Where nobody must have signed, the gateway's own keys are looked for.
async fn report_proof(args: &CallArgs, agent: &Agent) {
    if let Some(view) = agent.proof().and_then(Proof::view) {
        output::note(&format!("card verified: a signature holds for the {} view", view.name()));
        return;
    }
    let signed = |card: &Card| card.as_object().contains("signatures");
    let Some(url) = Some(agent.card()).filter(|card| signed(card)).and_then(|_| key_set_of(agent.card_url()).ok())
    else {
        return;
    };
    let Ok(connections) = connections(ConnectorSettings::default()) else { return };
    let keys = fetch_keys(&connections, &url).await.unwrap_or_default();
    output::note(&match Proof::of(agent.card().as_object(), &keys).view() {
        Some(view) => format!("card signed ({} view) with a key of its own server; --jwks trusts another", view.name()),
        None => format!("card signed, but by no key at {url}; --verify refuses it for {}", args.url),
    });
}

fn message(args: &CallArgs) -> Result<Message, Failure> {
    let mut message = Message::from(args.text.as_str());
    if let Some(path) = &args.file {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        message = message.with(Part::bytes(read(path)?, media_type(path)).named(name));
    }
    Ok(match &args.task {
        Some(task) => message.in_task(task),
        None => message,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).with_context(|| format!("reading {}", path.display())).map_err(Failure::Usage)
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("txt" | "md") => "text/plain",
        Some("csv") => "text/csv",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    }
}

fn not_connected(error: ConnectError) -> Failure {
    let misused =
        matches!(error, ConnectError::Card(ResolveError::BadUrl) | ConnectError::BadHeader(_) | ConnectError::BadRoots);
    if misused { Failure::Usage(error.into()) } else { Failure::Failed(error.into()) }
}

fn failed(error: CallError) -> Failure {
    Failure::Failed(error.into())
}
