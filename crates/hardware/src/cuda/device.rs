//! An NVIDIA GPU and the instructions it can be asked for.

use std::path::Path;
use std::str::FromStr;

use bitmma_engine::catalogue::{Instruction, find, of, selection};
use bitmma_engine::{About, Architecture, Signature};

use super::driver::{Driver, load};
use super::fragment::Majors;
use super::function::FunctionUnit;
use super::ptx;
use crate::gpu::{Error, Unit};

/// A GPU.
pub struct Device {
    driver: Driver,
    handle: i32,
    /// Its architecture.
    pub architecture: Architecture,
    /// The device and its driver.
    pub about: About,
}

impl Device {
    /// Device `device` of the installed driver.
    pub fn open(device: usize) -> Result<Device, Error> {
        Device::of(Driver::open(None)?, device)
    }

    /// Device `device` of the driver in that file.
    pub fn open_with(library: &Path, device: usize) -> Result<Device, Error> {
        Device::of(Driver::open(Some(library))?, device)
    }

    fn of(driver: Driver, device: usize) -> Result<Device, Error> {
        let (handle, name, [major, minor]) = driver.device(device)?;
        let target = format!("sm_{major}{minor}");
        let Ok(architecture) = Architecture::from_str(&target) else {
            return Err(Error::Architecture { name, target });
        };
        let version = driver.common.version()?;
        let spoken = format!("CUDA driver {}.{}", version / 1000, version % 1000 / 10);
        let about = About { device: Some(name), driver: Some(spoken) };
        Ok(Device { driver, handle, architecture, about })
    }

    /// The instructions of the catalogue that it can be asked for, native ones and those that the driver's
    /// compiler composes; [`Instruction::is_native`] tells them apart.
    pub fn instructions(&self) -> impl Iterator<Item = &'static Instruction> {
        of(self.architecture).filter(|row| ptx::has_kernel(row))
    }

    /// An instruction of one FP32 operand, or of packed ones, by its PTX spelling (`ex2.approx.ftz.f32`).
    pub fn function(&self, instruction: &str) -> Result<FunctionUnit, Error> {
        let load = |entry: &'static str| {
            let text = ptx::function::module(self.architecture, instruction, entry);
            load(self.driver.clone(), self.handle, instruction, (entry, ptx::function::THREADS), &text)
        };
        Ok(FunctionUnit::new(load(ptx::function::DIGEST)?, load(ptx::function::VALUES)?))
    }

    /// The unit of an instruction, by any spelling the catalogue knows; behind that of a sparse one may stand
    /// which elements of A are stored ([`ptx::sparse_kernel`]), as in `….f32.select13`.
    pub fn unit(&self, instruction: &str) -> Result<Unit, Error> {
        let (instruction, selected) = selection::split(instruction);
        let found = find(self.architecture, instruction)?;
        let mut signature = Signature::found(&found);
        let kernel = match selected {
            None => ptx::kernel(&found, Majors::of(instruction))?,
            Some(name) => {
                signature.name = selection::named(&signature.name, name);
                ptx::sparse_kernel(&found, Some(name))?
            }
        };
        let text = ptx::module(self.architecture, [&kernel]);
        let entry = (kernel.name.as_str(), kernel.threads);
        let program = load(self.driver.clone(), self.handle, &signature.name, entry, &text)?;
        Ok(Unit::new(signature, kernel.layout, self.about.clone(), program))
    }
}
