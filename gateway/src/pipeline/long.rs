//! Reading and writing of long bodies, off the reactor.
//!
//! *Takes* the number of bytes and what is to be done with them. *Gives* what that gives. *Never* moves short work: it
//! would cost more than it spares. A worker that reads megabytes answers nobody else meanwhile; here it hands its other
//! tasks to a thread that waits, and a body that comes as fast as it can be read lets others have their turn: tasks on
//! this worker, and, because the system leaves a thread that woke on this processor waiting for milliseconds while the
//! other is idle, threads too (T-NN-1).

use bytes::BytesMut;
use std::thread;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, yield_now};

/// More bytes than this are long: about a tenth of a millisecond.
const SHORT: usize = 128 * 1024;

/// Room made for a body before any of it has come.
const FIRST: usize = 64 * 1024;

/// Most room made at once, whatever was announced.
const MOST: usize = 4 * 1024 * 1024;

/// A buffer for a body of which so many bytes are announced.
pub(crate) fn buffer(announced: usize) -> BytesMut {
    BytesMut::with_capacity(announced.min(FIRST))
}

/// Appends a piece. Where the room does not do, it is made for the rest of what was announced at once: what comes has shown by
/// then that the announcement is meant.
pub(crate) fn append(bytes: &mut BytesMut, piece: &[u8], announced: usize) {
    if bytes.capacity().saturating_sub(bytes.len()) < piece.len() {
        bytes.reserve(announced.saturating_sub(bytes.len()).min(MOST).max(piece.len()));
    }
    bytes.extend_from_slice(piece);
}

/// Does `work`, which reads or writes so many bytes.
pub(crate) fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    // A runtime of one thread has nobody to hand anything to.
    let one_thread = || Handle::try_current().map_or(true, |at| at.runtime_flavor() == RuntimeFlavor::CurrentThread);
    if bytes <= SHORT {
        return work();
    }
    thread::yield_now();
    let done = if one_thread() { work() } else { block_in_place(work) };
    thread::yield_now();
    done
}

/// Turns for others while a long body is read.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    read: usize,
}

impl Turns {
    /// So many bytes more were read.
    pub(crate) async fn after(&mut self, bytes: usize) {
        self.read = self.read.saturating_add(bytes);
        if self.read > SHORT {
            self.read = 0;
            thread::yield_now();
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn room_is_made_for_what_was_announced_once_some_of_it_came() {
        let mut bytes = buffer(3_000_000);
        assert!(bytes.capacity() < 2 * FIRST, "nothing has come");
        append(&mut bytes, &[b'x'; FIRST + 1], 3_000_000);
        let room = bytes.capacity();
        assert!((3_000_000..2 * MOST).contains(&room));
        append(&mut bytes, &[b'y'; 2_000_000], 3_000_000);
        assert_eq!((bytes.len(), bytes.capacity()), (FIRST + 2_000_001, room));
        assert!(bytes.ends_with(b"y") && bytes.starts_with(b"x"));
    }

    #[test]
    fn what_was_not_announced_finds_room_too() {
        let mut bytes = buffer(0);
        for _ in 0..3 {
            append(&mut bytes, b"abc", 0);
        }
        assert_eq!(&bytes[..], b"abcabcabc");
    }

    /// One worker, which waits inside of the work for a task that it alone could have run.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_go_on_while_long_work_is_done() {
        let went_on = Handle::current().spawn(async {
            let (tell, told) = std::sync::mpsc::channel();
            Handle::current().spawn(async move { tell.send(()) });
            work(SHORT + 1, || told.recv_timeout(Duration::from_secs(20)).is_ok())
        });
        assert!(went_on.await.unwrap());
    }

    #[tokio::test]
    async fn others_have_their_turn_while_a_long_body_is_read() {
        let had = std::rc::Rc::new(std::cell::Cell::new(false));
        let other = async { had.set(true) };
        let reading = async {
            let mut turns = Turns::default();
            turns.after(SHORT).await;
            assert!(!had.get(), "a short one is read without a pause");
            turns.after(1).await;
            assert!(had.get(), "it had no turn");
        };
        tokio::join!(biased; reading, other);
    }
}
