//! The next byte of a kind, many bytes at a time: what most of a text is not is passed over quickly.

/// So many bytes are looked at together; the compiler makes one or two vector instructions of it.
const TOGETHER: usize = 32;

/// Where the next byte from `from` on is for which `is` holds.
#[inline]
pub(crate) fn seek(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let chunks = rest.chunks_exact(TOGETHER);
    let last = chunks.remainder();
    let mut at = from;
    for chunk in chunks {
        if chunk.iter().fold(false, |any, byte| any | is(*byte)) {
            return chunk.iter().position(|byte| is(*byte)).map(|offset| at.saturating_add(offset));
        }
        at = at.saturating_add(TOGETHER);
    }
    last.iter().position(|byte| is(*byte)).map(|offset| at.saturating_add(offset))
}

/// Whether any byte is of the kind.
#[inline]
pub(crate) fn any(bytes: &[u8], is: impl Fn(u8) -> bool) -> bool {
    seek(bytes, 0, is).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_is_found_wherever_it_is() {
        for length in 0..100 {
            for place in 0..length {
                let mut bytes = vec![b'a'; length];
                bytes[place] = b'x';
                bytes[length - 1] = b'x';
                for from in 0..=length {
                    let expected = (from..length).find(|at| bytes[*at] == b'x');
                    assert_eq!(seek(&bytes, from, |byte| byte == b'x'), expected, "{length} {place} {from}");
                }
            }
        }
        assert_eq!(seek(b"abc", 9, |_| true), None);
        assert!(any(b"abc", |byte| byte == b'c') && !any(b"", |_| true));
    }
}
