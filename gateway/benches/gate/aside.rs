//! Programs beside the gateway: tenant A's callers and agents, each a process of its own, as they are in life.
//!
//! This program plays them, told by `--role`. In one process with the gateway they would share its address space, and what
//! one side does to memory would hold up the other.

use crate::neighbour::{self, Urls};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A's agents, until it is ended.
const AGENTS: &str = "agents";
/// A's calls in the way with this number until it is ended.
const CALLERS: &str = "callers";

/// A process that is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Aside(Child);

impl Drop for Aside {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Aside {
    /// A's agents, and where they are.
    pub(crate) fn agents() -> (Self, Urls) {
        let (aside, line) = Self::start(&[AGENTS]);
        let urls: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        (aside, urls.try_into().unwrap())
    }

    /// A's callers, in the way with this number.
    pub(crate) fn callers(gateway: SocketAddr, way: usize) -> Self {
        Self::start(&[CALLERS, &gateway.to_string(), &way.to_string()]).0
    }

    /// Starts a role, and reads the line that it says once it is there. A has machines of its own: here it gets what the
    /// gateway and B leave.
    fn start(words: &[&str]) -> (Self, String) {
        let mut child = Command::new("nice")
            .args(["-n", "10"])
            .arg(std::env::current_exe().unwrap())
            .arg("--role")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`nice` and this program start");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (Self(child), line)
    }
}

/// Plays the role of these words until standard input ends. `false` where there is none such.
pub(crate) async fn play(words: &[&str]) -> bool {
    match words {
        ["--role", role] if *role == AGENTS => {
            let (urls, _agents) = neighbour::agents().await;
            println!("{}", urls.join(" "));
            until_the_input_ends().await;
        }
        ["--role", role, gateway, way] if *role == CALLERS => {
            let mut callers = neighbour::callers(gateway.parse().unwrap(), way.parse().unwrap());
            println!("calling");
            until_the_input_ends().await;
            callers.shutdown().await;
        }
        _ => return false,
    }
    true
}

async fn until_the_input_ends() {
    tokio::task::spawn_blocking(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
    })
    .await
    .unwrap();
}
