//! No event is held back: each is with the caller before the agent sends the next.

use crate::agent::Latch;
use crate::tongue::{Op, Told};
use crate::world::{World, pairs};

#[tokio::test]
async fn each_event_is_with_the_caller_before_the_agent_sends_the_next() {
    let world = World::start().await;
    for (caller, agent) in pairs() {
        let latches: Vec<Latch> = (0..4).map(|_| Latch::default()).collect();
        let mut hearing = world.gated(caller, agent, &latches[..]).await;
        let wanted: Told = (caller.gets)(Op::SendStreamingMessage, agent.card);
        for (place, wanted) in wanted.parts.iter().enumerate() {
            // What follows is still behind its latch.
            latches[place].open();
            let part = hearing.part().await;
            assert_eq!(part.as_ref(), Some(wanted), "{caller:?} → {agent:?}, event {place}");
        }
        assert_eq!(hearing.part().await, None, "{caller:?} → {agent:?}");
    }
}
