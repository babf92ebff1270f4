//! What kernels print (`vprintf`), and assertions that do not hold (`__assertfail`).

use super::address::resolve;
use super::block::Block;
use super::fault::Fault;
use super::printed::Conversion;
use super::warp::Warp;
use crate::lanes::{LANES, each};
use crate::program::{Region, Slot, Wide, Word};

/// Bytes of one text.
const LONGEST: u64 = 1 << 14;

impl Warp {
    pub(super) fn print(
        &mut self,
        d: Slot,
        text: Wide,
        values: Wide,
        mask: u32,
        block: &Block<'_>,
    ) -> Result<(), Fault> {
        let mut counts = [0; LANES];
        let [x, y, _] = block.launch.grid.map(u64::from);
        let [i, j, k] = block.index.map(u64::from);
        for lane in each(mask) {
            let format = self.text(lane, self.registers.wide(text)[lane], block)?;
            let values = self.registers.wide(values)[lane];
            let (printed, count) = self.formatted(lane, &format, values, block)?;
            counts[lane] = count;
            if let Ok(mut all) = block.launch.printed.lock() {
                all.add((k * y + j) * x + i, &printed);
            }
        }
        self.registers.set_any(d, mask, &counts);
        Ok(())
    }

    /// The error of an assertion, as CUDA prints it.
    pub(super) fn failed(&self, texts: [Wide; 3], line: Word, mask: u32, block: &Block<'_>) -> Fault {
        let lane = mask.trailing_zeros() as usize;
        let text = |address: Wide| self.text(lane, self.registers.wide(address)[lane], block);
        let [message, file, function] = match texts.map(text) {
            [Ok(message), Ok(file), Ok(function)] => [message, file, function],
            [Err(fault), ..] | [_, Err(fault), _] | [.., Err(fault)] => return fault,
        };
        let line = self.registers.word(line)[lane];
        let place = |[x, y, z]: [u32; 3]| format!("[{x},{y},{z}]");
        let thread = self.thread(block, lane);
        let what = format!(
            "{file}:{line}: {function}: block: {}, thread: {} Assertion `{message}` failed.",
            place(thread.block),
            place(thread.thread)
        );
        Fault::new(lane, what)
    }

    /// The text at an address, up to its zero.
    fn text(&self, lane: usize, address: u64, block: &Block<'_>) -> Result<String, Fault> {
        let mut bytes = vec![];
        for at in 0..LONGEST {
            match self.value(lane, address.wrapping_add(at), 1, block)? {
                0 => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                byte => bytes.push(byte as u8),
            }
        }
        Err(Fault::new(lane, format!("the text at {address:#x} has no end within {LONGEST} bytes")))
    }

    fn value(&self, lane: usize, address: u64, bytes: u8, block: &Block<'_>) -> Result<u64, Fault> {
        let fault = |what: String| Fault::new(lane, what);
        match resolve(Region::Generic, address) {
            (Region::Local, at) => {
                let at = self.local.checked(at, bytes.into(), "prints").map_err(fault)?;
                Ok(self.local.get(lane, at, bytes).0)
            }
            (Region::Global, at) => {
                let global = &block.launch.global;
                let (memory, offset) = global.checked(at, bytes.into(), "prints").map_err(fault)?;
                Ok(memory.load(offset, bytes))
            }
            _ => {
                Err(fault(format!("what is printed must be in global or local memory, not at {address:#x}")))
            }
        }
    }

    /// A text with its values, which lie one after the other, each at a multiple of its size; and how many they are.
    fn formatted(
        &self,
        lane: usize,
        format: &str,
        values: u64,
        block: &Block<'_>,
    ) -> Result<(String, u64), Fault> {
        let (mut printed, mut count, mut at) = (String::new(), 0, values);
        let mut rest = format;
        while let Some(first) = rest.find('%') {
            printed.push_str(&rest[..first]);
            let Some((one, length)) = Conversion::read(&rest[first..]) else {
                let after =
                    rest[first + 1..].trim_start_matches(|letter: char| "-+ #.0123456789".contains(letter));
                if after.starts_with(['*', 'a', 'A', 'n']) {
                    let what = format!("prints by '%{}', which is not supported", &after[..1]);
                    return Err(Fault::new(lane, what));
                }
                printed.push('%');
                rest = &rest[first + 1..];
                continue;
            };
            rest = &rest[first + length..];
            if one.letter == '%' {
                printed.push('%');
                continue;
            }
            let bytes = one.bytes();
            at = at.next_multiple_of(bytes.into());
            let value = self.value(lane, at, bytes, block)?;
            at += u64::from(bytes);
            count += 1;
            match one.letter {
                's' => printed.push_str(&one.padded("", &one.cut(self.text(lane, value, block)?))),
                _ => printed.push_str(&one.number(value)),
            }
        }
        printed.push_str(rest);
        Ok((printed, count))
    }
}
