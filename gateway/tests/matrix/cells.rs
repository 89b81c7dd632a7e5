//! The matrix: every cell has one outcome, and each is exactly what is documented.

use crate::TONGUES;
use crate::page;
use crate::proto;
use crate::refusals::{NO_METHOD, NO_PUSH, UNSUPPORTED};
use crate::tongue::{Op, Refusal, Told, Tongue, shown, sorted};
use crate::world::{World, pairs};
use a2a::{Dialect, Version};
use json::Json;

/// What came of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// It works.
    Works,
    /// It is refused with this code of JSON-RPC, in the caller's words.
    Refused(i64),
}

/// Every cell by agent, caller and operation.
pub(crate) type Table = Vec<(Tongue, Tongue, Op, Cell)>;

/// Why this cell is refused; `None` where it works.
fn documented(caller: Tongue, agent: Tongue, op: Op) -> Option<Refusal> {
    let old_agent = agent.dialect.version() == Version::V03;
    match op {
        Op::SendMessage | Op::SendStreamingMessage => None,
        Op::CreatePushConfig | Op::GetPushConfig | Op::ListPushConfigs | Op::DeletePushConfig => Some(NO_PUSH),
        Op::ListTasks if caller.dialect == Dialect::J3 => Some(NO_METHOD),
        Op::ListTasks => old_agent.then_some(UNSUPPORTED),
        Op::GetTask | Op::CancelTask | Op::SubscribeToTask | Op::GetExtendedCard => {
            (agent.dialect == Dialect::PathRpc).then_some(UNSUPPORTED)
        }
    }
}

#[tokio::test]
async fn every_caller_gets_from_every_agent_what_is_documented() {
    let world = World::start().await;
    world.make_task().await;
    let (mut table, mut wrong) = (Table::new(), Vec::new());
    for (caller, agent) in pairs() {
        for op in Op::ALL {
            match cell(&world, caller, agent, op).await {
                Ok(cell) => table.push((agent, caller, op, cell)),
                Err(problem) => wrong.push(format!("{} → {} {}: {problem}", caller.name, agent.name, op.name())),
            }
        }
    }
    let works = table.iter().filter(|(.., cell)| *cell == Cell::Works).count();
    let (cells, refused) = (TONGUES.len() * TONGUES.len() * Op::ALL.len(), table.len() - works);
    eprintln!(
        "6 × 6 × 11 = {cells} cells: {works} work, {refused} are refused as documented, {} are wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(table.len(), cells, "an empty cell");
    page::compare(&table);
}

async fn cell(world: &World, caller: Tongue, agent: Tongue, op: Op) -> Result<Cell, String> {
    let stub = world.agent(agent);
    stub.plan(agent.answer(op), &[]);
    let said = (caller.asks)(op, agent.card);
    let (told, raw) = if op == Op::GetExtendedCard {
        (world.ask(&said).await, world.open(&said).await.raw().await)
    } else {
        (world.ask(&said).await, Vec::new())
    };
    let asked = stub.asked();
    match documented(caller, agent, op) {
        Some(no) => {
            same("told", &told, &(caller.refused)(op, &no))?;
            same("asked of the agent", &asked.len(), &0)?;
            Ok(Cell::Refused(no.code))
        }
        None => {
            let told = if op == Op::GetExtendedCard { signatures_counted(told, raw) } else { told };
            same("told", &told, &(caller.gets)(op, agent.card))?;
            same("calls of the agent", &asked.len(), &(if op == Op::GetExtendedCard { 2 } else { 1 }))?;
            let first = asked.into_iter().next().ok_or("the agent was not asked")?;
            same("asked of the agent", &first, &(agent.asked)(op))?;
            Ok(Cell::Works)
        }
    }
}

fn same<T: std::fmt::Debug + PartialEq>(what: &str, is: &T, should: &T) -> Result<(), String> {
    if is == should {
        return Ok(());
    }
    let (is, should) = (format!("{is:?}"), format!("{should:?}"));
    let place = is.chars().zip(should.chars()).take_while(|(one, other)| one == other).count();
    let near = |text: &str| text.chars().skip(place.saturating_sub(80)).take(240).collect::<String>();
    Err(format!("{what}\n    is     …{}…\n    should …{}…", near(&is), near(&should)))
}

/// A card with the number of its signatures in their place: which they are, other tests say.
fn signatures_counted(mut told: Told, mut raw: Vec<u8>) -> Told {
    if told.media == "application/grpc" {
        if let Some(message) = proto::unframed(&mut raw) {
            let (rest, count) = proto::without(&message, 13);
            told.parts = vec![proto::shown(&rest), format!("{count} signatures")];
        }
        return told;
    }
    for part in &mut told.parts {
        let Ok(mut tree) = json::read(part.as_bytes(), &json::Limits::default()) else { continue };
        let enveloped = tree.get("result").is_some();
        let card =
            if enveloped { tree.as_object_mut().and_then(|tree| tree.get_mut("result")) } else { Some(&mut tree) };
        if let Some(Json::Object(card)) = card {
            let count = card.get("signatures").and_then(Json::as_array).map_or(0, <[Json]>::len);
            card.insert("signatures", i64::try_from(count).unwrap());
        }
        *part = sorted(&shown(&tree));
    }
    told
}
