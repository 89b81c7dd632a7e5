//! The protobuf wire format: tags, varints, lengths. Takes and gives bytes; knows no message.

/// Why bytes are no protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtoError {
    /// A field number or wire type that does not exist; groups, which protobuf 3 does not have.
    #[error("a tag is not valid")]
    Tag,
    /// Bytes are missing.
    #[error("it breaks off")]
    Truncated,
    /// A varint of more than 64 bits.
    #[error("a number is too long")]
    Varint,
}

/// The value of one field as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raw<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32,
}

/// The fields of one message, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) const fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Raw<'a>), ProtoError> {
        let tag = u32::try_from(self.varint()?).map_err(|_| ProtoError::Tag)?;
        let number = tag >> 3;
        if number == 0 {
            return Err(ProtoError::Tag);
        }
        let raw = match tag & 7 {
            0 => Raw::Varint(self.varint()?),
            1 => Raw::Fixed64(self.fixed()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| ProtoError::Truncated)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(ProtoError::Truncated)?;
                self.rest = rest;
                Raw::Bytes(bytes)
            }
            5 => {
                self.fixed::<4>()?;
                Raw::Fixed32
            }
            _ => return Err(ProtoError::Tag),
        };
        Ok((number, raw))
    }

    fn varint(&mut self) -> Result<u64, ProtoError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(ProtoError::Truncated)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(ProtoError::Varint);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtoError::Varint)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], ProtoError> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(ProtoError::Truncated)?;
        self.rest = rest;
        Ok(*bytes)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Raw<'a>), ProtoError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Appends a number field.
pub(crate) fn put_varint(number: u32, value: u64, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3, out);
    varint(value, out);
}

/// Appends a double field.
pub(crate) fn put_double(number: u32, value: f64, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 1, out);
    out.extend(value.to_le_bytes());
}

/// Appends a field of bytes: a string, bytes, a message.
pub(crate) fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | 2, out);
    varint(u64::try_from(bytes.len()).unwrap_or(u64::MAX), out);
    out.extend_from_slice(bytes);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or(0));
}

/// A whole number as protobuf writes it: negative ones take ten bytes.
pub(crate) const fn int(value: i64) -> u64 {
    value.cast_unsigned()
}
