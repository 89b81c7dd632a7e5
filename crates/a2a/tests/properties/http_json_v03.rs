//! HTTP+JSON of 0.3: agents get strangers too, callers the members of its proto alone.

use crate::config;
use crate::generate::{operation, params, result};
use crate::wire::{MINTED, address, deliver, read, sorted, sprinkle, voice};
use a2a::{
    Answer, Call, Dialect, OperationKind, Version,
    dialect::{Colon, SubscribeVerb, encode_call},
};
use json::Json;
use proptest::{prelude::*, sample::select};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn http_json_of_03_keeps_unknown_members_towards_agents(params in params(OperationKind::SendMessage)) {
        let Json::Object(params) = params else { unreachable!() };
        let call = Call { kind: OperationKind::SendMessage, params, origin: Version::V10 };
        let encode = |call: &Call| {
            encode_call(Dialect::R3, call, &address(Colon::Literal), MINTED, SubscribeVerb::Post).unwrap()
        };
        let mut sent = encode(&call);
        let wild = sprinkle(read(sent.body.as_deref().unwrap()));
        sent.body = Some(json::write(&wild));
        let relayed = encode(&deliver(&sent));
        prop_assert_eq!(sorted(&read(relayed.body.as_deref().unwrap())), sorted(&wild));
    }

    #[test]
    fn http_json_of_03_tells_callers_members_of_its_proto_alone(
        (kind, body) in operation().prop_flat_map(|kind| (Just(kind), result(kind))),
        origin in select(vec![Version::V10, Version::V03]),
    ) {
        prop_assume!(!matches!(kind, OperationKind::GetExtendedCard | OperationKind::DeletePushConfig));
        let told = |body| voice(Dialect::R3).answer(kind, Answer { body, origin }).body;
        prop_assert_eq!(read(&told(sprinkle(body.clone()))), read(&told(body)));
    }
}
