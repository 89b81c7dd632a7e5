//! Opening the spool directory: created 0700, locked against other processes, its earlier segments listed, a new writer begun.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::commit::{self, Commit};
use super::segment::{self, Faults, Segment};
use super::{Core, Counts, Gap, Health, Log, Spool};
use crate::audit::AuditSettings;
use crate::audit::recover::{OldWriter, Recovered};
use crate::clock::Micros;

/// Smallest budget that makes sense: eight small segments.
const LEAST_BYTES: u64 = 256 * 1024;

/// How often, and how far apart, the directory's lock is tried.
const LOCK_ATTEMPTS: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Why the spool can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The directory or a file in it can't be read or written.
    #[error("the audit directory {} can't be used", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process writes there.
    #[error("another process uses the audit directory {}", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// No random bytes for the writer's id.
    #[error("the system gives no random bytes")]
    NoRandom,
}

impl Spool {
    /// Opens the directory of `settings`.
    pub(crate) fn open(
        settings: &AuditSettings,
        now: Micros,
    ) -> Result<(Spool, VecDeque<OldWriter>, Recovered), StartError> {
        let failed = |source| StartError::Io { path: settings.dir.clone(), source };
        create_dir(&settings.dir).map_err(failed)?;
        let lock = lock_dir(&settings.dir)?;
        let old = list(&settings.dir).map_err(failed)?;
        let recovered = Recovered::of(&old);
        let writer = new_writer(now)?;
        let faults = Arc::new(Faults::default());
        let segment = Segment::create(&settings.dir, &writer, 1, &faults).map_err(failed)?;
        let max_bytes = settings.max_bytes.max(LEAST_BYTES);
        let core = Arc::new(Core {
            dir: settings.dir.clone(),
            writer,
            fsync: settings.fsync,
            on_full: settings.on_full,
            segment_bytes: settings.segment_bytes.min(max_bytes / 8),
            max_bytes,
            log: Mutex::new(new_log(segment, recovered.bytes)),
            commit: Commit::default(),
            counts: Counts::default(),
            faults,
            _lock: lock,
        });
        let thread = Arc::clone(&core);
        std::thread::Builder::new()
            .name("audit-commit".to_owned())
            .spawn(move || commit::run(&thread))
            .map_err(failed)?;
        Ok((Spool { core }, old, recovered))
    }
}

fn new_log(segment: Segment, old_bytes: u64) -> Log {
    Log {
        written: segment.len(),
        segment,
        summary_bytes: 0,
        sealed: BTreeMap::new(),
        old_bytes,
        next_seq: 1,
        live: HashSet::new(),
        late: VecDeque::new(),
        gap: Gap::default(),
        unsynced: Vec::new(),
        dir_unsynced: true,
        sync_failed: false,
        health: Health::Ready,
        buffer: Vec::with_capacity(4096),
    }
}

fn create_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    std::fs::set_permissions(dir, Permissions::from_mode(0o700))
}

fn lock_dir(dir: &Path) -> Result<File, StartError> {
    let failed = |source| StartError::Io { path: dir.to_path_buf(), source };
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(dir.join("lock")).map_err(failed)?;
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // The process before us may be at its last fdatasync.
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
    Err(StartError::Locked { path: dir.to_path_buf() })
}

fn new_writer(now: Micros) -> Result<String, StartError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| StartError::NoRandom)?;
    let ms = u64::try_from(now / 1000).unwrap_or_default();
    Ok(ulid::Ulid::from_parts(ms, u128::from_le_bytes(random)).to_string())
}

/// The segments of earlier processes, oldest writer first.
fn list(dir: &Path) -> io::Result<VecDeque<OldWriter>> {
    let mut writers: BTreeMap<String, BTreeMap<u32, u64>> = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if let Some((writer, number)) = entry.file_name().to_str().and_then(segment::parse_name) {
            writers.entry(writer.to_owned()).or_default().insert(number, entry.metadata()?.len());
        }
    }
    Ok(writers.into_iter().map(|(writer, segments)| OldWriter { writer, segments }).collect())
}
