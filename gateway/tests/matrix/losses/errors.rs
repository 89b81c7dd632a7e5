//! What of an error is told, and what is not.

use super::{Add, Proof};
use crate::j1::J1;
use crate::j3::J3;
use crate::r3::R3;

/// The losses of errors.
pub(super) fn losses(loss: Add<'_>) {
    const NEW: &str = r#"{"jsonrpc":"2.0","id":"$ID","error":{"code":-32001,"message":"no","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"about":"x"}},{"@type":"type.googleapis.com/google.rpc.Help","links":[]}]}}"#;
    const OLD: &str = r#"{"jsonrpc":"2.0","id":"$ID","error":{"code":-32001,"message":"no","data":{"free":[1,null]}}}"#;
    loss(
        "1.0",
        "0.3",
        "details of an error beside the reason",
        "dropped; the reason's facts become `data`",
        vec![Proof::Failed(
            J1,
            J3,
            NEW,
            r#"{"jsonrpc":"2.0","id":"seven","error":{"code":-32001,"message":"no","data":{"about":"x"}}}"#,
        )],
    );
    loss(
        "0.3",
        "1.0",
        "free-form `data` of an error",
        "dropped; between callers and agents of 0.3 it is kept",
        vec![
            Proof::Failed(
                J3,
                J1,
                OLD,
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"no","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#,
            ),
            Proof::Failed(
                J3,
                J3,
                OLD,
                r#"{"jsonrpc":"2.0","id":"seven","error":{"code":-32001,"message":"no","data":{"free":[1,null]}}}"#,
            ),
        ],
    );
    loss(
        "any",
        "`R3` callers",
        "`data` and details of an error",
        "dropped: code, name and text are told",
        vec![
            Proof::Failed(J1, R3, NEW, r#"{"code":-32001,"type":"TaskNotFoundError","message":"no"}"#),
            Proof::Failed(J3, R3, OLD, r#"{"code":-32001,"type":"TaskNotFoundError","message":"no"}"#),
        ],
    );
}
