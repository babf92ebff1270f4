//! Arguments of a launch.

use super::tensor::{SIZE, TensorMap};
use crate::error::Error;
use crate::text::Parameter;

/// Memory that a kernel reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    /// Its bytes: after a launch, what the kernel left.
    pub bytes: Vec<u8>,
    /// What messages call it, as in `argument 2`.
    pub name: String,
    /// Whether the last launch wrote to it.
    pub written: bool,
}

/// A number, which becomes the parameter's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A whole number.
    Integer(i128),
    /// Any other.
    Float(f64),
}

impl Scalar {
    /// Its bytes in a type, as in `f32` and `i16`: it is rounded to a type of floats, and loses bits above an integer's.
    #[must_use]
    pub fn bytes(self, kind: &str) -> Vec<u8> {
        let bits: usize = kind.trim_start_matches(char::is_alphabetic).parse().unwrap_or(64);
        let code = match self {
            Scalar::Integer(value) if !kind.contains('f') => value as u64,
            Scalar::Integer(value) => float_bits(kind, value as f64),
            Scalar::Float(value) => float_bits(kind, value),
        };
        code.to_le_bytes()[..(bits / 8).clamp(1, 8)].to_vec()
    }
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A pointer into a buffer: its number, and bytes from its start.
    Pointer {
        /// Among the buffers of the launch.
        buffer: usize,
        /// Bytes from the start.
        offset: u64,
    },
    /// A number.
    Scalar(Scalar),
    /// A tensor map of a buffer, whose address is the offset of the tensor there.
    TensorMap {
        /// Among the buffers of the launch.
        buffer: usize,
        /// The tensor and its boxes.
        map: TensorMap,
    },
    /// A structure or vector.
    Structure {
        /// Its bytes, as the ABI lays them out.
        bytes: Vec<u8>,
        /// Its members that are pointers, which take the place of their bytes.
        pointers: Vec<Member>,
    },
    /// A null pointer.
    Null,
}

/// A member of a structure that is a pointer into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its first byte in the structure.
    pub at: usize,
    /// Among the buffers of the launch.
    pub buffer: usize,
    /// Bytes from the buffer's start.
    pub offset: u64,
}

impl Argument {
    /// The buffers that it points to.
    pub(super) fn buffers(&self) -> Vec<usize> {
        match self {
            Argument::Pointer { buffer, .. } | Argument::TensorMap { buffer, .. } => vec![*buffer],
            Argument::Structure { pointers, .. } => pointers.iter().map(|member| member.buffer).collect(),
            Argument::Scalar(_) | Argument::Null => vec![],
        }
    }

    /// The bytes of an argument in its parameter; `at` counts from 0. `bases`: where the buffers lie.
    pub(crate) fn bytes(&self, parameter: &Parameter, at: usize, bases: &[u64]) -> Result<Vec<u8>, Error> {
        let Parameter { name, bytes: size, .. } = parameter;
        let has = |what: &str, given: usize| match *size == given as u64 {
            true => Ok(()),
            false => Err(Error::Launch(format!(
                "argument {at} is {what} of {given} bytes, but parameter '{name}' has {size}"
            ))),
        };
        match self {
            Argument::TensorMap { buffer, map } => {
                has("a tensor map", SIZE)?;
                map.checked()?;
                let address = bases[*buffer].wrapping_add(map.address);
                Ok(TensorMap { address, ..*map }.bytes().to_vec())
            }
            Argument::Structure { bytes, pointers } => {
                has("a structure", bytes.len())?;
                let mut bytes = bytes.clone();
                for Member { at: first, buffer, offset } in pointers {
                    let Some(place) = bytes.get_mut(*first..).and_then(|rest| rest.first_chunk_mut()) else {
                        return Err(Error::Launch(format!(
                            "argument {at} has a pointer at byte {first}, but only {size} bytes"
                        )));
                    };
                    *place = bases[*buffer].wrapping_add(*offset).to_le_bytes();
                }
                Ok(bytes)
            }
            _ => Ok(self.bits(parameter, at, bases)?.to_le_bytes()[..*size as usize].to_vec()),
        }
    }

    fn bits(&self, parameter: &Parameter, at: usize, bases: &[u64]) -> Result<u64, Error> {
        let Parameter { name, kind, bytes, pointer, .. } = parameter;
        let what = if *pointer { "a pointer".to_owned() } else { format!("of type {kind}") };
        let wrong = |given: String| {
            Error::Launch(format!("argument {at} is {given}, but parameter '{name}' is {what}"))
        };
        let bits = 8 * bytes;
        if bits > 64 {
            return Err(Error::Launch(format!(
                "parameter '{name}' is a structure of {bytes} bytes, not one number"
            )));
        }
        let float = match kind.as_str() {
            "f32" | "f64" | "f16" | "bf16" => true,
            "b8" | "b16" | "b32" | "b64" | "u8" | "u16" | "u32" | "u64" | "s8" | "s16" | "s32" | "s64" => {
                false
            }
            _ => return Err(Error::Launch(format!("parameter '{name}' of type {kind} is not supported"))),
        };
        match *self {
            Argument::Pointer { buffer, offset } if bits == 64 && !float => {
                Ok(bases[buffer].wrapping_add(offset))
            }
            Argument::Null if bits == 64 && !float => Ok(0),
            Argument::Pointer { .. } => Err(wrong("an array".to_owned())),
            Argument::TensorMap { .. } | Argument::Structure { .. } => Err(wrong("a structure".to_owned())),
            Argument::Null => Err(wrong("None".to_owned())),
            Argument::Scalar(Scalar::Integer(0)) if *pointer => Ok(0),
            Argument::Scalar(Scalar::Integer(value)) if *pointer => Err(wrong(format!("the number {value}"))),
            Argument::Scalar(Scalar::Float(value)) if *pointer || !float => {
                Err(wrong(format!("the number {value:?}")))
            }
            Argument::Scalar(Scalar::Integer(value)) if !float => {
                let signed = kind.starts_with('s');
                let least = -(1i128 << (bits - 1));
                let greatest = if signed { (1i128 << (bits - 1)) - 1 } else { (1i128 << bits) - 1 };
                match (least..=greatest).contains(&value) {
                    true => Ok(value as u64 & (u64::MAX >> (64 - bits))),
                    false => Err(Error::Launch(format!(
                        "argument {at} is {value}, but parameter '{name}' of type {kind} holds {least} to {greatest}"
                    ))),
                }
            }
            Argument::Scalar(scalar) => {
                let value = match scalar {
                    Scalar::Integer(value) => value as f64,
                    Scalar::Float(value) => value,
                };
                Ok(float_bits(kind, value))
            }
        }
    }
}

/// A number rounded to a float type.
fn float_bits(kind: &str, value: f64) -> u64 {
    use bitmma_engine::formats::{BF16, F16, F32, F64};
    use bitmma_functions::convert::{Modifiers, convert};
    let format = match kind {
        "f16" => &F16,
        "bf16" => &BF16,
        "f64" => return value.to_bits(),
        _ => &F32,
    };
    convert(&F64, format, value.to_bits(), Modifiers::NEAREST)
}
