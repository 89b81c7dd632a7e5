//! Puts the built admin page into the binary: every file of `admin-ui/dist` with its type and its tag.
//!
//! Never needs Node and never fails for want of it: where the page was not built, one page that says how takes its
//! place. Uses nothing but the standard library.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let dist = root.join("../admin-ui/dist");
    println!("cargo::rerun-if-changed=build.rs");
    // A path that is missing would have this run at every build; its parent's entry tells when it appears.
    let watched = if dist.is_dir() { dist.clone() } else { root.join("../admin-ui/package.json") };
    println!("cargo::rerun-if-changed={}", watched.display());
    let mut files = Vec::new();
    if dist.join("index.html").is_file() {
        walk(&dist, &mut files)?;
    }
    files.sort();
    let mut code = String::from("const FILES: &[File] = &[\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for (number, path) in files.iter().enumerate() {
        // The compiler reads copies: the page may be built again meanwhile.
        let copy = out.join(format!("page-{number}"));
        line(&mut code, &dist, path, &copy)?;
    }
    code.push_str("];\n");
    std::fs::write(out.join("page.rs"), code)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            walk(&path, files)?;
        } else if !hidden {
            files.push(path);
        }
    }
    Ok(())
}

/// One file as an element of the table. A compressed twin (`x.js.gz`) stands beside its original under its own name.
fn line(code: &mut String, dist: &Path, path: &Path, copy: &Path) -> std::io::Result<()> {
    let bytes = std::fs::read(path)?;
    std::fs::write(copy, &bytes)?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let name = path.strip_prefix(dist).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let _ = writeln!(
        code,
        "    File {{ path: {:?}, bytes: include_bytes!({:?}), tag: \"\\\"{:016x}\\\"\" }},",
        format!("/{name}"),
        copy.display().to_string(),
        hasher.finish()
    );
    Ok(())
}
