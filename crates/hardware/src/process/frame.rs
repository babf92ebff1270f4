//! Frames: sixteen bytes of header, then matrices, every number little-endian.

use bitmma_engine::formats::Format;
use bitmma_engine::{Error, Matrix, Operands, Signature, on_codes};

/// Bytes of a header.
pub(super) const HEADER: usize = 16;
/// A request: all A of the batch, all B, all C, all scale factors of A, all of B.
pub(super) const REQUEST: [u8; 4] = *b"MMAQ";
/// An answer: all D of the batch.
pub(super) const ANSWER: [u8; 4] = *b"MMAD";
/// Words instead of an answer, in UTF-8.
pub(super) const REFUSAL: [u8; 4] = *b"MMAE";
/// The longest words.
pub(super) const MAX_WORDS: usize = 1 << 16;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// What follows.
    pub(super) magic: [u8; 4],
    /// Counts requests from 0 on; an answer has that of its request.
    pub(super) sequence: u32,
    /// Instructions in the batch.
    pub(super) count: u32,
    /// Bytes that follow.
    pub(super) length: u32,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&self.magic);
        for (index, number) in [self.sequence, self.count, self.length].into_iter().enumerate() {
            bytes[4 + 4 * index..8 + 4 * index].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; HEADER]) -> Header {
        let [magic, sequence, count, length] =
            [0, 4, 8, 12].map(|at| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let number = u32::from_le_bytes;
        Header { magic, sequence: number(sequence), count: number(count), length: number(length) }
    }
}

/// Format and shape of a matrix in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    format: Format,
    shape: (usize, usize, usize),
}

impl Part {
    fn codes(&self) -> usize {
        let (blocks, rows, columns) = self.shape;
        blocks * rows * columns
    }

    fn bytes(&self) -> usize {
        self.codes() * self.format.bytes()
    }

    /// The matrices of a batch, from as many bytes as they take.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<Vec<Matrix>, Error> {
        bytes.chunks_exact(self.bytes()).map(|bytes| self.one(bytes)).collect()
    }

    fn one(&self, bytes: &[u8]) -> Result<Matrix, Error> {
        let codes = bytes.chunks_exact(self.format.bytes()).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        });
        Matrix::new(self.format, self.shape, codes)
    }
}

/// What the frames of a unit hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// A, B, C.
    operands: [Part; 3],
    /// Scale factors of A and of B.
    scales: Option<[Part; 2]>,
    /// D.
    pub(super) d: Part,
}

impl Layout {
    pub(super) fn of(signature: &Signature) -> Layout {
        let [a, b, c, scale_a, scale_b] = signature.shapes();
        let part = |format, shape| Part { format, shape };
        Layout {
            operands: [part(signature.a, a), part(signature.b, b), part(signature.c, c)],
            scales: signature.scale.map(|scale| [scale_a, scale_b].map(|shape| part(scale.format, shape))),
            d: part(signature.d, c),
        }
    }

    fn parts(&self) -> impl Iterator<Item = Part> {
        self.operands.into_iter().chain(self.scales.into_iter().flatten())
    }

    /// Bytes of the operands of one instruction.
    pub(super) fn request(&self) -> usize {
        self.parts().map(|part| part.bytes()).sum()
    }

    /// Bytes of D of one instruction.
    pub(super) fn answer(&self) -> usize {
        self.d.bytes()
    }

    /// A request as it goes over the wire.
    pub(super) fn write_request(&self, sequence: u32, batch: &[Operands<'_>]) -> Vec<u8> {
        let length = (batch.len() * self.request()) as u32;
        let header = Header { magic: REQUEST, sequence, count: batch.len() as u32, length };
        let mut bytes = Vec::with_capacity(HEADER + length as usize);
        bytes.extend(header.to_bytes());
        batch.iter().for_each(|operands| put(&mut bytes, operands.a));
        batch.iter().for_each(|operands| put(&mut bytes, operands.b));
        let [_, _, c] = self.operands;
        batch.iter().for_each(|operands| match operands.c {
            Some(c) => put(&mut bytes, c),
            None => bytes.resize(bytes.len() + c.bytes(), 0), // +0 everywhere
        });
        batch.iter().filter_map(|operands| operands.scale_a).for_each(|scale| put(&mut bytes, scale));
        batch.iter().filter_map(|operands| operands.scale_b).for_each(|scale| put(&mut bytes, scale));
        bytes
    }

    /// The operands of a request, part by part.
    pub(super) fn read_request(&self, count: usize, mut bytes: &[u8]) -> Result<Vec<Vec<Matrix>>, Error> {
        self.parts()
            .map(|part| {
                let (own, rest) = bytes.split_at(count * part.bytes());
                bytes = rest;
                part.read(own)
            })
            .collect()
    }
}

/// Appends the codes of a matrix, each in as many bytes as its format takes.
pub(super) fn put(bytes: &mut Vec<u8>, matrix: &Matrix) {
    on_codes!(matrix.codes(), codes => bytes.extend(codes.iter().flat_map(|code| code.to_le_bytes())));
}
