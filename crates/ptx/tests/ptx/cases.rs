//! The given kernels with the given results, byte for byte.

use std::path::{Path, PathBuf};

use bitmma_files::npz::Archive;
use bitmma_ptx::{Argument, Buffer, Error, Launch, Limits, Mode, Program, Report, Scalar};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

struct Case {
    archive: Archive,
    text: String,
    capability: u32,
}

impl Case {
    fn open(name: &str, capability: u32) -> Option<Case> {
        let text = std::fs::read_to_string(data().join(format!("ptx/{name}_{capability}.ptx"))).ok()?;
        let archive = Archive::open(&data().join(format!("cases/{name}.npz"))).expect("a case");
        Some(Case { archive, text, capability })
    }

    fn integer(&self, name: &str, index: usize) -> u64 {
        self.archive.array(name).expect(name).get(index)
    }

    /// The buffers after a run.
    fn run(&self, mode: Mode, allow_doubtful: bool) -> Result<(Vec<Buffer>, Report), Error> {
        let program = Program::parse(&self.text)?;
        let kernel = program.kernel(None, None, mode)?;
        let grid = self.archive.array("grid").expect("grid");
        let mut sizes = [1; 3];
        for (index, size) in sizes.iter_mut().enumerate().take(grid.len()) {
            *size = grid.get(index) as u32;
        }
        let (mut arguments, mut buffers) = (vec![], vec![]);
        for (index, parameter) in kernel.parameters().enumerate() {
            let name = format!("argument{index}");
            if !self.archive.has(&name) {
                arguments.push(Argument::Null);
                continue;
            }
            let array = self.archive.array(&name).expect("an argument");
            if array.shape.is_empty() {
                let bits = array.get(0);
                arguments.push(Argument::Scalar(match parameter.kind {
                    "f32" => Scalar::Float(f32::from_bits(bits as u32).into()),
                    _ => Scalar::Integer(i128::from(bits as i64)),
                }));
                continue;
            }
            arguments.push(Argument::Pointer { buffer: buffers.len(), offset: 0 });
            buffers.push(Buffer { bytes: array.bytes, name: format!("argument {index}"), written: false });
        }
        let launch = Launch {
            allow_doubtful,
            limits: Limits { threads: 2, ..Limits::default() },
            ..Launch::new(&kernel, sizes)
        };
        let report = launch.run(&arguments, &mut buffers, &mut || false)?;
        Ok((buffers, report))
    }

    /// What a buffer must hold.
    fn expected(&self, mode: &str, buffer: u64) -> Vec<u8> {
        let first = self.integer("first", 0);
        let own = format!("{mode}_{}_{buffer}", self.capability);
        let name = if self.archive.has(&own) { own } else { format!("text_{first}_{buffer}") };
        self.archive.array(&name).expect("a result").bytes
    }

    fn check(&self, name: &str, mode: Mode) -> (usize, String) {
        let word = if mode == Mode::Text { "text" } else { "gpu" };
        let (buffers, _) =
            self.run(mode, mode == Mode::Text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let outputs = self.archive.array("outputs").expect("outputs");
        let mut message = String::new();
        let mut different = 0;
        for index in 0..outputs.len() {
            let output = outputs.get(index);
            let expected = self.expected(word, output);
            let given = &buffers[output as usize].bytes;
            assert_eq!(given.len(), expected.len(), "{name}");
            let count = given.iter().zip(&expected).filter(|(one, other)| one != other).count();
            different += count;
            if let Some(at) = given.iter().zip(&expected).position(|(one, other)| one != other) {
                message = format!(
                    "{name}_{} {word}: {count} bytes of output {output} differ, first {at}",
                    self.capability
                );
            }
        }
        (different, message)
    }
}

const NAMES: [&str; 11] = [
    "attn_f16",
    "decayed_f32",
    "dequantise_f32",
    "edges",
    "gelu_tanh_bf16",
    "layernorm_f32",
    "mm_bf16",
    "mm_f16",
    "mm_fp8",
    "rms_bf16",
    "softmax_f32",
];

fn all(mode: Mode, skip: &[&str]) {
    let mut messages = vec![];
    for name in NAMES.iter().filter(|name| !skip.contains(name)) {
        for capability in [80, 90] {
            let Some(case) = Case::open(name, capability) else {
                assert_eq!((*name, capability), ("edges", 90));
                continue;
            };
            let (different, message) = case.check(name, mode);
            if different > 0 {
                messages.push(message);
            }
        }
    }
    assert!(messages.is_empty(), "{messages:#?}");
}

#[test]
fn text_mode_gives_the_given_bytes() {
    all(Mode::Text, &[]);
}

#[test]
fn gpu_mode_gives_the_given_bytes() {
    all(Mode::Gpu, &["decayed_f32"]);
}

#[test]
fn a_product_carried_around_a_loop_is_doubtful() {
    for capability in [80, 90] {
        let case = Case::open("decayed_f32", capability).expect("a case");
        let error = case.run(Mode::Gpu, false).expect_err("doubtful");
        assert!(matches!(error, Error::Doubtful(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("line 48: 'mul.f32'") && text.contains("the addition of line 46"), "{text}");
        case.run(Mode::Gpu, true).expect("allowed");
    }
}
