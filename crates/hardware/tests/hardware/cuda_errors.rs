//! Every way in which a driver can fail, with a driver that is none.

use std::path::Path;
use std::time::Duration;

use crate::common::fake::Fake;
use bitmma_engine::{Fault, Matrix, MmaUnit, Operands, formats};
use bitmma_hardware::cuda::{Device, Error, Unit};

const NAME: &str = "mma.m16n8k16.f32.f16.f16.f32";

fn message(fake: &Fake) -> String {
    match unit(fake) {
        Ok(unit) => ask(&unit).expect_err("something fails").to_string(),
        Err(error) => error.to_string(),
    }
}

fn unit(fake: &Fake) -> Result<Unit, Error> {
    open_with(&fake.path, NAME)
}

fn ask(unit: &Unit) -> Result<Matrix, bitmma_engine::Error> {
    let a = Matrix::zeros(formats::F16, (1, 16, 16)).expect("fits");
    let b = Matrix::zeros(formats::F16, (1, 16, 8)).expect("fits");
    let c = Matrix::zeros(formats::F32, (1, 16, 8)).expect("fits");
    unit.multiply(&Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None })
}

/// The unit of an instruction of device 0, with the driver in that file.
fn open_with(library: &Path, instruction: &str) -> Result<Unit, Error> {
    Device::open_with(library, 0)?.unit(instruction)
}

#[test]
fn no_driver_is_one_line() {
    let error = open_with(Path::new("/nowhere/libcuda.so.1"), NAME).err().expect("no such file");
    let text = error.to_string();
    assert!(matches!(error, Error::Library { .. }), "{text}");
    assert!(text.starts_with("no NVIDIA driver: /nowhere/libcuda.so.1 cannot be opened: "), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn an_old_driver_names_what_it_lacks() {
    let options = ["-DWITHOUT_STREAM_QUERY"];
    let Some(fake) = Fake::new(include_str!("common/fake_cuda.c"), "libcuda.so.1", &options) else { return };
    let text = message(&fake);
    assert!(text.ends_with("libcuda.so.1 has no function cuStreamQuery: it is too old"), "{text}");
}

#[test]
fn every_call_that_fails_is_named() {
    // call, code, what the message holds
    for (call, code, expected) in [
        ("cuInit", 100, "cuInit failed: CUDA_ERROR_NO_DEVICE (100)"),
        ("cuDeviceGetCount", 3, "cuDeviceGetCount failed: code 3"),
        ("cuDeviceGet", 101, "cuDeviceGet failed: code 101"),
        ("cuDeviceGetName", 101, "cuDeviceGetName failed"),
        ("cuDeviceGetAttribute", 101, "cuDeviceGetAttribute failed"),
        ("cuDriverGetVersion", 3, "cuDriverGetVersion failed"),
        (
            "cuDevicePrimaryCtxRetain",
            2,
            "cuDevicePrimaryCtxRetain failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory",
        ),
        ("cuCtxSetCurrent", 201, "cuCtxSetCurrent failed: code 201"),
        ("cuModuleGetFunction", 500, "cuModuleGetFunction failed: code 500"),
        ("cuMemAlloc", 2, "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"),
        ("cuMemcpyHtoD", 700, "cuMemcpyHtoD failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
        ("cuLaunchKernel", 701, "cuLaunchKernel failed: code 701"),
        ("cuStreamQuery", 700, "cuStreamQuery failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
        ("cuMemcpyDtoH", 700, "cuMemcpyDtoH failed: CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
    ] {
        let Some(fake) = Fake::cuda() else { return };
        fake.fails(call, code);
        let text = message(&fake);
        assert!(text.contains(expected), "{call}: {text}");
        if call != "cuCtxSetCurrent" {
            assert_eq!(fake.live(), 0, "{call}: something was not given back");
        }
    }
}

#[test]
fn a_device_that_is_not_there_is_counted() {
    let Some(fake) = Fake::cuda() else { return };
    fake.devices(2);
    let error = Device::open_with(&fake.path, 7).err().expect("there are two");
    assert_eq!(error.to_string(), "there is no NVIDIA device 7; the driver counts 2");
    fake.devices(0);
    assert!(message(&fake).ends_with("device 0; the driver counts 0"));
}

#[test]
fn an_architecture_that_nobody_described_is_refused() {
    let Some(fake) = Fake::cuda() else { return };
    for ((major, minor), name) in
        [((8, 6), "ampere"), ((9, 0), "hopper"), ((12, 0), "rtx-blackwell"), ((7, 5), "turing")]
    {
        fake.capability(major, minor);
        let device = Device::open_with(&fake.path, 0).expect("described");
        assert_eq!(device.architecture.name(), name);
        assert!(device.instructions().count() > 2, "{name}");
    }
    for (major, minor) in [(6, 1), (7, 2), (8, 7), (10, 3), (11, 0)] {
        fake.capability(major, minor);
        let expected =
            format!("a fake GPU is sm_{major}{minor}, which is not an architecture of the catalogue");
        assert_eq!(message(&fake), expected);
    }
}

#[test]
fn what_the_compiler_says_is_passed_on() {
    let Some(fake) = Fake::cuda() else { return };
    fake.fails("cuModuleLoadDataEx", 218);
    fake.log("ptxas application ptx input, line 9; error   : Unexpected instruction");
    let text = message(&fake);
    assert!(text.contains(NAME) && text.contains("CUDA_ERROR_INVALID_PTX, 218"), "{text}");
    assert!(text.ends_with("line 9; error   : Unexpected instruction"), "{text}");
    fake.log("");
    assert!(message(&fake).ends_with("it gives no reason"));
    assert_eq!(fake.live(), 0);
}

#[test]
fn a_kernel_that_does_not_end_is_given_up() {
    let Some(fake) = Fake::cuda() else { return };
    let unit = unit(&fake).expect("opens").with_time_limit(Duration::from_millis(30));
    ask(&unit).expect("answers");
    fake.hangs(true);
    let error = ask(&unit).expect_err("hangs");
    assert_eq!(
        error.to_string(),
        format!("hopper/{NAME} hung: no result within 30ms; the device is no longer used")
    );
    let error = ask(&unit).expect_err("stays given up");
    assert!(matches!(error, bitmma_engine::Error::Unit { fault: Fault::Died, .. }), "{error}");
    drop(unit);
    assert!(fake.live() > 0, "nothing of it is touched again");
}

#[test]
fn names_and_operands_are_checked_before_the_device_is_asked() {
    let Some(fake) = Fake::cuda() else { return };
    let error = open_with(&fake.path, "mma.m16n8k17.f32.f16.f16.f32").err().expect("no such thing");
    assert!(matches!(error, Error::Lookup(_)), "{error}");
    let error = open_with(&fake.path, "wmma.m16n16k16.f32.f16.f16.f32").err().expect("composed");
    assert!(matches!(error, Error::NoKernel { .. }), "{error}");
    fake.capability(10, 0);
    let error =
        open_with(&fake.path, "tcgen05.mma.m128n24k16.kind::f16.f32.f16.f16").err().expect("no such N");
    assert!(error.to_string().ends_with("with M = 128 PTX takes N in steps of 16, not 24"), "{error}");
    let unit = unit(&fake).expect("opens");
    let c = Matrix::zeros(formats::F32, (1, 16, 8)).expect("fits");
    let error = unit
        .multiply(&Operands { a: &c, b: &c, c: Some(&c), scale_a: None, scale_b: None })
        .expect_err("A is f32");
    assert!(matches!(error, bitmma_engine::Error::Format { .. }), "{error}");
}
