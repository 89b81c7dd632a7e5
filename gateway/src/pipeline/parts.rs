//! What the stages share over all requests: counts, owners, the way out.

use crate::config::Settings;
use crate::pipeline::authenticate::throttle::Throttle;
use crate::pipeline::authorize::Permit;
use crate::pipeline::delegation::Delegation;
use crate::pipeline::external::Outside;
use crate::pipeline::forward::Way;
use crate::pipeline::head::Head;
use crate::pipeline::legacy::Skills;
use crate::pipeline::limit::Limits;
use crate::pipeline::owner::{Owners, PageKey};
use crate::tasks::Tasks;
use crate::upstream::Upstream;
use std::sync::Arc;
use store::Store;

/// The parts that calls need besides what everybody needs.
#[derive(Debug)]
pub struct Parts {
    /// What is in flight.
    pub limits: Arc<Limits>,
    /// Who presents too many bad credentials.
    pub throttle: Throttle,
    /// Who owns which task.
    pub owners: Arc<Owners>,
    /// The way out.
    pub upstream: Arc<Upstream>,
    /// Chains of delegations.
    pub delegation: Delegation,
    /// Skills of cards that the legacy wire called.
    pub skills: Skills,
    /// Guards outside of this process.
    pub outside: Outside,
    /// The domain of error reasons that A2A does not define: the gateway's own name.
    pub own_domain: String,
}

impl Parts {
    /// Nothing in flight, nothing known.
    #[must_use]
    pub fn new(
        settings: &Settings,
        store: Store,
        (upstream, outside): (Upstream, Outside),
        (page_key, delegation): (PageKey, Delegation),
        tasks: &Tasks,
    ) -> Self {
        let limits = &settings.limits;
        Self {
            limits: Arc::new(Limits::new(limits)),
            throttle: Throttle::new(limits.bad_keys_per_minute),
            owners: Arc::new(Owners::new(store, limits.ownership_wait, page_key, tasks.clone())),
            upstream: Arc::new(upstream),
            delegation,
            skills: Skills::default(),
            outside,
            own_domain: own_domain(settings),
        }
    }

    /// Starts what runs in the background.
    pub fn start(&self, tasks: &Tasks) {
        self.owners.start_replay(tasks);
    }

    /// The way to the agent of the permit's card.
    pub(crate) fn way<'a>(&'a self, permit: &'a Permit, head: &'a Head, settings: &'a Settings) -> Way<'a> {
        Way {
            upstream: &self.upstream,
            permit,
            head,
            limits: &settings.limits,
            delegation: &self.delegation,
            in_task: None,
            first_byte: None,
            tenant_header: &settings.headers.tenant_id,
        }
    }
}

fn own_domain(settings: &Settings) -> String {
    let authority = settings.public.urls.first().map_or("", |url| url.authority());
    let host = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    host.map_or(authority, |(host, _)| host).to_owned()
}
