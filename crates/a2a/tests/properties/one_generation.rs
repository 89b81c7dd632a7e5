//! JSON-RPC, 1.0 to 1.0 and 0.3 to 0.3: what is relayed is what was sent.

use crate::config;
use crate::generate::{event, operation, params};
use crate::wire::{MINTED, address, read, receive, rpc, sprinkle, voice};
use a2a::{
    Call, Dialect, Event, Version,
    dialect::{Colon, R3Bytes, SubscribeVerb, decode_event, encode_call},
};
use json::{Json, Limits};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_generation_keeps_unknown_members_digits_and_order_of_calls(
        (kind, params) in operation().prop_flat_map(|kind| (Just(kind), params(kind))),
    ) {
        // v1.0: what goes in comes out.
        let sent = rpc(kind.method(Version::V10).unwrap(), &sprinkle(params.clone()));
        let relayed = encode_call(Dialect::J1, &receive(&sent, Some("1.0")), &address(Colon::Percent), MINTED, SubscribeVerb::Post).unwrap();
        prop_assert_eq!(&read(relayed.body.as_deref().unwrap()), &sent);
        // v0.3: written by our own encoder, then sprinkled on the wire.
        let Json::Object(params) = params else { unreachable!() };
        let call = Call { kind, params, origin: Version::V10 };
        if let Ok(outgoing) = encode_call(Dialect::J3, &call, &address(Colon::Percent), MINTED, SubscribeVerb::Post) {
            let written = read(outgoing.body.as_deref().unwrap());
            let sent = rpc(kind.method(Version::V03).unwrap(), &sprinkle(written.get("params").unwrap().clone()));
            let relayed = encode_call(Dialect::J3, &receive(&sent, None), &address(Colon::Percent), MINTED, SubscribeVerb::Post).unwrap();
            prop_assert_eq!(&read(relayed.body.as_deref().unwrap()), &sent);
        }
    }

    #[test]
    fn one_generation_keeps_unknown_members_digits_and_order_of_events(body in event()) {
        for (dialect, version) in [(Dialect::J1, Version::V10), (Dialect::J3, Version::V03)] {
            let clean = voice(dialect).event(Event { body: body.clone(), origin: Version::V10 });
            let clean = String::from_utf8(clean).unwrap();
            let clean = read(clean.strip_prefix("data:").unwrap().trim().as_bytes());
            let result = match (version, clean.get("result").unwrap().clone()) {
                (Version::V03, bare) => sprinkle(bare),
                (Version::V10, Json::Object(wrapper)) => {
                    Json::Object(wrapper.into_iter().map(|(key, value)| (key, sprinkle(value))).collect())
                }
                (Version::V10, other) => other,
            };
            let sent = Json::from([("jsonrpc", Json::from("2.0")), ("id", "rpc-1".into()), ("result", result)]);
            let event = decode_event((dialect, R3Bytes::Single), "rpc-1", &json::write(&sent), None, &Limits::default()).unwrap().unwrap();
            let relayed = String::from_utf8(voice(dialect).event(event)).unwrap();
            prop_assert_eq!(&read(relayed.strip_prefix("data:").unwrap().trim().as_bytes()), &sent);
        }
    }
}
