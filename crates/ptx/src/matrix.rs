//! Matrix instructions of warps: from fragments to the engine and back.

use std::fmt;

use bitmma_engine::catalogue::{Architecture, Revision, find, shape};
use bitmma_engine::formats::{BlockScale, Format};
use bitmma_engine::{Codes, FastSimulator, Matrix, Simulator};

use crate::error::Error;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// Warps that execute `wgmma` together.
pub(crate) const WARPGROUP: usize = 4;

/// How one matrix instruction is computed, and where its elements are.
pub(crate) struct Multiplier {
    pub(crate) name: String,
    /// A warp's share of one instruction.
    pub(crate) own: Sizes,
    /// Bits of an element of A and B, of C and D.
    pub(crate) a_bits: usize,
    pub(crate) d_bits: usize,
    /// Of a sparse A, how many elements are stored of each chunk that has four bits of metadata.
    pub(crate) stored: Option<usize>,
    /// Of four products in the quarters of a warp, how they lie.
    pub(crate) quarters: Option<Quarters>,
    /// The lowest bits of codes of A and of B that are narrower than their places.
    lowest: [u32; 2],
    /// Of single bits, whether those that differ are counted, not those that are both set.
    differs: bool,
    arithmetic: Box<Arithmetic>,
}

/// Whether a thread has elements of A, and of B, along K; and bits of an element of C.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quarters {
    pub(crate) along: [bool; 2],
    pub(crate) c_bits: usize,
}

/// Rows of A and D, columns of B and D, and the length of their dot products.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// How an instruction is computed, and what it takes.
struct Arithmetic {
    simulator: FastSimulator,
    a: Format,
    b: Format,
    c: Format,
    scale: Option<BlockScale>,
}

impl fmt::Debug for Multiplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Registers of a thread, and their bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) d: usize,
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) c: usize,
    pub(crate) d_bits: u32,
    pub(crate) a_bits: u32,
}

impl Multiplier {
    /// The instruction that a form names, on an architecture.
    pub(crate) fn new(architecture: Architecture, form: &str, line: u32) -> Result<Multiplier, Error> {
        let refuse = |why: &str| Error::unsupported(line, form, why);
        let words: Vec<&str> = form.split('.').collect();
        let Some([m, n, k]) = words.iter().find_map(|word| shape(word)) else {
            return Err(refuse("it has no shape"));
        };
        let (wgmma, wmma) = (words[0] == "wgmma", words[0] == "wmma");
        let has = |word: &str| words.contains(&word);
        let known = has("aligned")
            && (has("mma_async") || words[0] == "mma" || wmma && has("mma"))
            && (words[0] == "mma" || !has("sp::ordered_metadata") && (wgmma || !has("sp")));
        let sparse = has("sp") || has("sp::ordered_metadata");
        if !known {
            return Err(refuse(""));
        }
        if words.iter().any(|word| word.starts_with("kind::")) {
            return Multiplier::of_kind(architecture, form, Sizes { m, n, k }, line);
        }
        if wgmma && m != 64 {
            return Err(refuse("M of wgmma is 64"));
        }
        let m = if wgmma { m / 4 } else { m };
        let quarters = (m, n, k) == (8, 8, 4) && has("f16");
        if words[0] == "mma" && !quarters && !form.contains(".row.col.") {
            return Err(refuse("only row.col is"));
        }
        let types: Vec<&str> = words.iter().copied().filter(|word| bits_of(word).is_some()).collect();
        let (d, a) = match types.as_slice() {
            [d, c] if wmma && d == c => (*d, "f16"),
            [d, a, _, c] if !wgmma && (!wmma || d == c) => (*d, *a),
            [d, a, _] if wgmma => (*d, *a),
            _ if wmma => return Err(refuse("C and D must have one type")),
            _ => return Err(refuse("")),
        };
        let (d_bits, a_bits) = (bits_of(d).unwrap_or(32), bits_of(a).unwrap_or(32));
        let name = form.to_owned();
        // of two elements of 32 bits, four of 16 or 8 and eight of 4 half are stored
        let stored = sparse.then_some(if a_bits == 4 { 4 } else { 32 / a_bits.max(16) });
        if d == "s32" {
            let differs = has("xor");
            if a == "b1" && !differs && !has("and") {
                return Err(refuse("it needs .and.popc or .xor.popc"));
            }
            let (on, known) = match (differs, architecture) {
                (false, _) => (architecture, name),
                (_, Architecture::Volta) => return Err(refuse("it needs sm_75 or later")),
                (_, Architecture::Turing) if (m, n, k) != (8, 8, 128) => {
                    return Err(refuse("it needs sm_80 or later"));
                }
                // computed by the other, which Turing does not have
                (_, Architecture::Turing) => (Architecture::Ampere, name.replace("xor", "and")),
                _ => (architecture, name.replace("xor", "and")),
            };
            let known = Multiplier::named(on, known, Sizes { m, n, k }, [a_bits, d_bits])
                .map_err(|error| refuse(&error.to_string()))?;
            return Ok(Multiplier { name: form.to_owned(), stored, differs, ..known });
        }
        if !wmma && m != 16 && (m, n, k) != (8, 8, 4) || has("popc") {
            return Err(refuse(""));
        }
        let along = [
            form.contains(".row.row.") || form.contains(".row.col."),
            form.contains(".col.col.") || form.contains(".row.col."),
        ];
        let c_bits = types.last().and_then(|c| bits_of(c)).unwrap_or(d_bits);
        let quarters = quarters.then_some(Quarters { along, c_bits });
        // how they lie changes no result
        let known =
            ["row.row", "col.row", "col.col"].iter().fold(name, |name, order| name.replace(order, "row.col"));
        let named = Multiplier::named(architecture, known, Sizes { m, n, k }, [a_bits, d_bits]);
        named
            .map(|known| Multiplier { stored, quarters, ..known })
            .map_err(|error| Error::Engine { line, error })
    }

    /// One of a kind: formats of 8 bits and fewer (PTX ISA, "mma", `.kind`). Codes of 4 and 6 bits have places of 8, but for FP4's own
    /// kinds.
    fn of_kind(architecture: Architecture, form: &str, own: Sizes, line: u32) -> Result<Multiplier, Error> {
        let formats = ["f32", "f16", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1"];
        let types: Vec<&str> = form.split('.').filter(|word| formats.contains(word)).collect();
        let [d, a, b, c] = types.as_slice() else { return Err(Error::unsupported(line, form, "")) };
        if d != c || !form.contains(".row.col.") || !form.starts_with("mma.sync.") {
            return Err(Error::unsupported(line, form, ""));
        }
        let place = if own.k == 64 { 4 } else { 8 };
        let bits = [place, bits_of(d).unwrap_or(32)];
        let named = Multiplier::named(architecture, form.to_owned(), own, bits);
        let lowest = [a, b].map(|format| if *format == "e2m1" && place == 8 { 2 } else { 0 });
        named.map(|known| Multiplier { lowest, ..known }).map_err(|error| Error::Engine { line, error })
    }

    /// Scale factors of a line; none is zero.
    pub(crate) fn factors(&self) -> usize {
        self.arithmetic.scale.map_or(0, |scale| self.own.k / scale.size)
    }

    /// Whether it multiplies integers.
    pub(crate) fn is_on_integers(&self) -> bool {
        self.arithmetic.c.is_integer()
    }

    /// Whether its codes of A and B fill their places.
    pub(crate) fn is_plain(&self) -> bool {
        self.factors() == 0 && self.lowest == [0; 2]
    }

    /// An instruction of the catalogue, of which a warp computes so much.
    pub(crate) fn named(
        architecture: Architecture,
        name: String,
        own: Sizes,
        [a_bits, d_bits]: [usize; 2],
    ) -> Result<Multiplier, bitmma_engine::Error> {
        let found = find(architecture, &name)?;
        let simulator = Simulator::found(&found, Revision::default())?;
        let model = simulator.own_model();
        let (a, b, c, scale) = (model.a, model.b, model.c, model.scale);
        let arithmetic = Box::new(Arithmetic { simulator: FastSimulator::new(simulator), a, b, c, scale });
        Ok(Multiplier {
            name,
            own,
            a_bits,
            d_bits,
            stored: None,
            quarters: None,
            lowest: [0; 2],
            differs: false,
            arithmetic,
        })
    }

    pub(crate) fn registers(&self) -> Counts {
        let Sizes { m, n, k } = self.own;
        let a_bits = self.a_bits.max(32);
        let d_bits = self.d_bits.max(32);
        let products = if self.quarters.is_some() { 4 } else { 1 };
        let count =
            |elements: usize, bits: usize, register: usize| products * elements * bits / register / LANES;
        Counts {
            d: count(m * n, self.d_bits, d_bits),
            a: count(m * self.stored_k(), self.a_bits, a_bits),
            b: count(n * k, self.a_bits, a_bits),
            c: count(m * n, self.quarters.map_or(self.d_bits, |quarters| quarters.c_bits), d_bits),
            d_bits: d_bits as u32,
            a_bits: a_bits as u32,
        }
    }

    /// The lanes whose metadata of a sparse A are read, by the selector.
    pub(crate) fn metadata_lanes(&self, selector: u32) -> u32 {
        // of each four lanes one for each four chunks of a row
        let count = (self.stored_k() / self.stored.unwrap_or(1) / 4) as u32;
        (((1 << count) - 1) << (selector * count)) * 0x1111_1111
    }

    /// Elements of a row of A that are stored.
    pub(crate) fn stored_k(&self) -> usize {
        if self.stored.is_some() { self.own.k / 2 } else { self.own.k }
    }

    /// D of a product of any whole number of instructions along M, N and K: codes of A M×K, of B by its columns, N×K, and of C M×N;
    /// of the scale factors those of A, and of B by its columns.
    pub(crate) fn multiply(
        &self,
        Sizes { m, n, k }: Sizes,
        [a, b, c]: [Codes; 3],
        factors: Option<[Codes; 2]>,
    ) -> Result<Codes, bitmma_engine::Error> {
        let Arithmetic { simulator, a: a_format, b: b_format, c: c_format, scale } = &*self.arithmetic;
        let (a, b) = (narrowed(a, self.lowest[0], a_format), narrowed(b, self.lowest[1], b_format));
        // where a and b differ, either a and not b are set or not a and b
        let (a, b, k) = match self.differs {
            true => (beside_others(&a, k, [0, 1]), beside_others(&b, k, [1, 0]), 2 * k),
            false => (a, b, k),
        };
        let a = Matrix::with_codes(*a_format, (1, m, k), a)?;
        let b = Matrix::with_codes(*b_format, (1, n, k), b)?;
        let c = Matrix::with_codes(*c_format, (1, m, n), c)?;
        let scales = match (scale, factors) {
            (Some(scale), Some([of_a, of_b])) => {
                let factors = |lines: usize, codes: Codes| {
                    Matrix::with_codes(scale.format, (1, lines, k / scale.size), codes)
                };
                Some((factors(m, of_a)?, factors(n, of_b)?))
            }
            _ => None,
        };
        let scales = scales.as_ref().map(|(of_a, of_b)| [of_a, of_b]);
        Ok(simulator.multiply_columns(&a, &b, &c, scales)?.into_codes())
    }
}

/// Lines of `k` bits, each twice: every time all its bits are added, modulo 2, to one of `other`.
fn beside_others(codes: &Codes, k: usize, other: [u64; 2]) -> Codes {
    let lines = (0..codes.len() / k).flat_map(|line| other.map(|other| (line, other)));
    let bits = lines.flat_map(|(line, other)| (0..k).map(move |at| (codes.get(line * k + at) ^ other) as u8));
    Codes::U8(bits.collect())
}

/// Codes out of places of 8 bits.
fn narrowed(codes: Codes, lowest: u32, format: &Format) -> Codes {
    match codes {
        Codes::U8(mut codes) if format.bits() < 8 => {
            codes.iter_mut().for_each(|code| *code = *code >> lowest & format.max_code() as u8);
            Codes::U8(codes)
        }
        codes => codes,
    }
}

fn bits_of(kind: &str) -> Option<usize> {
    Some(match kind {
        "f64" => 64,
        "f32" | "tf32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "e4m3" | "e5m2" | "s8" | "u8" => 8,
        "s4" | "u4" => 4,
        "b1" => 1,
        _ => return None,
    })
}
