//! Machine instructions of memory: loads and stores.

use super::evaluate::{Lane, Memory};
use super::listing::{Instruction, Kind};

impl Lane {
    /// Loads and stores.
    pub(super) fn access(
        &mut self,
        instruction: &Instruction,
        name: &str,
        memory: &mut Memory,
    ) -> Result<bool, String> {
        let operands = instruction.operands.as_slice();
        let (mut bytes, mut signed) = (4_usize, false);
        for modifier in &instruction.modifiers {
            match modifier.as_str() {
                "U8" => bytes = 1,
                "S8" => (bytes, signed) = (1, true),
                "U16" => bytes = 2,
                "S16" => (bytes, signed) = (2, true),
                "64" => bytes = 8,
                "128" => bytes = 16,
                "E" | "CONSTANT" | "STRONG" | "WEAK" | "GPU" | "SYS" | "SM" | "CTA" => {}
                _ => return Err(instruction.form()),
            }
        }
        let set = |lane: &mut Lane, at: usize, value: u64, bytes: usize| {
            let bits = match (bytes, signed) {
                (1, true) => value as u8 as i8 as u32,
                (2, true) => value as u16 as i16 as u32,
                _ => value as u32,
            };
            lane.set_further(&operands[0], at, bits)
        };
        let part = bytes.min(4);
        let parts = bytes.div_ceil(4);
        match name {
            "LDC" => {
                let Kind::Constant { bank, register, offset } = &operands[1].kind else {
                    return Err(instruction.form());
                };
                let base = match register {
                    Some(register) => i64::from(self.register(register, 0)? as i32),
                    None => 0,
                };
                for at in 0..parts {
                    let value = memory.constant(*bank, base + offset + 4 * at as i64, part)?;
                    set(self, at, value, part)?;
                }
            }
            "LDG" | "LDS" => {
                let address = self.address(&operands[1])?;
                for at in 0..parts {
                    let address = address + 4 * at as u64;
                    let slice = if name == "LDS" {
                        memory.shared.get(address as usize..address as usize + part).ok_or("shared memory")?
                    } else {
                        let (buffer, place) = memory.place(address, part)?;
                        &memory.buffers[buffer].1[place..place + part]
                    };
                    let mut value = [0; 8];
                    value[..part].copy_from_slice(slice);
                    set(self, at, u64::from_le_bytes(value), part)?;
                }
            }
            "STG" | "STS" => {
                let address = self.address(&operands[0])?;
                for at in 0..parts {
                    let value = self.raw(&operands[1], at, None)?.to_le_bytes();
                    let address = address + 4 * at as u64;
                    let slice = if name == "STS" {
                        let place = address as usize..address as usize + part;
                        memory.shared.get_mut(place).ok_or("shared memory")?
                    } else {
                        let (buffer, place) = memory.place(address, part)?;
                        &mut memory.buffers[buffer].1[place..place + part]
                    };
                    slice.copy_from_slice(&value[..part]);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
