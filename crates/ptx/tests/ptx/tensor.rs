//! Tensor memory: how its words are spread over registers, and what goes wrong with it. Products are tested by the kernels of
//! `bitmma-hardware`, with every kind, and by Triton's.

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program};

/// What four warps leave of 16 words a thread, `%r10` to `%r25`, after a body.
///
/// `%r1` is the number of the thread, `%r2` that of the warp, `%r3` the first address of 64 allocated
/// columns in the lanes of the warp, `%p1` holds in the first warp.
fn words(body: &str) -> Result<Vec<u32>, String> {
    let stores: String =
        (0..16).map(|at| format!("st.global.b32 [%d1+{}], %r{};\n", 4 * at, 10 + at)).collect();
    let text = format!(
        ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry one(.param .u64 x)\n.reqntid 128\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<90>; .reg .b64 %d<9>; .shared .align 1024 .b8 s[8192]; .shared .align 8 .b8 m[8]; .shared .align 4 .b8 t[4];\n\
         ld.param.b64 %d1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 64; add.s64 %d1, %d1, %d2; shr.u32 %r2, %r1, 5;\n\
         setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r1, 0; @%p2 mbarrier.init.shared::cta.b64 [m], 1;\n\
         @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 64;\n\
         @%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n\
         bar.sync 0;\nld.shared.b32 %r4, [t]; and.b32 %r5, %r2, 3; mad.lo.u32 %r3, %r5, 0x200000, %r4;\n\
         {body}\n{stores}bar.sync 0;\n@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;\nret;\n}}\n"
    );
    let program = Program::parse(&text).map_err(|error| error.to_string())?;
    let kernel = program.kernel(None, None, Mode::Text).map_err(|error| error.to_string())?;
    let mut buffers = vec![Buffer { bytes: vec![0; 64 * 128], ..Buffer::default() }];
    let launch = Launch { limits: Limits { threads: 1, turns: 1000 }, ..Launch::new(&kernel, [1; 3]) };
    let arguments = [Argument::Pointer { buffer: 0, offset: 0 }];
    launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
    let bytes = buffers[0].bytes.as_chunks::<4>().0;
    Ok(bytes.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

fn list(first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count).map(|register| format!("%r{register}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Each lane stores its number times 256, plus the column, to 32 columns.
fn numbered() -> String {
    let values: String = (0..32)
        .map(|column| format!("shl.b32 %r{0}, %r1, 8; add.u32 %r{0}, %r{0}, {column};\n", 40 + column))
        .collect();
    format!(
        "{values}tcgen05.st.sync.aligned.32x32b.x32.b32 [%r3], {};\ntcgen05.wait::st.sync.aligned;\nbar.sync 0;\n",
        list(40, 32)
    )
}

/// Loads of every shape, 16 registers each: lane and column of each register (PTX ISA, "Data Movement Shape").
#[test]
fn words_are_spread_over_a_warp() {
    type Place = fn(usize, usize) -> (usize, usize);
    let shapes: [(&str, &str, Place); 6] = [
        ("32x32b.x16", "", |lane, register| (lane, register)),
        ("16x32bx2.x16", ", 16", |lane, register| (lane % 16, 16 * (lane / 16) + register)),
        ("16x64b.x16", "", |lane, register| (lane / 4 + 8 * (lane % 2), 2 * register + lane / 2 % 2)),
        ("16x128b.x8", "", |lane, register| (lane / 4 + register % 2 * 8, register / 2 * 4 + lane % 4)),
        ("16x256b.x4", "", |lane, register| {
            (lane / 4 + register / 2 % 2 * 8, register / 4 * 8 + lane % 4 * 2 + register % 2)
        }),
        ("32x32b.x16.pack::16b", "", |lane, register| (lane, 2 * register)),
    ];
    for (shape, rest, place) in shapes {
        for upper in [0, 16] {
            if upper == 16 && shape.starts_with("32x") {
                continue;
            }
            let body = format!(
                "{}add.u32 %r6, %r3, {};\ntcgen05.ld.sync.aligned.{shape}.b32 {}, [%r6]{rest};\ntcgen05.wait::ld.sync.aligned;",
                numbered(),
                upper << 16,
                list(10, 16)
            );
            let given = words(&body).expect(shape);
            for thread in 0..128 {
                for register in 0..16 {
                    let (row, column) = place(thread % 32, register);
                    let word = |column: usize| ((thread / 32 * 32 + upper + row) * 256 + column) as u32;
                    let expected = match shape.contains("pack") {
                        true => word(column) & 0xffff | word(column + 1) << 16,
                        false => word(column),
                    };
                    assert_eq!(given[16 * thread + register], expected, "{shape}: {thread} {register}");
                }
            }
        }
    }
}

/// What is stored in a shape comes back in the same, halves apart too.
#[test]
fn stores_and_loads_have_the_same_places() {
    for (shape, rest) in [
        ("32x32b.x16", ""),
        ("16x32bx2.x16", ", 16"),
        ("16x64b.x16", ""),
        ("16x128b.x8", ""),
        ("16x256b.x4", ""),
        ("16x128b.x8.unpack::16b", ""),
    ] {
        let values: String = (30..46)
            .map(|at| {
                format!("mad.lo.u32 %r{at}, %r1, 16, {}; mul.lo.u32 %r{at}, %r{at}, 0x10001;\n", at - 30)
            })
            .collect();
        let packed = shape.replace("unpack", "pack");
        let store = format!("tcgen05.st.sync.aligned.{shape}.b32 [%r3]{rest}, {};", list(30, 16));
        let load = format!("tcgen05.ld.sync.aligned.{packed}.b32 {}, [%r3]{rest};", list(10, 16));
        let body = format!(
            "{values}{store}\ntcgen05.wait::st.sync.aligned;\n{load}\ntcgen05.wait::ld.sync.aligned;"
        );
        let given = words(&body).expect(shape);
        assert_eq!(given, (0..2048).map(|value| 0x10001 * value).collect::<Vec<u32>>(), "{shape}");
    }
}

/// A product of BF16 ones: 128 rows, 16 columns, K = 16, of shared memory without a swizzle.
const PRODUCT: &str = "mov.b32 %r30, 0x3f803f80; mul.lo.u32 %r31, %r1, 64; mov.u32 %r32, s; add.u32 %r31, %r31, %r32;\n\
    st.shared.v4.b32 [%r31], {%r30, %r30, %r30, %r30}; st.shared.v4.b32 [%r31+16], {%r30, %r30, %r30, %r30};\n\
    st.shared.v4.b32 [%r31+32], {%r30, %r30, %r30, %r30}; st.shared.v4.b32 [%r31+48], {%r30, %r30, %r30, %r30};\n\
    fence.proxy.async.shared::cta; bar.sync 0;\n\
    shr.u32 %r33, %r32, 4; cvt.u64.u32 %d3, %r33; or.b64 %d3, %d3, 0x0000401000080000;\n";
/// F32 sums of BF16, M = 128, N = 16.
const DESCRIPTOR: &str = "0x08040490";

fn multiplies(adds: &str) -> String {
    format!("@%p2 tcgen05.mma.cta_group::1.kind::f16 [%r4], %d3, %d3, {DESCRIPTOR}, {adds};\n")
}

const COMMIT: &str = "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [m];\n";
const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [m], 0;\n@!%p3 bra W;\n";

fn loads() -> String {
    format!("tcgen05.ld.sync.aligned.32x32b.x16.b32 {}, [%r3];\ntcgen05.wait::ld.sync.aligned;", list(10, 16))
}

#[test]
fn products_add_up_in_tensor_memory() {
    let twice = format!("{PRODUCT}{}{}{COMMIT}{WAIT}{}", multiplies("0"), multiplies("1"), loads());
    assert_eq!(words(&twice).expect("runs"), [32f32.to_bits(); 2048]);
    // rows of which nothing is written keep what was there
    let disabled = multiplies("0").replace("0x08040490, 0", "0x08040490, {%r34, %r35, %r35, %r35}, 0");
    let zeros = "mov.b32 %r34, 0xff; mov.b32 %r35, 0;\n".to_owned() + &numbered();
    let given = words(&format!("{zeros}{PRODUCT}{disabled}{COMMIT}{WAIT}{}", loads())).expect("runs");
    for thread in 0..128 {
        for column in 0..16 {
            let expected = if thread < 8 { 256 * thread + column } else { 16f32.to_bits() };
            assert_eq!(given[(16 * thread + column) as usize], expected, "{thread} {column}");
        }
    }
}

/// Each is one change of a kernel that is right, and what its error says.
#[test]
fn what_goes_wrong_with_tensor_memory() {
    let product = |rest: &str| format!("{PRODUCT}{rest}");
    let all = |adds: &str| format!("{}{COMMIT}{WAIT}{}", multiplies(adds), loads());
    let store = |column: u32| {
        format!("add.u32 %r6, %r3, {column}; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {{%r1}};\n")
    };
    let waited = |column: u32| format!("{}tcgen05.wait::st.sync.aligned;\n", store(column));
    for (what, body, expected) in [
        (
            "nobody waits for the product",
            product(&format!("{}{COMMIT}{}", multiplies("0"), loads())),
            "writes that was not waited for",
        ),
        (
            "the product is not committed",
            product(&format!("{}{WAIT}{}", multiplies("0"), loads())),
            "1 of 1 arrivals are missing",
        ),
        ("sums start from what nobody wrote", product(&all("1")), "depends on what was never written"),
        ("a store is not waited for", format!("{}{}", store(3), loads()), "tcgen05.wait::st is missing"),
        (
            "no barrier between a product and a store",
            product(&format!(
                "{}{}{COMMIT}{WAIT}{}",
                multiplies("0").replace("[%r4]", "[%r4 + 16]"),
                waited(20),
                loads()
            )),
            "stores to column 20 of tensor memory, which an operation of tcgen05 writes that was not waited for",
        ),
        (
            "a column that was not allocated",
            loads().replace("[%r3]", "[%r3 + 56]"),
            "column 64 of tensor memory is not allocated",
        ),
        (
            "the lanes of another warp",
            loads().replace("[%r3]", "[%r4]"),
            "warp 1 reaches the lanes 32 to 63 of tensor memory, not those from 0 on",
        ),
        ("an address for each lane", format!("add.u32 %r3, %r3, %r1;\n{}", loads()), "and"),
        (
            "shared memory is overwritten",
            product(&format!("{}@%p2 st.shared.b32 [s], %r1;\n{COMMIT}{WAIT}{}", multiplies("0"), loads())),
            "which a matrix product reads that was not waited for",
        ),
        (
            "a part of a warp",
            format!("setp.lt.u32 %p4, %r1, 16;\n@%p4 {}", loads()),
            "is reached by a part of it",
        ),
        (
            "no fence before the product",
            product(&all("0")).replace("fence.proxy.async.shared::cta;", ""),
            "reads shared memory at 0x0, which warp 0 wrote: there is no fence.proxy.async between them",
        ),
        (
            "no fence before a copy to tensor memory",
            product("@%p2 tcgen05.cp.cta_group::1.128x256b [%r4], %d3;\n")
                .replace("fence.proxy.async.shared::cta;", ""),
            "reads shared memory at 0x0, which warp 0 wrote: there is no fence.proxy.async between them",
        ),
        (
            "a copy to shared memory before the product is over",
            product(&format!(
                "{}@%p2 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d1], 16, [m];\n",
                multiplies("0")
            )),
            "which a matrix product reads that was not waited for",
        ),
        ("no such M", product(&all("0").replace("0x08040490", "0x10040490")), "has M = 256 and N = 16"),
        (
            "a bit that must be zero",
            product(&all("0").replace("0x08040490", "0x080404d0")),
            "has bits that must be zero",
        ),
        (
            "a descriptor of wgmma",
            product(&all("0")).replace("0x0000401000080000", "0x0000001000080000"),
            "has other bits than 0b001",
        ),
        (
            "nothing is freed",
            format!("{}\nbar.sync 0;\nret;", loads().replace("tcgen05.ld", "nanosleep.u32 1;\n//")),
            "that were not freed",
        ),
        (
            "too many columns",
            "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 512;".to_owned(),
            "after tcgen05.relinquish_alloc_permit",
        ),
        (
            "freed otherwise",
            "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;".to_owned(),
            "which were not allocated so",
        ),
        (
            "no columns",
            "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [t], 48;".to_owned(),
            "allocates 48 columns of tensor memory",
        ),
    ] {
        let error = words(&body).expect_err(what);
        assert!(error.contains(expected), "{what}: {error}");
    }
}

#[test]
fn forms_of_tcgen05_that_are_refused() {
    for (line, expected) in [
        (
            "tcgen05.mma.cta_group::2.kind::f16 [%r4], %d3, %d3, %r5, 1;",
            "two blocks of a cluster multiply together is not known",
        ),
        ("tcgen05.mma.ws.cta_group::1.kind::f16 [%r4], %d3, %d3, %r5, 1;", "a stationary B is not supported"),
        (
            "tcgen05.mma.sp.cta_group::1.kind::f16 [%r4], %d3, %d3, [%r4], %r5, 1;",
            "a sparse A is not supported",
        ),
        ("tcgen05.mma.cta_group::1.kind::f16 [%r4], %d3, %d3, %r5, %p1, 3;", "accumulators are not scaled"),
        (
            "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block16 [%r4], %d3, %d3, %r5, [%r4], [%r4], 1;",
            "is not supported",
        ),
        ("tcgen05.cp.cta_group::1.4x256b [%r4], %d3;", "which lanes its rows go to is not known"),
        ("tcgen05.shift.cta_group::1.down [%r4];", "is not supported"),
        ("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r4];", "is not supported"),
        ("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1}, [%r4];", "takes 2 registers, not 1"),
    ] {
        let error = words(line).expect_err(line);
        assert!(error.contains(expected), "{line}: {error}");
    }
}
