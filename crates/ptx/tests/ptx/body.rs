//! Bodies of kernels as ptxas compiles them: what was rewritten, and the result.

use bitmma_ptx::{Argument, Buffer, Compiler, Kernel, Launch, Limits, Mode, Program};

/// A body that reads a, b, c and e as `%h1` to `%h4`, `%r1` to `%r4` and `%d1` to `%d4`, and leaves its result in `%h9`, `%r9` or
/// `%d9`.
pub(crate) fn kernel(target: &str, mode: Mode, body: &str) -> Kernel {
    compiled(target, &mode.into(), body)
}

/// The same as a compiler compiles it.
pub(crate) fn compiled(target: &str, compiler: &Compiler, body: &str) -> Kernel {
    let loads: String = [(16, 'h'), (32, 'r'), (64, 'd')]
        .iter()
        .flat_map(|(bits, letter)| {
            (0..4).map(move |at| format!("ld.global.b{bits} %{letter}{}, [%d10+{}]; ", 1 + at, 8 * at))
        })
        .collect();
    let (bits, letter) = if body.contains("%d9,") {
        (64, 'd')
    } else if body.contains("%h9,") {
        (16, 'h')
    } else {
        (32, 'r')
    };
    // what came later is for the first target that has it
    let target = match target {
        _ if body.contains("f32x2") => "sm_100a",
        target if body.contains(".bf16") && target < "sm_90" && !target.starts_with("sm_1") => "sm_90a",
        target => target,
    };
    // ptxas takes newer targets in newer versions only
    let version = if target.starts_with("sm_10") { "8.7" } else { "8.4" };
    let printing = match body.contains("vprintf") {
        true => ".extern .func (.param .b32 d) vprintf (.param .b64 f, .param .b64 a);",
        false => "",
    };
    // the body starts on line 8
    let text = format!(
        ".version {version}\n.target {target}\n.address_size 64 {printing}\n.visible .entry one(.param .u64 p)\n.reqntid 32\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %d<20>; ld.param.b64 %d10, [p]; {loads}\n\
         {body}\nst.global.b{bits} [%d10+32], %{letter}9;\nret;\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|error| panic!("{body}: {error}"));
    program.compiled(None, None, compiler).unwrap_or_else(|error| panic!("{body}: {error}"))
}

/// The result of a body for the operands a, b, c and e, on sm_90.
pub(crate) fn result(mode: Mode, body: &str, operands: [u64; 4]) -> u64 {
    result_on("sm_90a", mode, body, operands)
}

/// The same on another target.
pub(crate) fn result_on(target: &str, mode: Mode, body: &str, operands: [u64; 4]) -> u64 {
    result_of(&kernel(target, mode, body), body, operands)
}

/// The result of a kernel of a body.
pub(crate) fn result_of(kernel: &Kernel, body: &str, operands: [u64; 4]) -> u64 {
    result_or_error(kernel, operands).unwrap_or_else(|error| panic!("{body}: {error}"))
}

/// The same, or why there is none.
pub(crate) fn result_or_error(kernel: &Kernel, operands: [u64; 4]) -> Result<u64, bitmma_ptx::Error> {
    let mut bytes: Vec<u8> = operands.iter().flat_map(|operand| operand.to_le_bytes()).collect();
    // the result, and eight bytes for what a body stores itself
    bytes.extend([0; 16]);
    let mut buffers = vec![Buffer { bytes, ..Buffer::default() }];
    let launch =
        Launch { limits: Limits { threads: 1, ..Limits::default() }, ..Launch::new(kernel, [1, 1, 1]) };
    let arguments = [Argument::Pointer { buffer: 0, offset: 0 }];
    launch.run(&arguments, &mut buffers, &mut || false)?;
    Ok(u64::from_le_bytes(buffers[0].bytes[32..40].try_into().expect("eight bytes")))
}
