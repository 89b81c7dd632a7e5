//! A gateway with a card for an agent of each dialect, and those agents.

use crate::TONGUES;
use crate::agent::{Agent, Latch};
use crate::caller::Hearing;
use crate::rig::{CardSpec, Plan, Rig};
use crate::tongue::{Answer, Op, Said, Told, Tongue};
use a2a::Dialect;

/// The gateway and the agents behind it.
pub(crate) struct World {
    pub(crate) rig: Rig,
    agents: Vec<(Tongue, Agent)>,
}

impl World {
    /// With cards as they come.
    pub(crate) async fn start() -> Self {
        Self::with(|card| card).await
    }

    /// With every card shaped alike.
    pub(crate) async fn with(shape: impl Fn(CardSpec) -> CardSpec) -> Self {
        Self::of(&TONGUES, Plan::default(), shape).await
    }

    /// With cards for agents of these dialects.
    pub(crate) async fn of(tongues: &[Tongue], mut plan: Plan, shape: impl Fn(CardSpec) -> CardSpec) -> Self {
        let mut agents = Vec::new();
        for tongue in tongues {
            let agent = if tongue.is_json() { Agent::http1().await } else { Agent::grpc().await };
            let mut spec = CardSpec::of(&agent.url(), tongue.dialect);
            spec.extended = true;
            plan = plan.card(&format!("acme/{}", tongue.card), shape(spec));
            agents.push((*tongue, agent));
        }
        Self { rig: plan.start().await, agents }
    }

    /// The agent that speaks this.
    pub(crate) fn agent(&self, tongue: Tongue) -> &Agent {
        &self.agents.iter().find(|(known, _)| *known == tongue).expect("an agent of this dialect").1
    }

    /// Makes task `t1` and context `c1` of every agent the caller's.
    pub(crate) async fn make_task(&self) {
        for (tongue, agent) in &self.agents {
            agent.plan(tongue.answer(Op::SendStreamingMessage), &[]);
            let told = self.ask(&(crate::j1::J1.asks)(Op::SendStreamingMessage, tongue.card)).await;
            assert_eq!(told.parts.len(), 4, "{tongue:?}: {told:?}");
            agent.asked();
        }
    }

    /// Sends a request, and reads the whole answer.
    pub(crate) async fn ask(&self, said: &Said) -> Told {
        self.open(said).await.told().await
    }

    /// Sends a request, and reads the head of its answer.
    pub(crate) async fn open(&self, said: &Said) -> Hearing {
        Hearing::open(self.rig.address, said).await
    }

    /// What a caller of `caller` is told when the agent of `agent` answers this.
    pub(crate) async fn answered(&self, caller: Tongue, agent: Tongue, op: Op, answer: Answer) -> Told {
        self.agent(agent).plan(answer, &[]);
        self.ask(&(caller.asks)(op, agent.card)).await
    }

    /// The same for a stream whose parts wait.
    pub(crate) async fn gated(&self, caller: Tongue, agent: Tongue, latches: &[Latch]) -> Hearing {
        self.agent(agent).plan(agent.answer(Op::SendStreamingMessage), latches);
        self.open(&(caller.asks)(Op::SendStreamingMessage, agent.card)).await
    }
}

/// The dialects whose bodies are JSON.
pub(crate) fn json_tongues() -> impl Iterator<Item = Tongue> {
    TONGUES.into_iter().filter(|tongue| tongue.dialect != Dialect::G1)
}

/// Every caller with every agent.
pub(crate) fn pairs() -> impl Iterator<Item = (Tongue, Tongue)> {
    TONGUES.into_iter().flat_map(|agent| TONGUES.into_iter().map(move |caller| (caller, agent)))
}
