//! `bitmma function --gpu`: compares all results of a GPU with the models.

use std::path::Path;

use bitmma_engine::functions::digest::{BLOCK, BLOCKS};
use bitmma_engine::functions::ptx::Form;
use bitmma_engine::functions::{digests, fill};
use bitmma_hardware::cuda::ptx::function::TILE;
use bitmma_hardware::cuda::{Device, FunctionUnit};

use crate::failure::{Failure, Outcome, Within};
use crate::record::today;
use crate::{output, whole};

/// Differing inputs that are written for a block.
const WRITTEN: usize = 4096;

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
    for form in Form::all() {
        let unit = device.function(&form.to_string())?;
        let blocks = differing_blocks(form, &unit)?;
        differing += blocks.len();
        evidence += &evidence_line(&device, form, blocks.len());
        output::print(&format!("{form}: {} of {BLOCKS} blocks differ\n", blocks.len()))?;
        for block in blocks {
            differences += &differing_inputs(form, &unit, block)?;
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

/// The blocks whose digests differ.
fn differing_blocks(form: Form, unit: &FunctionUnit) -> Result<Vec<u32>, Failure> {
    let blocks: Vec<u32> = (0..BLOCKS).collect();
    let expected = digests(form, &blocks);
    let mut found = vec![];
    for (block, expected) in blocks.into_iter().zip(expected) {
        if unit.digest(block * BLOCK, BLOCK / TILE as u32)? != expected {
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
fn differing_inputs(form: Form, unit: &FunctionUnit, block: u32) -> Result<String, Failure> {
    let first = block * BLOCK;
    let x: Vec<u32> = (first..=first + (BLOCK - 1)).collect();
    let mut expected = vec![0; x.len()];
    fill(form, &x, &mut expected);
    let results = unit.values(&x)?;
    let all = x.iter().zip(results).zip(expected);
    let differing = all.filter(|((_, result), expected)| result != expected).take(WRITTEN);
    Ok(differing.map(|((x, result), _)| format!("{form},{x:08x},{result:08x}\n")).collect())
}

/// Results for inputs spread over all codes, as lines `function,x,y`.
fn recorded(
    instruction: &str,
    unit: &FunctionUnit,
    count: u64,
) -> Result<String, bitmma_hardware::gpu::Error> {
    let x: Vec<u32> =
        (0..count).map(|index| (index * ((1 << 32) / count)) as u32 ^ (index as u32 & 0x7ff)).collect();
    let results = unit.values(&x)?;
    let lines = x.iter().zip(results).map(|(x, y)| format!("{instruction},{x:08x},{y:08x}\n"));
    Ok("function,x,y\n".to_owned() + &lines.collect::<String>())
}
