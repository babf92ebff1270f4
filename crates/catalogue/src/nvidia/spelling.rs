//! How NVIDIA's instructions are written: our short name, full PTX, SASS. All of it follows from a form.

use bitmma_formats::{B1, BF16, E2M1, F16, F64, Format, TF32, UE4M3};

use super::form::Form;
use super::parameters::SATURATES;
use crate::architecture::Architecture::{self, Ada, Ampere};
use crate::extent::Extent;
use crate::instruction::Family;
use crate::spelling::{M, N};

/// A size, or the placeholder where it has a range.
fn size(extent: Extent, placeholder: &str) -> String {
    if extent.is_range() { placeholder.to_owned() } else { extent.first.to_string() }
}

/// The words that are not empty, with dots between them.
fn dotted(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(".")
}

fn upper(format: Format) -> String {
    format.name.to_ascii_uppercase()
}

/// Layouts of A and B in memory; they do not touch the arithmetic.
const LAYOUTS: [&str; 4] = ["row.col", "row.row", "col.row", "col.col"];

impl Form {
    /// `m16n8k16`, with placeholders for ranges.
    fn shape_name(&self) -> String {
        format!("m{}n{}k{}", size(self.m, M), size(self.n, N), self.k)
    }

    /// D, A, B, C, scale factors; C only where `with_c`.
    fn types(&self, with_c: bool) -> String {
        let c = if with_c { self.c.name } else { "" };
        let scale = self.scale.map_or("", |s| s.format.name);
        dotted(&[self.d.name, self.a.name, self.b.name, c, scale, self.counting()])
    }

    /// How single bits are multiplied and summed.
    fn counting(&self) -> &'static str {
        if self.a == B1 { "and.popc" } else { "" }
    }

    /// The short name.
    pub(super) fn name(&self) -> String {
        let prefix = match self.family {
            Family::MmaSync => "mma",
            Family::MmaSp => "mma.sp",
            Family::Wgmma => "wgmma",
            Family::WgmmaSp => "wgmma.sp",
            Family::Tcgen05 => "tcgen05.mma",
            Family::Wmma => "wmma",
            Family::Mfma => "v_mfma",
        };
        let block = self.scale.map_or(String::new(), |scale| format!("block{}", scale.size));
        let modifier = if self.modifier == "rn" { "" } else { self.modifier };
        let with_c = matches!(self.family, Family::MmaSync | Family::MmaSp | Family::Wmma);
        let types = self.types(with_c);
        match (self.family, self.a.is_integer()) {
            // as PTX has it
            (Family::Wmma, true) => dotted(&[prefix, &self.shape_name(), &types, modifier]),
            _ => dotted(&[prefix, &self.shape_name(), self.kind, &block, modifier, &types]),
        }
    }

    /// Every other spelling but the SASS name.
    pub(super) fn aliases(&self) -> Vec<String> {
        let shape = self.shape_name();
        let vector = self.scale.map_or(String::new(), |scale| {
            format!("block_scale.scale_vec::{}X", self.products() / scale.size)
        });
        // "rn" may be written or not
        let roundings: &[&str] = if self.modifier == "rn" { &["", "rn"] } else { &[self.modifier] };
        // only m8n8k4 on FP16 and wmma on elements of 8 bits or more leave the layout open
        let open = (self.family == Family::Wmma && self.a.bits() >= 8) || (self.blocks == 4 && self.a == F16);
        let layouts = if open { &LAYOUTS[..] } else { &LAYOUTS[..1] };
        let mut aliases = vec![];
        match self.family {
            Family::MmaSync => {
                for (layout, rounding) in layouts.iter().flat_map(|l| roundings.iter().map(move |r| (l, r))) {
                    let types = self.types(true);
                    let head = ["mma.sync.aligned", &shape, layout];
                    aliases.push(dotted(&[&head[..], &[self.kind, &vector, rounding, &types]].concat()));
                }
                if self.modifier == "rn" {
                    aliases.push(dotted(&["mma", &shape, "rn", &self.types(true)]));
                }
            }
            Family::Wmma if self.a.is_integer() => {
                let types = dotted(&[self.d.name, self.a.name, self.b.name, self.c.name]);
                for layout in layouts {
                    let head = ["wmma.mma", self.counting(), "sync.aligned", layout, &shape];
                    aliases.push(dotted(&[&head[..], &[&types, self.modifier]].concat()));
                }
            }
            Family::Wmma => {
                for (layout, rounding) in layouts.iter().flat_map(|l| roundings.iter().map(move |r| (l, r))) {
                    // PTX leaves A and B out where they are FP16
                    let types =
                        if self.a == F16 { dotted(&[self.d.name, self.c.name]) } else { self.types(true) };
                    aliases.push(dotted(&["wmma.mma.sync.aligned", layout, &shape, rounding, &types]));
                }
                if self.modifier == "rn" {
                    aliases.push(dotted(&["wmma", &shape, "rn", &self.types(true)]));
                }
            }
            Family::MmaSp => {
                let types = self.types(true);
                // the plain one, whose indices may stand in any order, has neither kinds nor FP8 with FP16
                let plain = self.kind.is_empty() && !(self.a.bits() == 8 && self.d == F16);
                for head in ["mma.sp::ordered_metadata.sync.aligned", "mma.sp.sync.aligned"] {
                    if plain || head.contains("ordered") {
                        let tail = [self.kind, &vector, self.modifier, &types];
                        aliases.push(dotted(&[&[head, &shape, "row.col"][..], &tail].concat()));
                    }
                }
            }
            Family::WgmmaSp => {
                aliases.push(dotted(&[
                    "wgmma.mma_async.sp.sync.aligned",
                    &shape,
                    self.modifier,
                    &self.types(false),
                ]));
            }
            Family::Wgmma => {
                aliases.push(dotted(&[
                    "wgmma.mma_async.sync.aligned",
                    &shape,
                    self.modifier,
                    &self.types(false),
                ]));
            }
            // the types stand in a descriptor, not in the name
            Family::Tcgen05 => aliases.push(dotted(&["tcgen05.mma.cta_group::1", self.kind, &vector])),
            Family::Mfma => {}
        }
        aliases
    }

    /// The SASS instruction, with placeholders for ranges.
    pub(super) fn sass(&self, architecture: Architecture) -> String {
        // I: integers, B: bits, H: half and wider, Q: a quarter (8 bits) and narrower, O: an eighth (4 bits)
        let unit = match (self.a, self.kind) {
            (B1, _) => "B",
            (a, _) if a.is_integer() => "I",
            (F64, _) => "D",
            (_, "kind::mxf4" | "kind::mxf4nvf4") => "O",
            (a, _) if a.bits() <= 8 => "Q",
            _ => "H",
        };
        let crossed = format!("{}x{}x{}", size(self.m, M), size(self.n, N), self.k);
        let types = self.sass_types(unit);
        let sparse = if self.family.is_sparse() { "SP" } else { "" };
        match self.family {
            Family::Tcgen05 => format!("UTC{unit}MMA"),
            Family::Wgmma | Family::WgmmaSp => dotted(&[&format!("{unit}GMMA"), sparse, &crossed, &types]),
            _ => {
                let old = unit != "D" || matches!(architecture, Ampere | Ada);
                let shape = if old { crossed.replace('x', "") } else { crossed };
                let scaled = if self.scale.is_some() { "SF" } else { "" };
                dotted(&[&format!("{unit}MMA"), scaled, sparse, &shape, &types])
            }
        }
    }

    fn sass_types(&self, unit: &str) -> String {
        let d = upper(self.d);
        match unit {
            "B" => self.counting().to_ascii_uppercase(),
            "I" => {
                let saturates = if self.modifier == SATURATES { "SAT" } else { "" };
                dotted(&[&upper(self.a), &upper(self.b), saturates])
            }
            "D" if self.modifier == "rn" => String::new(),
            "D" => self.modifier.to_ascii_uppercase(),
            "H" if self.blocks == 4 => dotted(&[&d, &upper(self.c)]),
            "H" if self.a == BF16 || self.a == TF32 => dotted(&[&d, &upper(self.a)]),
            "H" => d,
            _ => {
                let scale = match self.scale {
                    Some(scale) if scale.format == UE4M3 => "UE4M3",
                    Some(_) => "E8",
                    None => "",
                };
                let four =
                    self.a == E2M1 && self.scale.is_some_and(|scale| self.products() / scale.size == 4);
                dotted(&[&d, &upper(self.a), &upper(self.b), scale, if four { "4X" } else { "" }])
            }
        }
    }
}
