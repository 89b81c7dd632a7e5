//! A door before a database that can be held shut: connections stay open, and nothing passes.

use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A forwarder on loopback; ends with this value.
#[derive(Debug)]
pub(crate) struct Pausing {
    /// The database's address by way of the door.
    pub(crate) url: String,
    shut: Arc<watch::Sender<bool>>,
    _doors: JoinSet<()>,
}

impl Pausing {
    /// A door before the server of `url`, open.
    pub(crate) async fn before(url: &str) -> Self {
        let address = url.split('@').nth(1).and_then(|rest| rest.split(['/', '?']).next()).unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let door = listener.local_addr().unwrap().to_string();
        let shut = Arc::new(watch::Sender::new(false));
        let (server, gate) = (address.clone(), Arc::clone(&shut));
        let mut doors = JoinSet::new();
        doors.spawn(async move {
            let mut passages = JoinSet::new();
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let Ok(far) = TcpStream::connect(&server).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                passages.spawn(pass(near_in, far_out, gate.subscribe()));
                passages.spawn(pass(far_in, near_out, gate.subscribe()));
            }
        });
        Self { url: url.replace(&address, &door), shut, _doors: doors }
    }

    /// From now on nothing passes.
    pub(crate) fn pause(&self) {
        self.shut.send_replace(true);
    }

    /// What waited passes now.
    pub(crate) fn resume(&self) {
        self.shut.send_replace(false);
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut shut: watch::Receiver<bool>,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if shut.wait_for(|shut| !*shut).await.is_err() || to.write_all(bytes.get(..read).unwrap()).await.is_err() {
            return;
        }
    }
}
