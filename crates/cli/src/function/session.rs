//! `bitmma function --gpu`: compares all results of a GPU with the models.

use std::path::Path;

use bitmma_engine::functions::digest::{BLOCK, BLOCKS};
use bitmma_engine::functions::ptx::Form;
use bitmma_engine::functions::{digests, fill};
use bitmma_hardware::cuda::ptx::function::TILE;
use bitmma_hardware::cuda::{Device, FunctionUnit};
use bitmma_hardware::gpu::Error;

use crate::failure::{Failure, Outcome, Within};
use crate::record::today;
use crate::{output, whole};

/// Differing inputs that are written for a block.
const WRITTEN: usize = 4096;
/// Inputs that are compared at a time.
const PART: u32 = 1 << 20;

/// Instructions without a model, and how many inputs of each are recorded, spread over all codes.
const RECORDED: [(&str, u64); 3] =
    [("tanh.approx.f32", 1 << 20), ("ex2.approx.f16x2", 1 << 16), ("tanh.approx.bf16x2", 1 << 16)];

/// Asks device `cuda:N` for everything and writes to a folder: `evidence.csv`, the lines that the catalogue reads;
/// `differences.csv`, which `--check` reads; and a file for each instruction without a model.
pub(super) fn run(gpu: &str, folder: &Path) -> Result<Outcome, Failure> {
    let number = gpu.strip_prefix("cuda:").and_then(|number| number.parse().ok());
    let Some(number) = number else { bail!("--gpu is '{gpu}'; it must be cuda:N, as in cuda:0") };
    let device = Device::open(number)?;
    whole::make_folder(folder).within(folder.display())?;
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        whole::write(&path, |file| file.write_all(text.as_bytes())).within(path.display())
    };
    let mut evidence = "arch,function,form,blocks,differing,device,driver,date\n".to_owned();
    let mut differences = "function,x,y\n".to_owned();
    let mut differing = 0;
    let blocks: Vec<u32> = (0..BLOCKS).collect();
    for form in Form::all() {
        let unit = device.function(&form.to_string())?;
        let blocks = differing_blocks(form, &blocks, &unit)?;
        differing += blocks.len();
        evidence += &evidence_line(&device, form, blocks.len());
        output::print(&format!("{form}: {} of {BLOCKS} blocks differ\n", blocks.len()))?;
        for block in blocks {
            differences += &differing_inputs(form, block, &unit)?;
        }
        put("evidence.csv", &evidence)?;
        put("differences.csv", &differences)?;
    }
    for (instruction, count) in RECORDED {
        // a GPU that lacks one says so, and the others are recorded
        match device.function(instruction).and_then(|unit| recorded(instruction, &unit, count)) {
            Ok(text) => put(&format!("{instruction}.csv"), &text)?,
            Err(error) => output::note(&format!("{instruction}: {error}")),
        }
    }
    Ok(if differing == 0 { Outcome::Agrees } else { Outcome::Differs })
}

/// A GPU's results of one instruction.
trait Results {
    /// The digest of a block.
    fn digest(&self, block: u32) -> Result<u64, Error>;
    /// The results for these inputs.
    fn values(&self, x: &[u32]) -> Result<Vec<u32>, Error>;
}

impl Results for FunctionUnit {
    fn digest(&self, block: u32) -> Result<u64, Error> {
        self.digest(block * BLOCK, BLOCK / TILE as u32)
    }

    fn values(&self, x: &[u32]) -> Result<Vec<u32>, Error> {
        self.values(x)
    }
}

/// The blocks of these whose digests differ.
fn differing_blocks(form: Form, blocks: &[u32], unit: &impl Results) -> Result<Vec<u32>, Error> {
    let mut found = vec![];
    for (&block, expected) in blocks.iter().zip(digests(form, blocks)) {
        if unit.digest(block)? != expected {
            found.push(block);
        }
    }
    Ok(found)
}

/// A line of `crates/catalogue/src/function_evidence.csv`.
fn evidence_line(device: &Device, form: Form, differing: usize) -> String {
    let name = |text: &Option<String>| text.as_deref().unwrap_or("?").replace(',', " ");
    let (model, driver) = (name(&device.about.device), name(&device.about.driver));
    let (architecture, function, date) = (device.architecture, form.function, today());
    format!("{architecture},{function},{form},{BLOCKS},{differing},{model},{driver},{date}\n")
}

/// The first inputs of a block whose results differ, as lines `function,x,y`.
fn differing_inputs(form: Form, block: u32, unit: &impl Results) -> Result<String, Error> {
    let mut lines = vec![];
    for part in 0..BLOCK / PART {
        let first = block * BLOCK + part * PART;
        let x: Vec<u32> = (first..=first + (PART - 1)).collect();
        let mut expected = vec![0; x.len()];
        fill(form, &x, &mut expected);
        let results = unit.values(&x)?;
        for (index, x) in x.into_iter().enumerate() {
            if results[index] != expected[index] {
                lines.push(format!("{form},{x:08x},{:08x}\n", results[index]));
            }
        }
        if lines.len() >= WRITTEN {
            break;
        }
    }
    lines.truncate(WRITTEN);
    Ok(lines.concat())
}

/// Inputs spread over all codes: the upper halves of 2^16 are all there are, and so are the lower ones.
fn chosen(count: u64) -> Vec<u32> {
    let spread = |index: u64| (index * ((1 << 32) / count)) as u32;
    (0..count).map(|index| spread(index) ^ (index.wrapping_mul(0x9e37) & 0xffff) as u32).collect()
}

/// The results for inputs that are [`chosen`], as lines `function,x,y`.
fn recorded(instruction: &str, unit: &FunctionUnit, count: u64) -> Result<String, Error> {
    let x = chosen(count);
    let results = unit.values(&x)?;
    let lines = x.iter().zip(results).map(|(x, y)| format!("{instruction},{x:08x},{y:08x}\n"));
    Ok("function,x,y\n".to_owned() + &lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use bitmma_engine::functions::digest;

    use super::*;

    /// A GPU whose results are the model's but for two inputs.
    struct Faulty(Form);

    impl Faulty {
        fn evaluate(&self, x: u32) -> u32 {
            self.0.evaluate(x) ^ u32::from(x == 0x3f80_0001 || x == 0x3fff_ffff)
        }
    }

    impl Results for Faulty {
        fn digest(&self, block: u32) -> Result<u64, Error> {
            let [of_model] = digests(self.0, &[block])[..] else { unreachable!("one for one") };
            let others = [0x3f80_0001, 0x3fff_ffff].into_iter().filter(|x| x / BLOCK == block);
            let change =
                |x| digest::term(x, self.evaluate(x)).wrapping_sub(digest::term(x, self.0.evaluate(x)));
            Ok(others.map(change).fold(of_model, u64::wrapping_add))
        }

        fn values(&self, x: &[u32]) -> Result<Vec<u32>, Error> {
            let mut y = vec![0; x.len()];
            fill(self.0, x, &mut y);
            for (y, &x) in y.iter_mut().zip(x) {
                if [0x3f80_0001, 0x3fff_ffff].contains(&x) {
                    *y = self.evaluate(x);
                }
            }
            Ok(y)
        }
    }

    #[test]
    fn faults_are_found_and_written() {
        let form: Form = "ex2.approx.ftz.f32".parse().expect("a form");
        let unit = Faulty(form);
        assert_eq!(differing_blocks(form, &[0x3e, 0x3f, 0xff], &unit).expect("runs"), [0x3f]);
        let expected =
            [0x3f80_0001, 0x3fff_ffff].map(|x| format!("{form},{x:08x},{:08x}\n", unit.evaluate(x))).concat();
        assert_eq!(differing_inputs(form, 0x3f, &unit).expect("runs"), expected);
        assert_eq!(differing_inputs(form, 0x3e, &unit).expect("runs"), "");
    }

    #[test]
    fn all_halves_are_chosen() {
        for (_, count) in RECORDED {
            let x = chosen(count);
            let halves = |shift: u32| x.iter().map(|x| x >> shift & 0xffff).collect::<HashSet<_>>().len();
            let distinct = x.iter().collect::<HashSet<_>>().len();
            assert_eq!([halves(0), halves(16), distinct], [1 << 16, 1 << 16, count as usize]);
        }
    }
}
