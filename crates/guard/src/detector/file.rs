//! Detector `file`: what inline bytes are, by their first bytes, against what they are said to be.
//!
//! | kind | what |
//! |---|---|
//! | `file.type` | a type that is not on the list |
//! | `file.mismatch` | not what its media type says |
//! | `file.archive` | a container whose content is not looked at, also one that is something else to readers of first bytes |
//! | `file.program` | something a machine would run |
//! | `file.size` | too large |

/// What a policy says about files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Files {
    /// Media types, `image/*` too; empty: all.
    pub(crate) allow: Vec<String>,
    /// Most bytes.
    pub(crate) max_bytes: Option<usize>,
}

/// What first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Readable text.
    Text,
    /// Something with many files or streams in it.
    Archive(&'static str),
    /// Code for a machine or a shell.
    Program(&'static str),
    /// Pictures, sound, moving pictures.
    Media(&'static str),
    /// Nothing known.
    Unknown,
}

/// First bytes and what they mean.
const MAGIC: &[(&[u8], Nature)] = &[
    (b"PK\x03\x04", Nature::Archive("application/zip")),
    (b"PK\x05\x06", Nature::Archive("application/zip")),
    (b"\x1f\x8b", Nature::Archive("application/gzip")),
    (b"BZh", Nature::Archive("application/x-bzip2")),
    (b"\xfd7zXZ\0", Nature::Archive("application/x-xz")),
    (b"7z\xbc\xaf\x27\x1c", Nature::Archive("application/x-7z-compressed")),
    (b"Rar!\x1a\x07", Nature::Archive("application/vnd.rar")),
    (b"\x28\xb5\x2f\xfd", Nature::Archive("application/zstd")),
    (b"%PDF-", Nature::Archive("application/pdf")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Nature::Archive("application/x-ole-storage")),
    (b"SQLite format 3\0", Nature::Archive("application/vnd.sqlite3")),
    (b"MZ", Nature::Program("application/vnd.microsoft.portable-executable")),
    (b"\x7fELF", Nature::Program("application/x-elf")),
    (b"\xfe\xed\xfa\xce", Nature::Program("application/x-mach-binary")),
    (b"\xfe\xed\xfa\xcf", Nature::Program("application/x-mach-binary")),
    (b"\xcf\xfa\xed\xfe", Nature::Program("application/x-mach-binary")),
    (b"\xca\xfe\xba\xbe", Nature::Program("application/java-vm")),
    (b"\0asm", Nature::Program("application/wasm")),
    (b"#!", Nature::Program("text/x-shellscript")),
    (b"\x89PNG\r\n\x1a\n", Nature::Media("image/png")),
    (b"\xff\xd8\xff", Nature::Media("image/jpeg")),
    (b"GIF87a", Nature::Media("image/gif")),
    (b"GIF89a", Nature::Media("image/gif")),
    (b"BM", Nature::Media("image/bmp")),
    (b"II*\0", Nature::Media("image/tiff")),
    (b"MM\0*", Nature::Media("image/tiff")),
    (b"OggS", Nature::Media("audio/ogg")),
    (b"ID3", Nature::Media("audio/mpeg")),
    (b"fLaC", Nature::Media("audio/flac")),
    (b"\x1aE\xdf\xa3", Nature::Media("video/webm")),
];

impl Nature {
    /// What the bytes are.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if let Some((_, nature)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return *nature;
        }
        match (bytes.get(..4), bytes.get(4..8), bytes.get(8..12)) {
            (Some(b"RIFF"), _, Some(b"WEBP")) => return Self::Media("image/webp"),
            (Some(b"RIFF"), _, Some(b"WAVE")) => return Self::Media("audio/wav"),
            (_, Some(b"ftyp"), _) => return Self::Media("video/mp4"),
            _ => {}
        }
        if bytes.get(257..262) == Some(b"ustar") {
            return Self::Archive("application/x-tar");
        }
        if text(bytes).is_some() { Self::Text } else { Self::Unknown }
    }

    const fn media_type(self) -> Option<&'static str> {
        match self {
            Self::Archive(name) | Self::Program(name) | Self::Media(name) => Some(name),
            Self::Text | Self::Unknown => None,
        }
    }
}

/// The bytes as text, if they are: UTF-8 without controls, or UTF-16 with a mark.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let wide = |pair: fn([u8; 2]) -> u16| {
        let units = bytes.get(2..).unwrap_or_default().as_chunks::<2>().0.iter().map(|unit| pair(*unit));
        char::decode_utf16(units).collect::<Result<String, _>>().ok()
    };
    match bytes.get(..2) {
        Some([0xFF, 0xFE]) => return wide(u16::from_le_bytes),
        Some([0xFE, 0xFF]) => return wide(u16::from_be_bytes),
        Some(_) | None => {}
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let odd = text
        .bytes()
        .filter(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0C | 0x1B))
        .count();
    (odd.saturating_mul(100) <= text.len()).then(|| text.to_owned())
}

impl Files {
    /// What is minded about the bytes.
    pub(crate) fn look(&self, bytes: &[u8], declared: Option<&str>) -> Option<&'static str> {
        if self.max_bytes.is_some_and(|most| bytes.len() > most) {
            return Some("file.size");
        }
        let nature = Nature::of(bytes);
        let declared = declared.map(|name| name.split(';').next().unwrap_or(name).trim().to_ascii_lowercase());
        let real = nature.media_type().or(declared.as_deref());
        if !self.allow.is_empty() && !real.is_some_and(|real| self.allows(real)) {
            return Some("file.type");
        }
        match nature {
            Nature::Program(_) => Some("file.program"),
            Nature::Archive(real)
                if !self.allow.iter().any(|one| one == real) && !self.allows_declared(declared.as_deref()) =>
            {
                Some("file.archive")
            }
            Nature::Media(_) | Nature::Unknown if is_container_too(bytes) => Some("file.archive"),
            Nature::Media(real) => declared.filter(|said| !agree(said, real)).map(|_| "file.mismatch"),
            Nature::Archive(real) => declared.filter(|said| !agree_container(said, real)).map(|_| "file.mismatch"),
            Nature::Text => declared.filter(|said| never_text(said)).map(|_| "file.mismatch"),
            Nature::Unknown => None,
        }
    }

    fn allows(&self, media_type: &str) -> bool {
        let family = |one: &str| one.strip_suffix('*').is_some_and(|family| media_type.starts_with(family));
        self.allow.iter().any(|one| one == media_type || family(one))
    }

    fn allows_declared(&self, declared: Option<&str>) -> bool {
        declared.is_some_and(|declared| self.allow.iter().any(|one| one == declared))
    }
}

/// Readers of zip look at the end, readers of PDF within the first kilobyte: such a file is one thing to one program and
/// another to the next.
fn is_container_too(bytes: &[u8]) -> bool {
    let pdf = bytes.get(..1024).unwrap_or(bytes).windows(5).any(|five| five == b"%PDF-");
    // The last record of an archive: 22 bytes and a comment whose length it names.
    let tail = bytes.get(bytes.len().saturating_sub(22 + 65_535)..).unwrap_or_default();
    let ends = |at: usize| {
        let comment = tail.get(at.saturating_add(20)..at.saturating_add(22));
        let comment = comment.and_then(|length| length.first_chunk::<2>()).map(|length| u16::from_le_bytes(*length));
        comment.is_some_and(|length| at.saturating_add(22).saturating_add(usize::from(length)) == tail.len())
    };
    pdf || tail.windows(4).enumerate().any(|(at, four)| four == b"PK\x05\x06" && ends(at))
}

fn agree(said: &str, real: &str) -> bool {
    let family = |name: &str| name.split('/').next().map(str::to_owned);
    let loose = matches!(family(real).as_deref(), Some("audio" | "video"));
    said == real
        || said == "application/octet-stream"
        || (said == "image/jpg" && real == "image/jpeg")
        || (loose && matches!(family(said).as_deref(), Some("audio" | "video")))
}

/// Office documents are zip archives.
fn agree_container(said: &str, real: &str) -> bool {
    let zip = real == "application/zip"
        && (said.contains("openxmlformats")
            || said.contains("opendocument")
            || said.ends_with("+zip")
            || said.contains("jar"));
    let ole = real == "application/x-ole-storage" && (said.contains("ms-") || said.contains("msword"));
    said == real
        || said == "application/octet-stream"
        || zip
        || ole
        || said == format!("application/x-{}", real.trim_start_matches("application/"))
}

fn never_text(said: &str) -> bool {
    matches!(said, "application/pdf" | "application/zip" | "application/gzip")
        || (said.starts_with("image/") && !said.contains("svg"))
        || said.starts_with("audio/")
        || said.starts_with("video/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell() {
        assert_eq!(Nature::of(b"PK\x03\x04rest"), Nature::Archive("application/zip"));
        assert_eq!(Nature::of("plain tëxt\n".as_bytes()), Nature::Text);
        assert_eq!(Nature::of(b"\xFF\xFEa\0b\0"), Nature::Text);
        assert_eq!(text(b"\xFF\xFEa\0b\0").as_deref(), Some("ab"));
        assert_eq!(Nature::of(&[0, 1, 2, 3, 0, 1]), Nature::Unknown);
    }

    #[test]
    fn what_is_said_must_be_what_is_there() {
        let files = Files::default();
        assert_eq!(files.look(b"\x89PNG\r\n\x1a\n", Some("image/png")), None);
        assert_eq!(files.look(b"\x89PNG\r\n\x1a\n", Some("text/plain")), Some("file.mismatch"));
        assert_eq!(files.look(b"MZ\x90", Some("image/png")), Some("file.program"));
        assert_eq!(files.look(b"PK\x03\x04", Some("application/zip")), Some("file.archive"));
        assert_eq!(files.look(b"hello world", Some("image/png")), Some("file.mismatch"));
        let picture = |tail: &[u8]| [b"\x89PNG\r\n\x1a\nIEND".as_slice(), tail].concat();
        let end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x2e\0\0\0\x20\0\0\0\x02\0hi";
        assert_eq!(files.look(&picture(end), Some("image/png")), Some("file.archive"));
        assert_eq!(files.look(&picture(&end[..23]), Some("image/png")), None, "no archive ends so");
        assert_eq!(files.look(&picture(b"%PDF-1.7"), Some("image/png")), Some("file.archive"));
        let some = Files { allow: vec!["image/*".to_owned(), "application/pdf".to_owned()], max_bytes: Some(10) };
        assert_eq!(some.look(b"GIF89a", Some("image/gif")), None);
        assert_eq!(some.look(b"%PDF-1.7", Some("application/pdf")), None);
        assert_eq!(some.look(b"hello", Some("text/plain")), Some("file.type"));
        assert_eq!(some.look(b"hello world", Some("image/png")), Some("file.size"));
    }
}
