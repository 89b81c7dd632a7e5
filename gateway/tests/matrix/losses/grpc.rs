//! What protobuf cannot say, and what it says otherwise.

use super::{Add, TASK, got, grpc_send, new, sent};
use crate::g1::G1;
use crate::j1::J1;
use crate::proto::{V, int, msg, structure, text, value};
use crate::r1::R1;

/// The losses of gRPC.
pub(super) fn losses(loss: Add<'_>) {
    let number = |number: f64| grpc_send(&[value(4, &V::Struct(vec![("n", V::Num(number))]))], &[]);
    loss(
        "JSON",
        "`G1`",
        "digits of a number beyond a double",
        "the nearest double",
        vec![
            sent(
                J1,
                G1,
                new(r#"{"data":{"n":123456789012345678901234567890}}"#, ""),
                number(123_456_789_012_345_678_901_234_567_890.0),
            ),
            sent(R1, G1, new(r#"{"data":{"n":9007199254740993}}"#, ""), number(9_007_199_254_740_992.0)),
        ],
    );
    loss(
        "`G1`",
        "JSON",
        "whole numbers are doubles",
        "written without a fraction where they have none",
        vec![sent(G1, J1, number(1e15), new(r#"{"data":{"n":1000000000000000}}"#, ""))],
    );
    loss(
        "JSON",
        "`G1`",
        "members that the proto does not have",
        "dropped, after the guard has read them",
        vec![
            sent(J1, G1, new(r#"{"text":"a","x":1}"#, r#","x":1"#), grpc_send(&[text(1, "a")], &[])),
            got(J1, G1, TASK.replace(r#""id""#, r#""x":[1],"id""#), {
                [text(1, "t1"), text(2, "c1"), msg(3, &[int(1, 3)])].concat()
            }),
        ],
    );
    loss(
        "`G1`",
        "any",
        "fields that the proto does not have",
        "dropped unread",
        vec![sent(
            G1,
            J1,
            grpc_send(&[[text(1, "a"), text(77, "x")].concat()], &[text(78, "x")]),
            new(r#"{"text":"a"}"#, ""),
        )],
    );
}

/// What is not set, and times.
pub(super) fn defaults(loss: Add<'_>) {
    loss(
        "JSON",
        "`G1`",
        "`false`, `0`, `\"\"` and `[]` of members without presence (`append`, `lastChunk`, `returnImmediately`, `filename`, lists)",
        "not set, which means the same; with presence (`historyLength`) they are kept, and so is all of `data` and `metadata`",
        vec![
            sent(
                J1,
                G1,
                new(
                    r#"{"text":"","filename":"","metadata":{"no":false,"none":[],"null":null,"zero":0}}"#,
                    r#","configuration":{"acceptedOutputModes":[],"historyLength":0,"returnImmediately":false}"#,
                ),
                grpc_send(
                    &[[
                        text(1, ""),
                        structure(
                            5,
                            &[
                                ("no", V::Bool(false)),
                                ("none", V::List(vec![])),
                                ("null", V::Null),
                                ("zero", V::Num(0.0)),
                            ],
                        ),
                    ]
                    .concat()],
                    &[msg(3, &[int(3, 0)])],
                ),
            ),
            sent(
                G1,
                J1,
                grpc_send(&[text(1, "")], &[msg(3, &[int(3, 0), int(4, 0)])]),
                new(r#"{"text":""}"#, r#","configuration":{"historyLength":0}"#),
            ),
        ],
    );
    loss(
        "JSON",
        "`G1`",
        "how a time is written (zone, digits)",
        "the same moment in UTC, with 0, 3, 6 or 9 digits",
        vec![
            got(
                G1,
                J1,
                {
                    let moment = msg(3, &[int(1, 1_767_323_045), int(2, 100_000_000)]);
                    [text(1, "t1"), text(2, "c1"), msg(3, &[int(1, 3), moment])].concat()
                },
                TASK.replace(r#"COMPLETED""#, r#"COMPLETED","timestamp":"2026-01-02T03:04:05.100Z""#),
            ),
            got(R1, G1, TASK.replace(r#"COMPLETED""#, r#"COMPLETED","timestamp":"2026-01-02T05:04:05.1+02:00""#), {
                let moment = msg(3, &[int(1, 1_767_323_045), int(2, 100_000_000)]);
                [text(1, "t1"), text(2, "c1"), msg(3, &[int(1, 3), moment])].concat()
            }),
        ],
    );
}
