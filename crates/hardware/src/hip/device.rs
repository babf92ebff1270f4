//! An AMD GPU and the instructions it can be asked for.

use std::path::Path;
use std::str::FromStr;

use bitmma_engine::catalogue::{Family, Instruction, Vendor, find, of};
use bitmma_engine::{About, Architecture, Signature};

use super::assembly;
use super::comgr::Assembler;
use super::driver::{Driver, load};
use crate::gpu::{Error, Unit};

/// A GPU.
pub struct Device {
    driver: Driver,
    assembler: Assembler,
    device: usize,
    /// Its architecture.
    pub architecture: Architecture,
    /// The device and its driver.
    pub about: About,
}

impl Device {
    /// Device `device` of the installed driver.
    pub fn open(device: usize) -> Result<Device, Error> {
        Device::of(Driver::open(None)?, || Assembler::open(None), device)
    }

    /// Device `device` of the driver in the file `hip`, with the assembler in the file `comgr`.
    pub fn open_with(hip: &Path, comgr: &Path, device: usize) -> Result<Device, Error> {
        Device::of(Driver::open(Some(hip))?, || Assembler::open(Some(comgr)), device)
    }

    fn of(
        driver: Driver,
        assembler: impl FnOnce() -> Result<Assembler, Error>,
        device: usize,
    ) -> Result<Device, Error> {
        let (name, target) = driver.device(device)?;
        let known = Architecture::from_str(&target).ok().filter(|known| known.vendor() == Vendor::Amd);
        let Some(architecture) = known else {
            return Err(Error::Architecture { name, target });
        };
        let version = driver.common.version()?;
        // 60342134 is 6.3.42134
        let (major, minor) = (version / 10_000_000, version / 100_000 % 100);
        let about = About { device: Some(name), driver: Some(format!("HIP {major}.{minor}")) };
        Ok(Device { driver, assembler: assembler()?, device, architecture, about })
    }

    /// The instructions of the catalogue that it can be asked for.
    pub fn instructions(&self) -> impl Iterator<Item = &'static Instruction> {
        of(self.architecture).filter(|row| row.family == Family::Mfma && !row.d.is_integer())
    }

    /// The unit of an instruction, by any spelling the catalogue knows.
    pub fn unit(&self, instruction: &str) -> Result<Unit, Error> {
        let found = find(self.architecture, instruction)?;
        let kernel = assembly::kernel(&found)?;
        let signature = Signature::found(&found);
        let code = self.assembler.assemble(self.architecture, &signature.name, &kernel.text)?;
        let program = load(self.driver.clone(), self.device, &kernel.name, &code)?;
        Ok(Unit::new(signature, kernel.layout, self.about.clone(), program))
    }
}
