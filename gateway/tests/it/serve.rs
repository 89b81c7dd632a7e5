//! `chancery serve` as a process of its own: it starts, answers, and stops on SIGTERM with exit code 0.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub(crate) struct Process {
    child: Child,
    pub(crate) public: SocketAddr,
    admin: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ = self.child.kill();
    }
}

impl Process {
    /// As if the machine had lost power.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(crate) fn serve(settings: &[(&str, &str)]) -> Process {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chancery"));
    command.env_clear().args(["serve", "--migrate"]).current_dir(dir.path());
    command.env("CHANCERY__PUBLIC__PUBLIC_URLS", "https://gw.test");
    command.env("CHANCERY__SECRETS__MASTER_KEY", "q2Vb0b1Yh0mS4f0m7J8nT3x5v9c1L6w2ZkQeRtYuIoA=");
    command.env("CHANCERY__PUBLIC__LISTEN", "127.0.0.1:0").env("CHANCERY__ADMIN__LISTEN", "127.0.0.1:0");
    command
        .env("CHANCERY__STORE__URL", format!("sqlite://{}", at("data/s.db")))
        .env("CHANCERY__AUDIT__DIR", at("audit"));
    command.envs(settings.iter().copied());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let addresses = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let line: Value = serde_json::from_str(&line).ok()?;
        let address = |name: &str| line[name].as_str()?.trim_start_matches("Some(").trim_end_matches(')').parse().ok();
        (line["message"] == "serving").then(|| Some((address("public")?, address("admin")?)))?
    });
    let (public, admin) = addresses.expect("the process says where it serves");
    // Somebody must read on, or the process would wait for room in the pipe.
    std::thread::spawn(move || lines.count());
    Process { child, public, admin, _dir: dir }
}

fn terminate(process: &mut Process) -> Option<i32> {
    let killed = Command::new("kill").args(["-TERM", &process.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    process.child.wait().unwrap().code()
}

#[tokio::test]
async fn sigterm_ends_the_process_with_code_0() {
    let mut process = serve(&[("CHANCERY__AUDIT__ON_FULL", "drop")]);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ready: Value = http.get(format!("http://{}/readyz", process.admin)).send().await.unwrap().json().await.unwrap();
    assert_eq!(ready["status"], "ready");
    // T-CFG-1: what trades safety away is told and counted.
    assert_eq!(ready["relaxed"], serde_json::json!(["audit.on_full"]));
    let metrics = http.get(format!("http://{}/metrics", process.admin)).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("chancery_relaxed_option{option=\"audit.on_full\"} 1"), "{metrics}");
    let health = Command::new(env!("CARGO_BIN_EXE_chancery"));
    let probe = |mut command: Command, address: SocketAddr| {
        command.args(["health", "--address", &address.to_string()]).output().unwrap().status.code()
    };
    assert_eq!(probe(health, process.public), Some(0));
    drop(http);
    assert_eq!(terminate(&mut process), Some(0));
    assert_eq!(probe(Command::new(env!("CARGO_BIN_EXE_chancery")), process.public), Some(1));
}
