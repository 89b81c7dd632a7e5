//! One segment file: created, appended to, and put back as it was when an append fails half way.
//!
//! Names: `{writer}-{number}.seg`, mode 0600. A segment that could not be put back is given up and the next one is begun.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::frame::{self, Kind};

/// The segment being written.
#[derive(Debug)]
pub(crate) struct Segment {
    file: Arc<File>,
    number: u32,
    len: u64,
    /// Set when the file may end in half a frame that could not be removed.
    torn: bool,
    /// Set when fdatasync failed: it says nothing about what a later one would bring to disk.
    given_up: bool,
    faults: Arc<Faults>,
}

impl Segment {
    /// Creates the file and writes its head.
    pub(crate) fn create(dir: &Path, writer: &str, number: u32, faults: &Arc<Faults>) -> io::Result<Segment> {
        faults.write()?;
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).mode(0o600).open(path(dir, writer, number))?;
        let faults = Arc::clone(faults);
        let mut segment = Segment { file: Arc::new(file), number, len: 0, torn: false, given_up: false, faults };
        let mut head = Vec::new();
        let json = format!("{{\"format\":1,\"writer\":\"{writer}\"}}");
        frame::write(&mut head, Kind::Head, u64::from(number), json.as_bytes());
        segment.append(&head)?;
        Ok(segment)
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing may be appended any more.
    pub(crate) fn is_spent(&self) -> bool {
        self.torn || self.given_up
    }

    /// Whether fdatasync failed on it.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up
    }

    pub(crate) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Appends whole frames with one `write`; after an error the file is as it was.
    pub(crate) fn append(&mut self, frames: &[u8]) -> io::Result<()> {
        let written = self.faults.write().and_then(|()| (&*self.file).write_all(frames));
        match written {
            Ok(()) => {
                self.len += frames.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.torn = self.file.set_len(self.len).is_err();
                Err(error)
            }
        }
    }

    /// Gives the file up.
    pub(crate) fn give_up(&mut self) {
        self.given_up = true;
    }
}

/// Where a segment lies.
pub(crate) fn path(dir: &Path, writer: &str, number: u32) -> PathBuf {
    dir.join(format!("{writer}-{number:08}.seg"))
}

/// Writer and number of a segment's file name.
pub(crate) fn parse_name(name: &str) -> Option<(&str, u32)> {
    let (writer, number) = name.strip_suffix(".seg")?.rsplit_once('-')?;
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (plain(writer) && number.len() >= 8).then_some(())?;
    Some((writer, number.parse().ok()?))
}

/// Failures of the disk, switched on by tests; without them nothing here does anything.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    #[cfg(test)]
    pub(crate) fail_writes: std::sync::atomic::AtomicBool,
    #[cfg(test)]
    pub(crate) fail_syncs: std::sync::atomic::AtomicBool,
    /// Held by a test to keep the disk busy.
    #[cfg(test)]
    pub(crate) busy: std::sync::Mutex<()>,
    #[cfg(test)]
    pub(crate) syncs: std::sync::atomic::AtomicU64,
}

impl Faults {
    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the test build fails here on demand")]
    pub(crate) fn write(&self) -> io::Result<()> {
        Ok(())
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the test build fails here on demand")]
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    #[cfg(test)]
    pub(crate) fn write(&self) -> io::Result<()> {
        fail_if(&self.fail_writes)
    }

    #[cfg(test)]
    pub(crate) fn sync(&self) -> io::Result<()> {
        drop(super::lock(&self.busy));
        self.syncs.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        fail_if(&self.fail_syncs)
    }
}

#[cfg(test)]
fn fail_if(switch: &std::sync::atomic::AtomicBool) -> io::Result<()> {
    if switch.load(std::sync::atomic::Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}
