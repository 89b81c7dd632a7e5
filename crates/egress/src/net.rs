//! Looking names up and dialling addresses.
//!
//! Takes a name and a port, or an address; gives all addresses, or a TCP stream. Judges nothing. [`Net::Scripted`] is the stand-in for
//! tests: it answers names from a script and leads an address to a local port, so no packet leaves the machine.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::{TcpStream, lookup_host};

/// Where names and connections come from.
#[derive(Clone, Debug, Default)]
pub enum Net {
    /// The operating system.
    #[default]
    System,
    /// A script, for tests.
    Scripted(Arc<Script>),
}

impl Net {
    pub(crate) async fn lookup(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        match self {
            Net::System => Ok(lookup_host((name, port)).await?.collect()),
            Net::Scripted(script) => script.answer(name, port),
        }
    }

    pub(crate) async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        match self {
            Net::System => TcpStream::connect(address).await,
            Net::Scripted(script) => TcpStream::connect(script.route(address)?).await,
        }
    }
}

/// What a scripted network does, and what it was asked.
#[derive(Debug, Default)]
pub struct Script {
    answers: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    routes: Mutex<HashMap<SocketAddr, SocketAddr>>,
    dialled: Mutex<Vec<SocketAddr>>,
}

impl Script {
    /// The next look-up of `name` gives these addresses; the last answer given for a name repeats for ever.
    pub fn name(&self, name: &str, addresses: &[IpAddr]) {
        lock(&self.answers).entry(name.to_owned()).or_default().push_back(addresses.to_vec());
    }

    /// Dialling `address` reaches the local `listener`.
    pub fn lead(&self, address: SocketAddr, listener: SocketAddr) {
        lock(&self.routes).insert(address, listener);
    }

    /// Every address that was dialled, in order.
    pub fn dialled(&self) -> Vec<SocketAddr> {
        lock(&self.dialled).clone()
    }

    fn answer(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let mut answers = lock(&self.answers);
        let script = answers.get_mut(name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let addresses = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
        Ok(addresses.unwrap_or_default().into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
    }

    fn route(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        lock(&self.dialled).push(address);
        lock(&self.routes).get(&address).copied().ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
