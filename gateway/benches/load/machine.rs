//! On what was measured: processor, kernel, disk, commit. Numbers without it say nothing.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// One line each, as a list.
pub(crate) fn describe() -> anyhow::Result<String> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, name)| name);
    let cores = std::thread::available_parallelism()?;
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "* {model}, {cores} cores, Linux {}\n* `fdatasync` of 4 KiB: {:.0} µs (median of 101)\n* commit {}\n",
        kernel.trim(),
        fdatasync()?,
        commit()
    ))
}

/// Median time of writing and syncing a block where the spool is.
fn fdatasync() -> anyhow::Result<f64> {
    let mut file = tempfile::tempfile_in(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let mut times = Vec::new();
    for _ in 0..101 {
        let began = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(50).map_or(0.0, |time| time.as_secs_f64() * 1e6))
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", "..", ":!../docs/performance.md"]);
    if changed.is_none_or(|changed| changed.is_empty()) { commit } else { format!("{commit} and uncommitted changes") }
}
