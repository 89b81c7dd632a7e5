//! The admin API, on its own listener: everything that an administrator can do, described by its own OpenAPI document.
//!
//! Takes JSON below `/api/v1`, with an admin token or a session; gives resources `{kind, tenant, name, id, revision, …, spec}`.
//! Every document is checked by the very compile step that the request path uses before it is saved, and every change
//! wakes the registry. Never reachable from the public listener; never shows a secret after it was made.
//!
//! | file | holds |
//! |---|---|
//! | `access` | who may come in |
//! | `author` | under whose name the store is written, and what was refused |
//! | `roles` | what each may do: one table |
//! | `session`, `accounts`, `password` | administrators, their sessions and tokens |
//! | `sso` | single sign-on at a provider |
//! | `page` | the admin page itself |
//! | `body` | reading what was sent, strictly |
//! | `error` | the one error shape |
//! | `extract` | paths and query strings |
//! | `resource` | what every resource has in common |
//! | one file per resource | its handlers |

pub mod access;
mod accounts;
mod audit;
mod audit_export;
mod author;
mod authz;
mod body;
mod cards;
mod changes;
mod conditions;
mod credential;
pub mod error;
mod extract;
mod grants;
mod health;
mod history;
mod import;
mod issuers;
mod keys;
mod live;
mod page;
mod password;
mod policies;
mod principals;
mod resource;
pub mod roles;
mod session;
mod shadow;
mod signing_keys;
mod simulate;
mod sso;
mod stats;
mod tenants;
mod trial;

use self::access::TokenHash;
use self::sso::Sso;
use crate::app::App;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::config::{Passwords, PublicUrl};
use crate::live::Live;
use crate::registry::Registry;
use crate::registry::compile::Compiler;
use crate::registry::meter::Rates;
use crate::registry::refresh::Refresh;
use crate::seal::Seal;
use crate::telemetry::Metrics;
use crate::upstream::Upstream;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Author, Store};
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi as _;
use utoipa::openapi::Required;
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What the handlers work on.
pub struct Admin {
    /// Where everything is kept; handlers have it signed, see [`Shared`].
    unsigned: Store,
    /// How often it is written down that something was refused.
    refused_changes: author::Pace,
    /// The time.
    pub clock: Clock,
    /// Opens and closes sealed columns.
    pub seal: Arc<Seal>,
    /// Checks documents as the request path will read them.
    pub compiler: Arc<Compiler>,
    /// Calls agents within the egress rules: reads their cards and probes them.
    pub agents: egress::Client,
    /// The same over gRPC.
    pub grpc: egress::Client,
    /// Fetches documents that others name; its rules say which may be named.
    pub fetch: egress::Client,
    /// What proves the first administrator.
    pub token: Option<TokenHash>,
    /// What lets the first account be made.
    setup: Option<TokenHash>,
    /// It has.
    setup_spent: AtomicBool,
    /// Compares passwords, slowly.
    passwords: password::Passwords,
    /// Whether anybody signs in with one.
    password_sign_in: Passwords,
    /// Single sign-on, where there is one.
    sso: Option<Sso>,
    /// What issued keys begin with.
    pub key_prefix: String,
    /// Compiles a tenant to sign a card as it would be served.
    pub public_url: Option<PublicUrl>,
    /// Records of exchanges.
    audit: Audit,
    /// What happens now.
    live: Arc<Live>,
    /// Counters of the process.
    metrics: Arc<Metrics>,
    /// Cancelled when the process begins to stop.
    stopping: CancellationToken,
    /// Calls agents of cards, for a try.
    upstream: Arc<Upstream>,
    /// The header that tells an agent whose call it is.
    tenant_header: http::HeaderName,
    /// What is in force here.
    registry: Arc<Registry>,
    /// By whom a minute's calls are counted.
    rates: Rates,
    /// Brings a change into force here at once; other replicas hear of it by themselves.
    refresh: Arc<Refresh>,
}

impl Admin {
    fn new(app: &App, bound: SocketAddr) -> Self {
        Self {
            unsigned: app.store.clone(),
            refused_changes: author::Pace::default(),
            clock: app.clock.clone(),
            seal: Arc::clone(&app.seal),
            compiler: Arc::clone(&app.compiler),
            agents: app.upstream.clone(),
            grpc: app.grpc.clone(),
            fetch: app.fetch.clone(),
            token: app.admin_token,
            setup: app.setup,
            setup_spent: AtomicBool::new(false),
            passwords: password::Passwords::default(),
            password_sign_in: app.settings.admin.passwords(),
            sso: Sso::new(app, &app.settings.admin.origin(bound)),
            key_prefix: app.settings.headers.key_prefix.clone(),
            public_url: app.settings.public.urls.first().cloned(),
            live: Arc::clone(&app.live),
            metrics: Arc::clone(&app.metrics),
            audit: app.audit.clone(),
            stopping: app.tasks.stopping(),
            upstream: Arc::clone(&app.calls.upstream),
            tenant_header: app.settings.headers.tenant_id.clone(),
            registry: Arc::clone(&app.registry),
            rates: app.settings.limits.rates,
            refresh: Arc::clone(&app.refresh),
        }
    }

    /// Waits until this process serves by what was just written. If the store fails now, the poll will catch up.
    async fn applied(&self) {
        if let Err(error) = self.refresh.catch_up().await {
            tracing::warn!(%error, "a change is stored but not yet in force");
        }
    }
}

/// Everything that answers on the admin listener but probes and metrics.
#[derive(Clone)]
pub struct Desk {
    /// The API and the page.
    pub router: axum::Router,
    admin: Shared,
}

impl Desk {
    /// What whoever sends these headers may do.
    ///
    /// # Errors
    /// They prove nobody, or the store does not answer.
    pub async fn roles(&self, headers: &http::HeaderMap) -> Result<roles::Roles, error::ApiError> {
        access::identify(&self.admin, headers).await.map(|who| who.roles)
    }
}

/// What a handler works on: the administration, and the store under the name of whoever asks.
#[derive(Clone)]
pub struct Shared {
    admin: Arc<Admin>,
    /// Where everything is kept. What is changed by way of it is told under the asking one's name.
    pub store: Store,
}

impl Shared {
    /// Under nobody's name: for finding out who asks.
    fn of(admin: &Arc<Admin>) -> Self {
        Self { admin: Arc::clone(admin), store: admin.unsigned.clone() }
    }

    /// Under this name.
    fn by(&self, author: Author) -> Self {
        Self { admin: Arc::clone(&self.admin), store: self.admin.unsigned.by(author) }
    }
}

impl Deref for Shared {
    type Target = Admin;

    fn deref(&self) -> &Admin {
        &self.admin
    }
}

#[derive(utoipa::OpenApi)]
#[openapi(info(
    title = "Chancery admin API",
    description = "Tenants, cards, principals, keys, issuers, grants, conditions, policies, signing keys, the audit trail and the trail of changes of a Chancery gateway.",
    license(name = "Apache-2.0")
), modifiers(&Common), security(("admin_token" = [])))]
struct Description;

/// What no handler says by itself: the token.
struct Common;

impl utoipa::Modify for Common {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = description.components.get_or_insert_default();
        components.add_security_scheme("admin_token", SecurityScheme::Http(token));
        // Documents of administrators have no schema of ours; what refers to one must find something.
        let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some("Any JSON.")).build();
        components.schemas.entry(String::from("Value")).or_insert_with(|| any.into());
    }
}

/// Updates and removals need the revision that they are based on. Revoking a key does not: it can't wait.
fn with_revisions(mut description: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    for (path, item) in &mut description.paths.paths {
        let optional = path.ends_with("/credential");
        if path.ends_with("/password") || path == "/api/v1/session" || path.starts_with("/api/v1/tokens/") {
            continue;
        }
        for (operation, required) in
            [(item.put.as_mut(), !optional), (item.delete.as_mut().filter(|_| !path.contains("/keys/")), true)]
        {
            let Some(operation) = operation else { continue };
            let parameter = ParameterBuilder::new()
                .name("If-Match")
                .parameter_in(ParameterIn::Header)
                .required(if required { Required::True } else { Required::False })
                .description(Some("The revision that you read; 412 if it is another by now."))
                .schema(Some(Object::with_type(Type::Integer)))
                .build();
            operation.parameters.get_or_insert_default().push(parameter.into());
        }
    }
    description
}

/// Names every operation by its method and path: programs made from the description need names that differ.
fn with_names(mut description: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    for (path, item) in &mut description.paths.paths {
        let words: Vec<&str> =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let name = words.get(2..).unwrap_or_default().join("_");
        for (method, operation) in [
            ("get", item.get.as_mut()),
            ("post", item.post.as_mut()),
            ("put", item.put.as_mut()),
            ("delete", item.delete.as_mut()),
        ] {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}_{name}"));
            }
        }
    }
    description
}

fn described() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(session::sign_in, session::sign_out))
        .routes(routes!(sso::start))
        .routes(routes!(sso::callback))
        .routes(routes!(session::me))
        .routes(routes!(session::set_own_password))
        .routes(routes!(session::setup_state, session::setup))
        .routes(routes!(accounts::list, accounts::create))
        .routes(routes!(accounts::read, accounts::update, accounts::delete))
        .routes(routes!(accounts::set_password))
        .routes(routes!(accounts::list_tokens, accounts::create_token))
        .routes(routes!(accounts::revoke_token))
        .routes(routes!(tenants::list, tenants::create))
        .routes(routes!(tenants::read, tenants::update, tenants::delete))
        .routes(routes!(cards::list, cards::create))
        .routes(routes!(import::import))
        .routes(routes!(cards::read, cards::update, cards::delete))
        .routes(routes!(cards::set_state))
        .routes(routes!(cards::set_credential))
        .routes(routes!(cards::sign))
        .routes(routes!(trial::run))
        .routes(routes!(cards::versions::history))
        .routes(routes!(cards::versions::go_back))
        .routes(routes!(principals::list, principals::create))
        .routes(routes!(principals::read, principals::update, principals::delete))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::read, keys::update, keys::revoke))
        .routes(routes!(keys::rotate))
        .routes(routes!(issuers::list, issuers::create))
        .routes(routes!(issuers::read, issuers::update, issuers::delete))
        .routes(routes!(issuers::keys))
        .routes(routes!(grants::list, grants::create))
        .routes(routes!(grants::read, grants::update, grants::delete))
        .routes(routes!(policies::list, policies::create))
        .routes(routes!(policies::guard_key))
        .routes(routes!(policies::read, policies::update, policies::delete))
        .routes(routes!(policies::history))
        .routes(routes!(policies::go_back))
        .routes(routes!(simulate::simulate_policy))
        .routes(routes!(signing_keys::list, signing_keys::create))
        .routes(routes!(signing_keys::read, signing_keys::update))
        .routes(routes!(conditions::list, conditions::create))
        .routes(routes!(conditions::check_draft))
        .routes(routes!(conditions::read, conditions::update, conditions::delete))
        .routes(routes!(conditions::history))
        .routes(routes!(conditions::go_back))
        .routes(routes!(authz::explain))
        .routes(routes!(authz::limits))
        .routes(routes!(audit::query))
        .routes(routes!(audit::summaries))
        .routes(routes!(audit_export::export))
        .routes(routes!(shadow::read))
        .routes(routes!(changes::all))
        .routes(routes!(changes::of_tenant))
        .routes(routes!(live::watch))
        .routes(routes!(stats::read))
        .routes(routes!(health::read))
}

/// The description of the admin API.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    with_names(with_revisions(described().split_for_parts().1))
}

/// The admin API and its page on the listener that was bound here; what each operation needs is in `roles`.
pub fn router(app: &App, bound: SocketAddr) -> Desk {
    let admin = Arc::new(Admin::new(app, bound));
    let shared = Shared::of(&admin);
    let (routes, description) = described().split_for_parts();
    let description = Arc::new(with_names(with_revisions(description)));
    let router = routes
        .layer(axum::middleware::from_fn_with_state(shared.clone(), access::admit))
        .route(
            "/api/openapi.json",
            axum::routing::get(move || {
                let description = Arc::clone(&description);
                async move { axum::Json((*description).clone()) }
            }),
        )
        .fallback(page::serve)
        .method_not_allowed_fallback(async || error::ApiError::method_not_allowed())
        .layer(axum::middleware::map_response(page::secure))
        .with_state(admin);
    Desk { router, admin: shared }
}
