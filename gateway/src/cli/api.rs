//! The admin API from a shell: one small client that the resource commands share.
//!
//! Takes the address and token from the arguments or the environment; gives the answered JSON, or an error that says
//! what to do next. Never prints the token.

use crate::cli::Misuse;
use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::{Method, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// How to reach the admin API.
#[derive(Clone, Debug, Args)]
pub(super) struct AdminArgs {
    /// Address of the admin listener.
    #[arg(long, global = true, env = "CHANCERY_ADMIN_URL", default_value = "http://127.0.0.1:8101")]
    admin_url: String,
    /// Admin token; or use --admin-token-file.
    #[arg(long, global = true, env = "CHANCERY_ADMIN_TOKEN", hide_env_values = true)]
    admin_token: Option<SecretString>,
    /// File that holds the admin token.
    #[arg(long, global = true, env = "CHANCERY_ADMIN_TOKEN_FILE")]
    admin_token_file: Option<std::path::PathBuf>,
    /// Print JSON for scripts instead of tables.
    #[arg(long, global = true)]
    pub json: bool,
}

/// A client of the admin API.
pub(super) struct AdminApi {
    client: reqwest::Client,
    base: String,
    token: SecretString,
}

impl AdminArgs {
    /// A client for these arguments.
    ///
    /// # Errors
    /// No token was given, or its file can't be read.
    pub(super) fn connect(&self) -> anyhow::Result<AdminApi> {
        let token = match (&self.admin_token, &self.admin_token_file) {
            (Some(token), _) => token.clone(),
            (None, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| Misuse(format!("the admin token can't be read from {}: {error}", path.display())))?
                .trim()
                .to_owned()
                .into(),
            (None, None) => {
                let problem = "no admin token: give --admin-token, --admin-token-file or CHANCERY_ADMIN_TOKEN \
                     (`chancery demo` writes it to demo-data/demo.env, `serve` to [admin] token_file)";
                return Err(Misuse(problem.to_owned()).into());
            }
        };
        AdminApi::new(&self.admin_url, token)
    }
}

/// A name or id as a segment of a path.
///
/// # Errors
/// It can be none, and as a path it might mean something else.
pub(super) fn segment(name: &str) -> anyhow::Result<&str> {
    let is_one = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_one {
        return Ok(name);
    }
    Err(Misuse(format!("{name:?} is no name or id: they are made of letters, digits and dashes")).into())
}

/// What the admin API said.
#[derive(Debug)]
pub(super) struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The body; `null` when there is none.
    pub body: Value,
}

impl AdminApi {
    /// A client of the admin listener at `url`.
    ///
    /// # Errors
    /// `url` is none, or the machine's TLS set-up is broken.
    pub(super) fn new(url: &str, token: SecretString) -> anyhow::Result<Self> {
        let parsed = url::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if parsed.is_none() {
            return Err(Misuse(format!("--admin-url must be such as http://127.0.0.1:8101, not {url:?}")).into());
        }
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { client, base: format!("{}/api/v1", url.trim_end_matches('/')), token })
    }

    /// One request below `/api/v1`; `revision` becomes `If-Match`.
    ///
    /// # Errors
    /// The API can't be reached or does not answer JSON. An error status is no error here: see [`Answer::ok`].
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        revision: Option<i64>,
    ) -> anyhow::Result<Answer> {
        let url = format!("{}{path}", self.base);
        let mut request = self.client.request(method, &url).bearer_auth(self.token.expose_secret());
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(revision) = revision {
            request = request.header("If-Match", revision.to_string());
        }
        let response = request
            .send()
            .await
            .with_context(|| format!("asking the admin API at {url} (is the gateway running? see --admin-url)"))?;
        let status = response.status();
        let bytes = response.bytes().await?;
        let body = if bytes.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&bytes) };
        let body = body
            .with_context(|| format!("what answers {} at {url} is no admin API (see --admin-url)", status.as_u16()))?;
        Ok(Answer { status, body })
    }

    /// `GET path`.
    ///
    /// # Errors
    /// As [`AdminApi::send`], and any error status.
    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::GET, path, None, None).await?.ok()
    }

    /// `POST path` with `body`.
    ///
    /// # Errors
    /// As [`AdminApi::send`], and any error status.
    pub(super) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.send(Method::POST, path, Some(body), None).await?.ok()
    }

    /// An answer that is read as it comes: `GET path`, or `POST path` where there is a body.
    ///
    /// # Errors
    /// As [`AdminApi::send`], and any error status.
    pub(super) async fn follow(&self, path: &str, body: Option<&Value>) -> anyhow::Result<reqwest::Response> {
        let url = format!("{}{path}", self.base);
        let request = match body {
            Some(body) => self.client.post(&url).json(body),
            None => self.client.get(&url),
        };
        let response = request
            .bearer_auth(self.token.expose_secret())
            .send()
            .await
            .with_context(|| format!("asking the admin API at {url} (is the gateway running? see --admin-url)"))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = serde_json::from_slice(&response.bytes().await?);
        let body = body
            .with_context(|| format!("what answers {} at {url} is no admin API (see --admin-url)", status.as_u16()))?;
        Err(Answer { status, body }.ok().err().unwrap_or_else(|| anyhow::anyhow!("the admin API refused")))
    }

    /// `DELETE path`, of what is there now.
    ///
    /// # Errors
    /// As [`AdminApi::send`], and any error status.
    pub(super) async fn delete(&self, path: &str) -> anyhow::Result<()> {
        let revision = self.get(path).await?["revision"].as_i64();
        self.delete_at(path, revision).await
    }

    /// `DELETE path`, if it still has this revision.
    ///
    /// # Errors
    /// As [`AdminApi::send`], and any error status.
    pub(super) async fn delete_at(&self, path: &str, revision: Option<i64>) -> anyhow::Result<()> {
        self.send(Method::DELETE, path, None, revision).await?.ok().map(|_| ())
    }

    /// Every item of a listing, page by page.
    ///
    /// # Errors
    /// As [`AdminApi::get`].
    pub(super) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("{path}?limit=200&cursor={cursor}")).await?;
            items.extend(page["items"].as_array().into_iter().flatten().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => return Ok(items),
            }
        }
    }
}

impl Answer {
    /// The body of a success; an error status becomes an error that lists every problem.
    ///
    /// # Errors
    /// The status is not 2xx.
    pub(super) fn ok(self) -> anyhow::Result<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            bail!("the admin token was refused (401): see --admin-token, --admin-token-file and [admin] token_file");
        }
        let message = self.body["message"].as_str().unwrap_or("the admin API answered with an error");
        let fields = self.body["fields"].as_array().into_iter().flatten().fold(String::new(), |lines, field| {
            format!(
                "{lines}\n  {}: {}",
                field["path"].as_str().unwrap_or_default(),
                field["problem"].as_str().unwrap_or_default()
            )
        });
        bail!("{message} ({}){fields}", self.status.as_u16())
    }
}
