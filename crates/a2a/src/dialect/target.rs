//! The path below a card → what it addresses. Syntax only: nothing is looked up, ids are not judged yet.
//!
//! Takes segments that were split on the raw `/` and decoded once. Never sees the body.

use http::Method;

use crate::OperationKind;

/// What a request below a card's URL addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The JSON-RPC endpoint.
    Rpc,
    /// An operation by its path.
    Http {
        /// The operation.
        operation: OperationKind,
        /// The task in the path, as it was written.
        task: Option<String>,
        /// The push configuration in the path, as it was written.
        config: Option<String>,
        /// Whether the path began with `v1/`.
        under_v1: bool,
    },
    /// The public card.
    Card,
    /// An operation of the gRPC service.
    Grpc(OperationKind),
}

/// Why a path addresses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The path exists for other verbs.
    #[error("this path takes {allow}")]
    MethodNotAllowed {
        /// The `Allow` header.
        allow: &'static str,
    },
    /// No such path.
    #[error("no such path below an agent")]
    NotFound,
}

/// What the decoded segments `rest` below a card's URL address.
///
/// # Errors
/// [`TargetError`] for a path or a verb that no dialect has.
pub fn target(method: &Method, rest: &[String]) -> Result<Target, TargetError> {
    let segments: Vec<&str> = rest.iter().map(String::as_str).collect();
    match segments.as_slice() {
        [] if method == Method::POST => Ok(Target::Rpc),
        [] => verb(method, "GET, POST", Target::Card),
        [".well-known", "agent-card.json" | "agent.json"] => verb(method, "GET", Target::Card),
        ["v1", "card"] => verb(method, "GET", http(OperationKind::GetExtendedCard, None, None, true)),
        ["v1", below @ ..] => operation(method, below, true),
        below => operation(method, below, false),
    }
}

/// The paths that HTTP+JSON and path RPC share.
fn operation(method: &Method, segments: &[&str], under_v1: bool) -> Result<Target, TargetError> {
    use OperationKind as Kind;
    let post = method == Method::POST;
    match segments {
        ["message:send"] => verb(method, "POST", http(Kind::SendMessage, None, None, under_v1)),
        ["message:stream"] => verb(method, "POST", http(Kind::SendStreamingMessage, None, None, under_v1)),
        ["extendedAgentCard"] => verb(method, "GET", http(Kind::GetExtendedCard, None, None, under_v1)),
        ["tasks"] => verb(method, "GET", http(Kind::ListTasks, None, None, under_v1)),
        ["tasks", task] => match task.rsplit_once(':') {
            Some((task, "cancel")) => {
                addressed(task, || verb(method, "POST", http(Kind::CancelTask, Some(task), None, under_v1)))
            }
            Some((task, "subscribe")) => {
                addressed(task, || verb(method, "GET, POST", http(Kind::SubscribeToTask, Some(task), None, under_v1)))
            }
            _ => addressed(task, || verb(method, "GET", http(Kind::GetTask, Some(task), None, under_v1))),
        },
        ["tasks", task, "pushNotificationConfigs"] => {
            let kind = if post { Kind::CreatePushConfig } else { Kind::ListPushConfigs };
            addressed(task, || verb(method, "GET, POST", http(kind, Some(task), None, under_v1)))
        }
        ["tasks", task, "pushNotificationConfigs", config] if !config.is_empty() => {
            let kind = if method == Method::DELETE { Kind::DeletePushConfig } else { Kind::GetPushConfig };
            addressed(task, || verb(method, "DELETE, GET", http(kind, Some(task), Some(config), under_v1)))
        }
        _ => Err(TargetError::NotFound),
    }
}

fn http(operation: OperationKind, task: Option<&str>, config: Option<&str>, under_v1: bool) -> Target {
    Target::Http { operation, task: task.map(str::to_owned), config: config.map(str::to_owned), under_v1 }
}

fn verb(method: &Method, allow: &'static str, found: Target) -> Result<Target, TargetError> {
    if allow.split(", ").any(|allowed| allowed == method.as_str()) {
        Ok(found)
    } else {
        Err(TargetError::MethodNotAllowed { allow })
    }
}

fn addressed(task: &str, found: impl FnOnce() -> Result<Target, TargetError>) -> Result<Target, TargetError> {
    if task.is_empty() { Err(TargetError::NotFound) } else { found() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(method: &Method, path: &str) -> Result<Target, TargetError> {
        let rest: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
        target(method, &rest)
    }

    #[test]
    fn a_known_path_with_a_wrong_verb_names_the_right_ones() {
        let rows = [
            (Method::PUT, "", "GET, POST"),
            (Method::POST, ".well-known/agent-card.json", "GET"),
            (Method::GET, "message:send", "POST"),
            (Method::GET, "message:stream", "POST"),
            (Method::POST, "tasks", "GET"),
            (Method::POST, "tasks/t1", "GET"),
            (Method::GET, "tasks/t1:cancel", "POST"),
            (Method::DELETE, "tasks/t1:subscribe", "GET, POST"),
            (Method::DELETE, "tasks/t1/pushNotificationConfigs", "GET, POST"),
            (Method::POST, "tasks/t1/pushNotificationConfigs/c1", "DELETE, GET"),
            (Method::POST, "extendedAgentCard", "GET"),
            (Method::POST, "v1/card", "GET"),
        ];
        for (method, path, allow) in rows {
            assert_eq!(at(&method, path), Err(TargetError::MethodNotAllowed { allow }), "{method} {path}");
        }
    }

    #[test]
    fn the_action_is_behind_the_last_colon() {
        let found = at(&Method::POST, "tasks/a:cancel:subscribe");
        assert_eq!(found, Ok(http(OperationKind::SubscribeToTask, Some("a:cancel"), None, false)));
        let found = at(&Method::GET, "tasks/a:b");
        assert_eq!(found, Ok(http(OperationKind::GetTask, Some("a:b"), None, false)));
    }

    #[test]
    fn other_paths_are_not_found() {
        let paths =
            ["message", "Message:send", "tasks/:cancel", "tasks/t1/x", "v1", "v1/v1/tasks", "acme/message:send"];
        for path in paths {
            assert_eq!(at(&Method::POST, path), Err(TargetError::NotFound), "{path}");
        }
        assert_eq!(target(&Method::GET, &["tasks".to_owned(), String::new()]), Err(TargetError::NotFound));
    }
}
