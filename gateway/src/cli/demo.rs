//! `chancery demo`: everything on one machine with nothing installed.
//!
//! Starts the sample agents and the gateway inside this process, registers what is missing through the admin API (the
//! same way an administrator would), and prints calls that work when pasted. Kept data is used again; `--fresh` starts
//! over. Never for production: the store, the keys and the configuration lie readable by their owner in one folder.

use crate::app::App;
use crate::cli::api::AdminApi;
use crate::cli::{Common, Failure, block_on, migrate, output, serve};
use crate::clock::Clock;
use crate::config::{MasterKey, Source, load};
use crate::telemetry;
use anyhow::{Context as _, bail};
use clap::Args;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything on one machine: gateway, sample agents, tenants and keys.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Start over: forget what an earlier demo left.
    #[arg(long)]
    fresh: bool,
    /// Where the demo keeps its data.
    #[arg(long, default_value = "demo-data")]
    data: PathBuf,
    /// The public listener.
    #[arg(long, default_value = "127.0.0.1:8100")]
    public: SocketAddr,
    /// The admin listener.
    #[arg(long, default_value = "127.0.0.1:8101")]
    admin: SocketAddr,
    /// The sample agents' listener.
    #[arg(long, default_value = "127.0.0.1:9100")]
    agents: SocketAddr,
}

/// The keys that the demo hands out.
struct Keys {
    first: String,
    second: String,
    partner: String,
}

impl Demo {
    pub(super) fn run(self, common: &Common) -> Result<(), Failure> {
        if self.fresh && self.data.join("chancery.toml").exists() {
            std::fs::remove_dir_all(&self.data).context("removing the earlier demo's data")?;
        }
        let admin_token = self.prepare()?;
        let mut source: Source = common.source();
        source.file = Some(self.data.join("chancery.toml"));
        let settings = load::load(&source)?;
        telemetry::init(&settings.telemetry);
        block_on(async {
            let agents = sample_agents::start_all(self.agents, None)
                .await
                .with_context(|| format!("the sample agents can't listen on {} (is a demo running?)", self.agents))?;
            migrate::migrate(settings.store.url.expose_secret()).await?;
            let app = App::build(settings, Clock::System).await.map_err(anyhow::Error::from)?;
            let shutdown = serve::shutdown_signal().context("signals can't be listened for")?;
            let link = app.setup_link();
            let serving = app.run(shutdown);
            tokio::pin!(serving);
            tokio::select! {
                _ = &mut serving => {}
                made = self.furnish(&admin_token, &agents) => {
                    self.tell(&made?, &admin_token, link.as_deref())?;
                    let _ = serving.await;
                }
            }
            agents.shutdown().await;
            Ok(())
        })
    }

    /// Makes the folder, the configuration and the secrets that are missing; gives the admin token.
    fn prepare(&self) -> anyhow::Result<String> {
        std::fs::create_dir_all(&self.data).with_context(|| format!("making {}", self.data.display()))?;
        let data = self.data.canonicalize().context("finding the data folder")?;
        write_once(&data.join("master.key"), || Ok(MasterKey::generate()?.1.to_string()))?;
        write_once(&data.join("admin.token"), || Ok(MasterKey::generate()?.1.to_string()))?;
        let config = self.config(&data);
        write_secret(&data.join("chancery.toml"), &config)?;
        Ok(std::fs::read_to_string(data.join("admin.token"))?.trim().to_owned())
    }

    fn config(&self, data: &Path) -> String {
        let data = data.display();
        format!(
            "# Written by `chancery demo` at each start.\n\
             [public]\nlisten = \"{public}\"\npublic_urls = [\"{url}\"]\nunsafe_http_urls = true\n\n\
             [admin]\nlisten = \"{admin}\"\ntoken_file = \"{data}/admin.token\"\n\n\
             [store]\nurl = \"sqlite://{data}/chancery.db\"\n\n\
             [audit]\ndir = \"{data}/audit\"\n\n\
             [egress]\nallow = [\"{agents}\"]\n\n\
             [telemetry]\nformat = \"pretty\"\nlevel = \"warn\"\n\n\
             [secrets]\nmaster_key_file = \"{data}/master.key\"\n",
            public = self.public,
            url = self.gateway_url(),
            admin = self.admin,
            agents = self.agents,
        )
    }

    fn gateway_url(&self) -> String {
        if self.public.ip().is_loopback() || self.public.ip().is_unspecified() {
            format!("http://localhost:{}", self.public.port())
        } else {
            format!("http://{}", self.public)
        }
    }

    fn admin_url(&self) -> String {
        format!("http://{}", self.admin)
    }

    /// Registers what is missing: tenants, cards, principals, grants, keys.
    async fn furnish(&self, admin_token: &str, agents: &sample_agents::Running) -> anyhow::Result<Keys> {
        let api = AdminApi::new(&self.admin_url(), admin_token.to_owned().into())?;
        for tenant in ["default", "partner"] {
            make(&api, "/tenants", tenant, &json!({})).await?;
        }
        import(&api, "hello-world-a2a", &agents.hello_url).await?;
        for name in sample_agents::NAMES {
            import(&api, name, &agents.url_of(name)).await?;
        }
        let principals = [("default", "demo-caller"), ("default", "second-caller"), ("partner", "partner-caller")];
        for (tenant, name) in principals {
            make(&api, &format!("/tenants/{tenant}/principals"), name, &json!({"kind": "agent"})).await?;
            let everything = json!({"principal": name, "cards": ["*"], "operations": ["*"]});
            make(&api, &format!("/tenants/{tenant}/grants"), name, &everything).await?;
        }
        let keys = match self.kept_keys() {
            Some(keys) => keys,
            None => Keys {
                first: key(&api, "default", "demo-caller").await?,
                second: key(&api, "default", "second-caller").await?,
                partner: key(&api, "partner", "partner-caller").await?,
            },
        };
        write_secret(&self.data.join("demo.env"), &self.env(&keys, admin_token))?;
        self.wait_until_served(&keys).await?;
        Ok(keys)
    }

    fn env(&self, keys: &Keys, admin_token: &str) -> String {
        format!(
            "GATEWAY_URL={}\nADMIN_URL={}\nTENANT=default\nAPI_KEY={}\nSECOND_API_KEY={}\nPARTNER_API_KEY={}\nADMIN_TOKEN={}\n",
            self.gateway_url(),
            self.admin_url(),
            keys.first,
            keys.second,
            keys.partner,
            admin_token
        )
    }

    /// The keys of an earlier run: they are shown once, so the demo remembers them.
    fn kept_keys(&self) -> Option<Keys> {
        let text = std::fs::read_to_string(self.data.join("demo.env")).ok()?;
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned);
        Some(Keys { first: value("API_KEY")?, second: value("SECOND_API_KEY")?, partner: value("PARTNER_API_KEY")? })
    }

    /// Waits until the public listener knows the cards and the first key.
    async fn wait_until_served(&self, keys: &Keys) -> anyhow::Result<()> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        let base = format!("http://127.0.0.1:{}", self.public.port());
        for _ in 0..200 {
            let card = client.get(format!("{base}/.well-known/agent-card/default/hello-world-a2a")).send().await;
            let tasks = client.get(format!("{base}/a2a/default/echo/tasks")).header("A2A-Version", "1.0");
            let tasks = tasks.bearer_auth(&keys.first).send().await;
            if [card, tasks].iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.status().is_success())) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!("the gateway did not serve the sample cards within ten seconds; try `chancery demo --fresh`")
    }

    fn tell(&self, keys: &Keys, admin_token: &str, link: Option<&str>) -> anyhow::Result<()> {
        let (url, admin, key) = (self.gateway_url(), self.admin_url(), &keys.first);
        let message = r#"{"role": "user", "parts": [{"kind": "text", "text": "Hello from my agent"}]}"#;
        let body = |method: &str| {
            format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {{"message": {message}}}}}"#)
        };
        let call = |path: &str, method: &str, flags: &str| {
            format!(
                "curl {flags} -X POST \"{url}/a2a/default/hello-world-a2a/{path}\" -H \"Authorization: Bearer {key}\" \
                 -H \"Content-Type: application/json\" -d '{}'",
                body(method)
            )
        };
        let page = match link {
            Some(link) => format!("{link}  (makes your account, once)"),
            None => format!("{admin}  (sign in with the account you made)"),
        };
        output::line(&format!(
            "Chancery is up. Ctrl-C stops it.\n\n\
             gateway  {url}\n\
             admin    {page}\n\
             API      {admin}/api/v1  (described at /api/openapi.json)\n\
             token    {admin_token}\n\
             all of it in {}\n\n\
             Discover a signed card, call its agent, stream its answer:\n\n\
             curl -s {url}/.well-known/agent-card/default/hello-world-a2a\n\n\
             {}\n\n\
             {}\n",
            self.data.join("demo.env").display(),
            call("message:send", "message/send", "-s"),
            call("message:stream", "message/stream", "-sN"),
        ))
    }
}

/// Makes a thing unless it is there.
async fn make(api: &AdminApi, collection: &str, name: &str, spec: &Value) -> anyhow::Result<()> {
    if exists(api, collection, name).await? {
        return Ok(());
    }
    api.post(collection, &json!({"name": name, "spec": spec})).await.map(|_| ())
}

async fn import(api: &AdminApi, name: &str, url: &str) -> anyhow::Result<()> {
    let cards = "/tenants/default/cards";
    if exists(api, cards, name).await? {
        return Ok(());
    }
    let body = json!({"url": url, "name": name});
    api.post(&format!("{cards}/import"), &body).await.with_context(|| format!("registering {name}")).map(|_| ())
}

async fn exists(api: &AdminApi, collection: &str, name: &str) -> anyhow::Result<bool> {
    let answer = api.send(reqwest::Method::GET, &format!("{collection}/{name}"), None, None).await?;
    if answer.status == reqwest::StatusCode::NOT_FOUND {
        return Ok(false);
    }
    answer.ok().map(|_| true)
}

async fn key(api: &AdminApi, tenant: &str, principal: &str) -> anyhow::Result<String> {
    let body = json!({"principal": principal, "label": "demo"});
    let made = api.post(&format!("/tenants/{tenant}/keys"), &body).await?;
    made["key"].as_str().map(str::to_owned).context("the admin API gave no key")
}

fn write_once(path: &Path, text: impl FnOnce() -> anyhow::Result<String>) -> anyhow::Result<()> {
    if path.exists() { Ok(()) } else { write_secret(path, &text()?) }
}

/// Writes a file that only its owner may read.
fn write_secret(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("writing {}", path.display()))?;
    file.write_all(text.as_bytes())?;
    Ok(())
}
