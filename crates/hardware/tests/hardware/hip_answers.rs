//! As `cuda_answers`, for AMD: operands packed, the kernel's assembly run lane by lane, D unpacked, and what comes
//! back held against the simulator. Then every way in which the driver and the assembler can fail.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::common::check::check;
use crate::common::fake::{Fake, Kernel, Machine, launched};
use crate::common::wave_machine;
use bitmma_engine::catalogue::of;
use bitmma_engine::{Architecture, MmaUnit};
use bitmma_hardware::hip::{self, Device, Error};
use bitmma_verify::inputs::{Family, matrices};

const NAME: &str = "v_mfma_f32_32x32x8f16";

/// The machine that runs waves. Which architecture a launch is for stands nowhere in a code object of the fake's: it
/// is that of this number.
struct Waves<const ARCHITECTURE: usize>;

impl<const ARCHITECTURE: usize> Machine for Waves<ARCHITECTURE> {
    fn tile(code: &str) -> [usize; 2] {
        let mut sizes = code.lines().filter_map(|line| line.trim().strip_prefix("s_mul_i32 s8, s2, "));
        [(); 2].map(|()| sizes.next().expect("a size").parse().expect("a number"))
    }

    fn run(code: &str, entry: &str, blocks: usize, threads: usize, input: &[u8], output: &mut [u8]) {
        assert_eq!(threads, 64);
        wave_machine::run(Architecture::ALL[ARCHITECTURE], code, entry, blocks, input, output);
    }
}

fn answers(target: &str, comgr_major: u32, machine: Kernel) {
    let (Some(hip), Some(comgr)) = (Fake::hip(), Fake::comgr(comgr_major)) else { return };
    hip.target(&format!("{target}:sramecc+:xnack-"));
    hip.kernel(machine);
    let device = Device::open_with(&hip.path, &comgr.path, 0).expect("opens");
    let architecture = Architecture::from_str(target).expect("known");
    assert_eq!(device.architecture, architecture);
    let about = device.about.clone();
    assert_eq!(about.device.as_deref(), Some("a fake Instinct"));
    assert_eq!(about.driver.as_deref(), Some("HIP 6.3"));
    let mut tried = 0;
    for row in of(architecture).filter(|row| !row.d.is_integer()) {
        let name = row.name();
        let unit = device.unit(&name).expect("opens");
        check(&unit, architecture, &name);
        tried += 1;
    }
    assert_eq!(tried, device.instructions().count());
    println!("{architecture}: {tried} instructions");
    assert_eq!((hip.live(), comgr.live()), (0, 0));
}

/// The unit of an instruction of device 0, with the driver and the assembler in those files.
fn open_with(hip: &Path, comgr: &Path, instruction: &str) -> Result<hip::Unit, hip::Error> {
    Device::open_with(hip, comgr, 0)?.unit(instruction)
}

#[test]
fn cdna1() {
    answers("gfx908", 2, launched::<Waves<{ Architecture::Cdna1 as usize }>>);
}

#[test]
fn cdna2() {
    answers("gfx90a", 2, launched::<Waves<{ Architecture::Cdna2 as usize }>>);
}

#[test]
fn cdna3() {
    answers("gfx942", 3, launched::<Waves<{ Architecture::Cdna3 as usize }>>);
}

fn message(hip: &Fake, comgr: &Fake) -> String {
    let unit = match open_with(&hip.path, &comgr.path, NAME) {
        Ok(unit) => unit.with_time_limit(Duration::from_millis(30)),
        Err(error) => return error.to_string(),
    };
    let tile = matrices(unit.signature(), Family::Normal, 1, 0).expect("drawn");
    unit.multiply(&tile.operands()).expect_err("something fails").to_string()
}

#[test]
fn every_call_that_fails_is_named() {
    for (call, code, expected) in [
        ("hipInit", 100, "hipInit failed: code 100"),
        ("hipGetDeviceCount", 100, "hipGetDeviceCount failed: code 100"),
        ("hipGetDeviceProperties", 101, "hipGetDeviceProperties failed: code 101"),
        ("hipRuntimeGetVersion", 1, "hipRuntimeGetVersion failed: code 1"),
        ("hipSetDevice", 101, "hipSetDevice failed: code 101"),
        ("hipModuleLoadData", 209, "hipModuleLoadData failed: hipErrorNoBinaryForGpu (209)"),
        ("hipModuleGetFunction", 500, "hipModuleGetFunction failed: code 500"),
        ("hipMalloc", 2, "hipMalloc failed: hipErrorOutOfMemory (2): out of memory"),
        ("hipMemcpyHtoD", 1, "hipMemcpyHtoD failed: code 1"),
        ("hipModuleLaunchKernel", 1, "hipModuleLaunchKernel failed: code 1"),
        ("hipStreamQuery", 1, "hipStreamQuery failed: code 1"),
        ("hipMemcpyDtoH", 1, "hipMemcpyDtoH failed: code 1"),
    ] {
        let (Some(hip), Some(comgr)) = (Fake::hip(), Fake::comgr(2)) else { return };
        hip.fails(call, code);
        let text = message(&hip, &comgr);
        assert!(text.contains(expected), "{call}: {text}");
        assert_eq!((hip.live(), comgr.live()), (0, 0), "{call}: something was not given back");
    }
}

#[test]
fn drivers_devices_and_architectures_that_are_not_there() {
    let text =
        open_with(Path::new("/nowhere/libamdhip64.so"), Path::new("/nowhere"), NAME).err().expect("none");
    assert!(matches!(text, Error::Library { .. }), "{text}");
    assert!(
        text.to_string().starts_with("no AMD driver: /nowhere/libamdhip64.so cannot be opened: "),
        "{text}"
    );
    let (Some(hip), Some(comgr)) = (Fake::hip(), Fake::comgr(2)) else { return };
    let text = open_with(&hip.path, Path::new("/nowhere/libamd_comgr.so"), NAME).err().expect("none");
    assert!(text.to_string().contains("/nowhere/libamd_comgr.so cannot be opened"), "{text}");
    hip.devices(2);
    let text = Device::open_with(&hip.path, &comgr.path, 2).err().expect("two").to_string();
    assert_eq!(text, "there is no AMD device 2; the driver counts 2");
    for target in ["gfx1100", "gfx950:sramecc+:xnack-", ""] {
        hip.target(target);
        let plain = target.split(':').next().expect("a word");
        let expected = format!("a fake Instinct is {plain}, which is not an architecture of the catalogue");
        assert_eq!(message(&hip, &comgr), expected);
    }
}

#[test]
fn what_the_assembler_says_is_passed_on() {
    for (action, what) in [(10, "assembles"), (9, "links")] {
        let (Some(hip), Some(comgr)) = (Fake::hip(), Fake::comgr(2)) else { return };
        comgr.fails("", action);
        comgr.log("kernel.s:3:2: error: instruction not supported on this GPU");
        let text = message(&hip, &comgr);
        assert!(text.contains(NAME) && text.contains(what), "{text}");
        assert!(text.ends_with("error: instruction not supported on this GPU"), "{text}");
        assert_eq!((hip.live(), comgr.live()), (0, 0));
    }
}

#[test]
fn a_kernel_that_does_not_end_is_given_up() {
    let (Some(hip), Some(comgr)) = (Fake::hip(), Fake::comgr(2)) else { return };
    hip.hangs(true);
    assert_eq!(
        message(&hip, &comgr),
        format!("cdna2/{NAME} hung: no result within 30ms; the device is no longer used")
    );
}
