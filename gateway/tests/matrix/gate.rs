//! Who is turned away at the gate, and with what: every operation in every caller's words, for every reason.
//!
//! Each answer is exact: status, media type, document, challenges, and what the audit says of it. The agent is never
//! called.

use crate::TONGUES;
use crate::caller::Hearing;
use crate::proto::{self, int, msg, text};
use crate::rig::{CardSpec, G1 as GLOBEX, GrantSpec, P1, Plan, Rig};
use crate::tongue::{Op, Refusal, Said, Told, Tongue};
use chancery::registry::meter::Rates;
use http::HeaderMap;
use sample_agents::hostile::{Behaviour, Scripted, start};

/// The domain of reasons that A2A does not define.
const OWN: &str = "gw.test";

/// One reason to be turned away.
struct Case {
    name: &'static str,
    /// What is put in place before the call.
    world: Meets,
    /// What becomes of the request.
    says: fn(Said) -> Said,
    no: fn(Op) -> Refusal,
    domain: &'static str,
    /// The challenges over HTTP; gRPC has them too, with a realm that names no tenant.
    challenges: &'static [&'static str],
    /// Whether it is known which request it was: what is refused unread has no id.
    read: bool,
    /// What the record says: none where nobody was proven.
    fault: Option<&'static str>,
    /// What it is counted as, recorded or not.
    counted: &'static str,
}

/// What the caller meets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meets {
    Open,
    Expired,
    Revoked,
    NotThisOperation,
    Spent,
}

const fn unauthenticated(_: Op) -> Refusal {
    Refusal {
        code: -32040,
        rpc: 401,
        http: (401, "UNAUTHENTICATED"),
        grpc: 16,
        reason: "UNAUTHENTICATED",
        name: "UnauthenticatedError",
        text: "a valid credential is required",
    }
}

const fn two(_: Op) -> Refusal {
    Refusal {
        code: -32600,
        rpc: 400,
        http: (400, "INVALID_ARGUMENT"),
        grpc: 3,
        reason: "INVALID_REQUEST",
        name: "InvalidRequestError",
        text: "send one credential: Authorization, X-API-Key or a client certificate, not two of them",
    }
}

const fn hidden(_: Op) -> Refusal {
    Refusal {
        code: -32046,
        rpc: 404,
        http: (404, "NOT_FOUND"),
        grpc: 5,
        reason: "AGENT_NOT_FOUND",
        name: "AgentNotFoundError",
        text: "agent not found",
    }
}

fn forbidden(op: Op) -> Refusal {
    Refusal {
        code: -32041,
        rpc: 403,
        http: (403, "PERMISSION_DENIED"),
        grpc: 7,
        reason: "PERMISSION_DENIED",
        name: "PermissionDeniedError",
        text: Box::leak(format!("the operation {} is not granted", op.name()).into_boxed_str()),
    }
}

const fn limited(_: Op) -> Refusal {
    Refusal {
        code: -32043,
        rpc: 429,
        http: (429, "RESOURCE_EXHAUSTED"),
        grpc: 8,
        reason: "RATE_LIMITED",
        name: "RateLimitedError",
        text: "too many requests",
    }
}

const CHALLENGE: [&str; 2] = [r#"Bearer realm="a2a/acme""#, r#"ApiKey realm="a2a/acme""#];
const BAD_CHALLENGE: [&str; 2] = [r#"Bearer realm="a2a/acme", error="invalid_token""#, r#"ApiKey realm="a2a/acme""#];

const CASES: [Case; 8] = [
    Case {
        name: "no credential",
        world: Meets::Open,
        says: |said| said.without("authorization"),
        no: unauthenticated,
        domain: OWN,
        challenges: &CHALLENGE,
        read: false,
        fault: None,
        counted: "missing_credential",
    },
    Case {
        name: "garbage",
        world: Meets::Open,
        says: |said| said.by("sk_brutor_api_garbage"),
        no: unauthenticated,
        domain: OWN,
        challenges: &BAD_CHALLENGE,
        read: false,
        fault: None,
        counted: "bad_credential",
    },
    Case {
        name: "expired",
        world: Meets::Expired,
        says: |said| said,
        no: unauthenticated,
        domain: OWN,
        challenges: &BAD_CHALLENGE,
        read: false,
        fault: None,
        counted: "bad_credential",
    },
    Case {
        name: "revoked",
        world: Meets::Revoked,
        says: |said| said,
        no: unauthenticated,
        domain: OWN,
        challenges: &BAD_CHALLENGE,
        read: false,
        fault: None,
        counted: "bad_credential",
    },
    Case {
        name: "another tenant's",
        world: Meets::Open,
        says: |said| said.by(GLOBEX),
        no: hidden,
        domain: OWN,
        challenges: &[],
        read: false,
        fault: Some("AGENT_NOT_FOUND"),
        counted: "hidden",
    },
    Case {
        name: "not granted",
        world: Meets::NotThisOperation,
        says: |said| said,
        no: forbidden,
        domain: OWN,
        challenges: &[],
        read: true,
        fault: Some("PERMISSION_DENIED"),
        counted: "decode",
    },
    Case {
        name: "over limit",
        world: Meets::Spent,
        says: |said| said,
        no: limited,
        domain: OWN,
        challenges: &[],
        read: false,
        fault: Some("RATE_LIMITED"),
        counted: "limit",
    },
    Case {
        name: "two credentials",
        world: Meets::Open,
        says: |said| said.with("x-api-key", P1),
        no: two,
        domain: "a2a-protocol.org",
        challenges: &[],
        read: false,
        fault: None,
        counted: "two_credentials",
    },
];

async fn gate() -> (Scripted, Plan, Rig) {
    let agent = start(Behaviour::Honest).await.unwrap();
    let mut plan = Plan::default().set("limits.bad_keys_per_minute", "100000");
    for tongue in TONGUES {
        let mut spec = CardSpec::of(&agent.url(), a2a::Dialect::J1);
        spec.extended = true;
        plan = plan.card(&format!("acme/{}", tongue.card), spec);
    }
    let rig = plan.clone().start().await;
    (agent, plan, rig)
}

impl Meets {
    fn put(self, plan: &Plan, rig: &Rig, op: Op) {
        let now = rig.app.clock.now();
        let mut plan = plan.clone();
        match self {
            Self::Open | Self::Revoked => {}
            Self::Expired => plan = plan.expiring(-1),
            Self::NotThisOperation => {
                let operations = Op::ALL.into_iter().filter(|other| *other != op).collect();
                plan = plan.grant(GrantSpec { operations, ..GrantSpec::default() });
            }
            Self::Spent => plan = plan.grant(GrantSpec { per_minute: Some(1), ..GrantSpec::default() }),
        }
        let snapshot = plan.snapshot(rig.world().revision, now);
        match self {
            Self::Revoked => snapshot.keys.values().for_each(|key| key.cancelled.cancel()),
            Self::Spent => {
                for grant in snapshot.tenants["acme"].principals.values().flat_map(|one| one.grants.iter()) {
                    grant.metered.meter.spend(&grant.metered.allowance, Rates::Local, now).unwrap();
                }
            }
            Self::Open | Self::Expired | Self::NotThisOperation => {}
        }
        rig.app.registry.replace(snapshot);
    }
}

/// What the table of errors makes of it: with our own domain, and without an id where nothing was read.
fn wanted(case: &Case, caller: Tongue, op: Op) -> Told {
    // At the gate nothing has begun yet: no stream of 0.3 either, so the form is that of one answer.
    let form = match op {
        Op::SendStreamingMessage => Op::SendMessage,
        Op::SubscribeToTask => Op::GetTask,
        Op::SendMessage
        | Op::GetTask
        | Op::ListTasks
        | Op::CancelTask
        | Op::CreatePushConfig
        | Op::GetPushConfig
        | Op::ListPushConfigs
        | Op::DeletePushConfig
        | Op::GetExtendedCard => op,
    };
    let form = if caller.dialect.version() == a2a::Version::V03 { form } else { op };
    let mut told = (caller.refused)(form, &(case.no)(op));
    let ids = [r#""id":7"#, r#""id":"seven""#, r#""id":"r-1""#];
    for part in told.parts.iter_mut().chain(&mut told.end) {
        *part = part.replace("a2a-protocol.org", case.domain);
        if !case.read {
            *part = ids.iter().fold(part.clone(), |part, id| part.replace(id, r#""id":null"#));
        }
    }
    told
}

/// What gRPC says of the time to come back, in the details of its status: `google.rpc.RetryInfo`.
fn come_back_after(seconds: u64) -> Vec<u8> {
    let info = msg(2, &[msg(1, &[int(1, seconds)])]);
    msg(3, &[text(1, "type.googleapis.com/google.rpc.RetryInfo"), info])
}

fn all(headers: &HeaderMap, name: &str) -> Vec<String> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_operation_is_refused_for_every_reason_in_every_callers_words() {
    let (agent, plan, rig) = gate().await;
    let (mut wrong, mut cells, mut recorded) = (Vec::new(), 0, Vec::new());
    let counted = |case: &Case| rig.app.metrics.refusals.with_label_values(&[case.counted]).get();
    for case in &CASES {
        let (before, of_case) = (counted(case), cells);
        for op in Op::ALL {
            case.world.put(&plan, &rig, op);
            for caller in TONGUES {
                // There is no such method in this generation, whoever asks.
                if case.read && op == Op::ListTasks && caller.dialect == a2a::Dialect::J3 {
                    continue;
                }
                let said = (case.says)((caller.asks)(op, caller.card));
                let heard = Hearing::open(rig.address, &said).await;
                let headers = heard.headers.clone();
                let told = heard.told().await;
                cells += 1;
                recorded.extend(case.fault);
                let what = format!("{}: {caller:?} {}", case.name, op.name());
                let mut wanted = wanted(case, caller, op);
                let wait: Option<u64> =
                    headers.get("retry-after").map(|value| value.to_str().unwrap().parse().unwrap());
                if case.world == Meets::Spent && !caller.is_json() {
                    wanted.end[2] += &proto::shown(&come_back_after(wait.unwrap_or_default()));
                }
                if told != wanted {
                    wrong.push(format!("{what}\n    is     {told:?}\n    should {wanted:?}"));
                }
                let realm = |text: &&str| if caller.is_json() { (*text).to_owned() } else { text.replace("/acme", "") };
                let challenges: Vec<String> = case.challenges.iter().map(realm).collect();
                if all(&headers, "www-authenticate") != challenges {
                    wrong.push(format!("{what}: {:?}", all(&headers, "www-authenticate")));
                }
                let waits = if case.world == Meets::Spent {
                    wait.is_some_and(|wait| (50..=60).contains(&wait))
                } else {
                    wait.is_none()
                };
                if !waits {
                    wrong.push(format!("{what}: Retry-After {wait:?}"));
                }
            }
        }
        // Also those that leave no record are counted, each once and under its own reason.
        assert_eq!(counted(case) - before, cells - of_case, "{}", case.name);
    }
    eprintln!("{cells} refusals, {} are wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(agent.seen().connections, 0);
    let records = rig.records(recorded.len()).await;
    assert!(records.iter().all(|record| record.outcome == "refused"));
    let mut faults: Vec<String> = records.into_iter().filter_map(|record| record.fault).collect();
    faults.sort_unstable();
    recorded.sort_unstable();
    assert_eq!(faults, recorded, "one record each, and none of those who proved nobody");
}
