//! From any dialect to any other and back: what a caller said arrives, and what cannot be said is dropped.

use crate::config;
use crate::generate::{event, operation, params, result};
use crate::wire::{reply, send, sorted, sprinkle, tell};
use a2a::{Answer, Call, Dialect, Event, OperationKind, Version, dialect::Colon};
use json::Json;
use proptest::{prelude::*, sample::select};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_v10_call_survives_every_dialect_that_can_say_it(
        (kind, params) in operation().prop_flat_map(|kind| (Just(kind), params(kind))),
        colon in select(vec![Colon::Percent, Colon::Literal]),
    ) {
        let Json::Object(params) = params else { unreachable!() };
        let call = Call { kind, params, origin: Version::V10 };
        for dialect in Dialect::JSON {
            let Some(arrived) = send(dialect, &call, colon) else {
                prop_assert!(dialect == Dialect::PathRpc || kind == OperationKind::ListTasks, "{}", dialect.name());
                continue;
            };
            prop_assert_eq!(arrived.origin, dialect.version());
            let home = send(Dialect::J1, &arrived, colon).unwrap();
            let mut expected = call.params.clone();
            if dialect == Dialect::R3 && kind == OperationKind::GetTask && expected.get("historyLength") == Some(&Json::from(0)) {
                // Its proto cannot tell "none" from "not set".
                expected.remove("historyLength");
            }
            prop_assert_eq!(sorted(&home.params.into()), sorted(&expected.into()), "{}", dialect.name());
        }
    }

    #[test]
    fn a_v10_answer_survives_every_dialect(
        (kind, body) in operation().prop_flat_map(|kind| (Just(kind), result(kind))),
    ) {
        let answer = Answer { body, origin: Version::V10 };
        for dialect in Dialect::JSON {
            if kind == OperationKind::ListTasks && dialect == Dialect::J3 { continue }
            let home = reply(Dialect::J1, kind, reply(dialect, kind, answer.clone()));
            prop_assert_eq!(sorted(&home.body), sorted(&answer.body), "{}", dialect.name());
        }
    }

    #[test]
    fn a_v10_event_survives_every_dialect(body in event()) {
        let event = Event { body, origin: Version::V10 };
        for dialect in Dialect::JSON {
            let told = tell(dialect, event.clone());
            prop_assert_eq!(told.task_id(), event.task_id());
            prop_assert_eq!(told.state(), event.state());
            let home = tell(Dialect::J1, told);
            prop_assert_eq!(sorted(&home.body), sorted(&event.body), "{}", dialect.name());
        }
    }

    #[test]
    fn translation_drops_what_the_other_generation_cannot_say(
        (kind, body) in operation().prop_flat_map(|kind| (Just(kind), result(kind))),
    ) {
        prop_assume!(!matches!(kind, OperationKind::GetExtendedCard | OperationKind::DeletePushConfig | OperationKind::ListTasks));
        let clean = reply(Dialect::J3, kind, Answer { body: body.clone(), origin: Version::V10 });
        let wild = Answer { body: sprinkle(body), origin: Version::V10 };
        // The wrapper of a stream event may not hold strangers; every other object may.
        let told = reply(Dialect::J3, kind, wild);
        prop_assert_eq!(told.body, clean.body);
    }
}
