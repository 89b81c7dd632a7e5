//! Reading and writing of long bodies, off the reactor.
//!
//! *Takes* the number of bytes and what is to be done with them. *Gives* what that gives. *Never* moves short work: it
//! would cost more than it spares. A worker that reads megabytes answers nobody else meanwhile; here it hands its other
//! tasks to a thread that waits, and a body that comes as fast as it can be read lets others have their turn (T-NN-1).

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{block_in_place, yield_now};

/// More bytes than this are long: about a tenth of a millisecond.
const SHORT: usize = 128 * 1024;

/// Room is made for so many bytes of a body before they have come: what is not written to takes no memory.
pub(crate) const MOST_AT_ONCE: usize = 4 * 1024 * 1024;

/// Does `work`, which reads or writes so many bytes.
pub(crate) fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    // A runtime of one thread has nobody to hand anything to.
    let one_thread = || Handle::try_current().map_or(true, |at| at.runtime_flavor() == RuntimeFlavor::CurrentThread);
    if bytes <= SHORT || one_thread() { work() } else { block_in_place(work) }
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
            yield_now().await;
        }
    }
}
