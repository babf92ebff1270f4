//! `.npz`: several arrays in one file, as `numpy.savez` writes them: a ZIP archive of .npy files, stored (PKWARE, APPNOTE
//! 6.3.10, 4.3.7, 4.3.12 and 4.3.16).

/// What there is of an archive.
#[derive(Default)]
pub(crate) struct Archive {
    files: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

/// The date that an entry has: 1980-01-01, the first there is, so that the same arrays make the same file.
const DATE: u16 = 1 << 5 | 1;

impl Archive {
    /// Adds an array, the content of a .npy file; `None` where the archive would pass 4 GiB.
    pub(crate) fn add(&mut self, name: &str, npy: &[u8]) -> Option<()> {
        let name = format!("{name}.npy");
        let (start, size) = (u32::try_from(self.files.len()).ok()?, u32::try_from(npy.len()).ok()?);
        let mut entry = Vec::new();
        // version 2.0; no flags; stored; midnight
        [20, 0, 0, 0, DATE].iter().for_each(|field: &u16| entry.extend(field.to_le_bytes()));
        [crc32(npy), size, size].iter().for_each(|field| entry.extend(field.to_le_bytes()));
        entry.extend((name.len() as u16).to_le_bytes());
        entry.extend([0, 0]); // no extra field
        self.files.extend(b"PK\x03\x04");
        self.files.extend(&entry);
        self.files.extend(name.as_bytes());
        self.files.extend(npy);
        self.directory.extend(b"PK\x01\x02\x14\x00"); // made by version 2.0
        self.directory.extend(&entry);
        self.directory.extend([0; 10]); // no comment, the first disk, no attributes
        self.directory.extend(start.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        u32::try_from(self.files.len() + self.directory.len()).ok().map(drop)
    }

    /// The whole file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let (start, size) = (self.files.len() as u32, self.directory.len() as u32);
        self.files.append(&mut self.directory);
        self.files.extend(b"PK\x05\x06\0\0\0\0");
        [self.count, self.count].iter().for_each(|count| self.files.extend(count.to_le_bytes()));
        [size, start].iter().for_each(|field| self.files.extend(field.to_le_bytes()));
        self.files.extend([0, 0]);
        self.files
    }
}

/// CRC-32 of ISO 3309, as ZIP has it.
fn crc32(bytes: &[u8]) -> u32 {
    let table: [u32; 256] = std::array::from_fn(|index| {
        (0..8).fold(index as u32, |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    !bytes.iter().fold(!0, |crc, &byte| crc >> 8 ^ table[(crc as u8 ^ byte) as usize])
}

#[cfg(test)]
mod tests {
    /// The check value of CRC-32/ISO-HDLC.
    #[test]
    fn crc() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
