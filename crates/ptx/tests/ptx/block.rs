//! Blocks that run a body with one buffer: what it leaves, or the message.

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program, Scalar};

/// What a body runs in. The body starts on line 9; `%d1` is the buffer, `%d3` the word of this thread in it, `%r2` the thread, `%r4`
/// the word of this thread in shared memory, which starts at `%r5`; `%r1` is 7.
pub(crate) struct Block {
    pub(crate) target: &'static str,
    pub(crate) threads: u32,
    pub(crate) grid: u32,
    pub(crate) words: Vec<u32>,
    /// Bytes that the buffer lacks of its last word.
    pub(crate) cut: usize,
}

impl Block {
    pub(crate) fn of(threads: u32) -> Block {
        Block { target: "sm_80", threads, grid: 1, words: vec![0; 256], cut: 0 }
    }

    /// The text that runs.
    pub(crate) fn text(&self, body: &str) -> String {
        format!(
            ".version 8.4\n.target {}\n.address_size 64\n.extern .shared .align 1024 .b8 dynamic[];\n\
             .visible .entry one(.param .u64 p, .param .u32 n)\n{{\n\
             .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<99>; .reg .f32 %f<20>; .reg .b64 %d<20>; .local .align 16 .b8 own[64];\n\
             ld.param.b64 %d1, [p]; ld.param.b32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; shl.b32 %r4, %r2, 2; mov.b32 %r5, dynamic; add.s32 %r4, %r4, %r5;\n\
             {body}\nret;\n}}\n",
            self.target
        )
    }

    /// The words of the buffer after a run, or why there was none.
    pub(crate) fn run(&self, body: &str) -> Result<Vec<u32>, String> {
        let bytes = self.bytes(body)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// The same as bytes.
    pub(crate) fn bytes(&self, body: &str) -> Result<Vec<u8>, String> {
        let program = Program::parse(&self.text(body)).map_err(|error| error.to_string())?;
        let kernel = program.kernel(None, None, Mode::Gpu).map_err(|error| error.to_string())?;
        let launch = Launch {
            block: Some([self.threads, 1, 1]),
            shared: Some(16384),
            limits: Limits { turns: 1_000_000, threads: 1 },
            ..Launch::new(&kernel, [self.grid, 1, 1])
        };
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.truncate(bytes.len() - self.cut);
        let mut buffers = [Buffer { bytes, name: "argument 0".to_owned(), ..Buffer::default() }];
        let arguments = [Argument::Pointer { buffer: 0, offset: 0 }, Argument::Scalar(Scalar::Integer(7))];
        launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
        let [buffer] = buffers;
        Ok(buffer.bytes)
    }
}
