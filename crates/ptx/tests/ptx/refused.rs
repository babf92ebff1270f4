//! Forms that are not PTX, or that have no model, are refused: none is taken for another.

use bitmma_ptx::{Error, Kernel, Mode, Program};

fn kernel(target: &str, line: &str) -> Result<Kernel, Error> {
    let text = format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry one(.param .u64 p, .param .align 64 .b8 map[128])\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n{line}\nret;\n}}\n"
    );
    Program::parse(&text).expect(line).kernel(None, None, Mode::Text)
}

#[test]
fn forms_that_are_not_supported() {
    let lines = [
        // modifiers of other operations
        "add.NaN.f32 %r1, %r2, %r3;",
        "mul.abs.f32 %r1, %r2, %r3;",
        "sub.xorsign.abs.f32 %r1, %r2, %r3;",
        "add.rn.relu.f16 %h1, %h2, %h3;",
        "min.relu.f32 %r1, %r2, %r3;",
        "max.sat.f32 %r1, %r2, %r3;",
        "min.f32 %r1, %r2, %r3, %r4;",
        "copysign.sat.f32 %r1, %r2, %r3;",
        "div.rn.sat.f32 %r1, %r2, %r3;",
        "div.rn.relu.f32 %r1, %r2, %r3;",
        "div.rn.f16 %h1, %h2, %h3;",
        "div.full.f64 %d1, %d2, %d3;",
        "div.approx.f64 %d1, %d2, %d3;",
        "rsqrt.f32 %r1, %r2;",
        "sin.f32 %r1, %r2;",
        "rsqrt.approx.f64 %d1, %d2;",
        "rcp.approx.ftz.f64 %d1, %d2;",
        "ex2.approx.f16 %h1, %h2;",
        "tanh.approx.f32 %r1, %r2;",
        "testp.finite.f16 %p1, %h2;",
        "testp.f32 %p1, %r2;",
        "add.f32.f16 %r1, %r2, %r3;",
        "fma.rn.f32.f16 %r1, %r2, %r3, %r4;",
        // conversions
        "cvt.pack.sat.s16.s32 %r1, %r2, %r3;",
        "cvt.rn.f16x2.f32 %r1, %r2;",
        "cvt.rn.f16.f32 %h1, %r2, %r3;",
        "cvt.f32.tf32 %r1, %r2;",
        "cvt.rn.f16.f32x2 %h1, %d2;",
        "cvt.rn.bf16.bf16x2 %h1, %r2;",
        "cvt.rn.f32x2.f32 %d1, %r2;",
        "cvt.rna.tf32.f16 %r1, %h2;",
        "cvt.rn.f32.e4m3x2 %r1, %h2;",
        "cvt.rn.bf16x2.e4m3x2 %r1, %h2;",
        "cvt.rn.f16x2.e2m3x2 %r1, %h2;",
        "cvt.rn.satfinite.e3m2x2.f32 %h1, %r2, %r3;",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};",
        "cvt.rn.satfinite.e4m3x2.f16 %h1, %h2;",
        "cvt.rn.satfinite.e5m2x2.bf16x2 %h1, %r2;",
        "cvt.f32.f16x2 %r1, %r2;",
        "cvt.u32.pred %r1, %p2;",
        "mov.b32 {%h1, %h2}, {%h3, %h4};",
        // comparisons
        "setp.f32 %p1, %r2, %r3;",
        "setp.eq.u8 %p1, %r2, %r3;",
        "setp.eq.pred %p1, %p2, %p3;",
        "set.eq.u64.f32 %d1, %r2, %r3;",
        "set.eq.f64.f32 %d1, %r2, %r3;",
        "set.u32.f32 %r1, %r2, %r3;",
        "selp.pred %p1, %p2, %p3, %p4;",
        // integers
        "add.sat.u32 %r1, %r2, %r3;",
        "add.sat.s16 %h1, %h2, %h3;",
        "sub.sat.s64 %d1, %d2, %d3;",
        "min.sat.s32 %r1, %r2, %r3;",
        "add.u8 %h1, %h2, %h3;",
        "popc.b8 %r1, %h2;",
        "mul.s32 %r1, %r2, %r3;",
        "mul.wide.s64 %d1, %d2, %d3;",
        "mul.lo.u8 %h1, %h2, %h3;",
        "add.cc.u16 %h1, %h2, %h3;",
        "addc.u32 %r1, %r2, %r3, %r4;",
        "madc.lo.u32 %r1, %r2, %r3;",
        "lop3.b32 %r1, %r2, %r3, %r4, %r5;",
        "lop3.b64 %d1, %d2, %d3, %d4, 7;",
        "prmt.b64 %d1, %d2, %d3, %r4;",
        "shf.wrap.b32 %r1, %r2, %r3, %r4;",
        "shf.l.b32 %r1, %r2, %r3, %r4;",
        "dp2a.s32.s32 %r1, %r2, %r3, %r4;",
        "bfe.u16 %h1, %h2, %r3, %r4;",
        "cvta.u64 %d1, %d2;",
        "isspacep %p1, %d2;",
        "fence.acq_rel.gpu.bogus;",
        "fence.proxy.bogus;",
        "fence.acq_rel;",
        "griddepcontrol.bogus;",
        "setmaxnreg.inc.sync.aligned.u32 7;",
        "discard.global.L1 [%d1], 128;",
        "prefetchu.L9 [%d1];",
        "createpolicy.bogus.b64 %d1;",
        "applypriority.global.L2::evict_first [%d1], 128;",
        // words of the name that are not at its start, or twice
        "mad.cc.lo.u32 %r1, %r2, %r3, %r4;",
        "madc.cc.hi.u32 %r1, %r2, %r3, %r4;",
        "mad.sat.hi.s32 %r1, %r2, %r3, %r4;",
        "mad24.sat.hi.s32 %r1, %r2, %r3, %r4;",
        "dp2a.s32.lo.u32 %r1, %r2, %r3, %r4;",
        "shf.wrap.l.b32 %r1, %r2, %r3, %r4;",
        "cvta.global.to.u64 %d1, %d2;",
        "mul.lo.lo.u32 %r1, %r2, %r3;",
        "add.ftz.ftz.f32 %r1, %r2, %r3;",
        "setp.eq.eq.u32 %p1, %r2, %r3;",
        "fence.sc.gpu.gpu;",
        "fence.alias.proxy;",
        "barrier.cluster.aligned.wait;",
        "bar.sync.cta 0;",
        "bar.popc.red.u32 %r1, 0, %p1;",
        "setmaxnreg.sync.aligned.inc.u32 240;",
        "createpolicy.L2::evict_last.fractional.b64 %d1, 0.5;",
        // what goes together
        "madc.hi.sat.s32 %r1, %r2, %r3, %r4;",
        "lop3.or.b32 %r1|_, %r2, %r3, %r4, 7, %p2;",
        "lop3.or.b32 %r1, %r2, %r3, %r4, 7, %p2;",
        "lop3.xor.b32 %r1|%p1, %r2, %r3, %r4, 7, %p2;",
        "szext.u32 %r1, %r2, %r3;",
        "szext.wrap.b32 %r1, %r2, %r3;",
        "fns.u32 %r1, %r2, %r3, %r4;",
        "fence.acquire.sync_restrict::shared::cta.cluster;",
        "fence.release.sync_restrict::shared::cluster.cluster;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cta.cluster;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster.cluster;",
        "fence.proxy.tensormap::generic.acquire.gpu [%d1], 64;",
        "membar.proxy.async.global;",
        "prefetch.global.tensormap [%d1];",
        "prefetch.local.L2::evict_last [%d1];",
        "discard.global.L2 [%d1], 64;",
        "applypriority.global.L2::evict_normal [%d1], 64;",
        "createpolicy.fractional.L2::evict_last.b64 %d1, 0.0;",
        "createpolicy.fractional.L2::evict_last.b64 %d1, 1.5;",
        "createpolicy.fractional.L2::evict_last.b64 %d1, -0.5;",
        "createpolicy.fractional.L2::evict_last.b64 %d1, 0f7FC00000;",
        "createpolicy.fractional.L2::evict_first.L2::evict_last.b64 %d1, 0.5;",
        "createpolicy.fractional.L2::evict_last.L2::evict_last.b64 %d1, 0.5;",
        "createpolicy.range.L2::evict_last.b64 %d1, [%d2], 64, 32;",
        "createpolicy.cvt.L2.b64 %d1;",
        "pmevent 16;",
        "pmevent %r1;",
        "pmevent.mask 0x10000;",
        "wgmma.fence.aligned;",
        "wgmma.commit_group.aligned;",
        "wgmma.wait_group.aligned 0;",
        "wgmma.wait_group.sync.aligned %r1;",
        "barrier.cluster.wait.relaxed;",
        "barrier.cluster.arrive.acquire;",
        "barrier.cluster.arrive.release.relaxed;",
        "barrier.warp.sync -1;",
        "bar.sync.aligned 0;",
        "bar.sync 16;",
        "bar.arrive 0;",
        // newer than the target
        "add.rn.f32x2 %d1, %d2, %d3;",
        "redux.sync.min.f32 %r1, %r2, -1;",
    ];
    for line in lines {
        let form = line.split([' ', ';']).next().expect("a form");
        let error = kernel("sm_90a", line).expect_err(line);
        assert!(error.to_string().contains(&format!("line 7: '{form}' is not supported")), "{line}: {error}");
    }
}

/// Forms that one target has and another one has not.
#[test]
fn forms_of_some_targets() {
    let targets = ["sm_80", "sm_90a", "sm_100a"];
    for (has, line) in [
        ([true; 3], "membar.proxy.alias;"),
        ([true; 3], "fence.acq_rel.gpu;"),
        ([true; 3], "prefetch.global.L2::evict_last [%d1];"),
        ([true; 3], "discard.L2 [%d1], 128;"),
        ([true; 3], "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d1, 1.0;"),
        ([true; 3], "createpolicy.fractional.L2::evict_first.L2::evict_first.b64 %d1;"),
        ([true; 3], "createpolicy.range.L2::evict_last.b64 %d1, [%d2], 32, 32;"),
        ([true; 3], "createpolicy.cvt.L2.b64 %d1, %d2;"),
        ([true; 3], "pmevent 15; pmevent.mask 0xffff;"),
        ([true; 3], "bar.cta.sync 0, 32; barrier.cta.red.and.aligned.pred %p2, 0, %p1;"),
        ([true; 3], "min.abs.xorsign.f32 %r1, %r2, %r3; mad24.hi.sat.s32 %r1, %r2, %r3, %r4;"),
        ([true; 3], "setp.ftz.and.eq.f32 %p1, %r1, %r2, %p2; add.s32.sat %r1, %r2, %r3;"),
        ([false, true, true], "membar.proxy.async;"),
        ([false, true, true], "fence.proxy.async.shared::cta;"),
        ([false, true, true], "fence.acq_rel.cluster;"),
        ([false, true, true], "fence.mbarrier_init.release.cluster;"),
        ([false, true, true], "fence.release.mbarrier_init.cluster;"),
        ([false, true, true], "fence.acquire.sync_restrict::shared::cluster.cluster;"),
        ([false, true, true], "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"),
        ([false, true, true], "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"),
        ([false, true, true], "fence.proxy.tensormap::generic.release.gpu;"),
        ([false, true, true], "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128;"),
        ([false, true, true], "prefetch.tensormap [%d1];"),
        ([false, true, true], "prefetch.param.tensormap [map];"),
        ([false, true, true], "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire;"),
        ([false, true, true], "isspacep.shared::cluster %p1, %d1;"),
        ([false, true, true], "elect.sync %r1|%p1, -1;"),
        ([false, true, false], "wgmma.fence.sync.aligned;"),
        ([false, true, false], "wgmma.commit_group.sync.aligned;"),
        ([false, true, false], "wgmma.wait_group.sync.aligned 0;"),
        ([false, false, true], "add.f32.f16 %r1, %h2, %r3;"),
    ] {
        assert_eq!(targets.map(|target| kernel(target, line).is_ok()), has, "{line}");
    }
}

/// Which words and operands go together, as ptxas 13.5 takes them.
#[test]
fn words_and_operands_that_go_together() {
    let targets = ["sm_80", "sm_90a", "sm_100a"];
    for (has, line) in [
        ([true; 3], "mbarrier.init.shared::cta.b64 [%r1], %r2;"),
        ([true; 3], "mbarrier.arrive.b64 _, [%d2];"),
        ([true; 3], "mbarrier.arrive.shared.release.cta.b64 _, [%r2];"),
        ([false; 3], "mbarrier.arrive.release.b64 _, [%d2];"),
        ([false; 3], "mbarrier.arrive.acquire.cta.shared::cta.b64 _, [%r1];"),
        ([false; 3], "mbarrier.arrive.cta.shared.b64 _, [%r2];"),
        ([false, true, true], "mbarrier.arrive.relaxed.cta.b64 _, [%d2];"),
        ([false, true, true], "mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [%r2], 16;"),
        ([false; 3], "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1];"),
        ([false; 3], "mbarrier.arrive.shared::cta.expect_tx.b64 %d1, [%r2], 16;"),
        ([true; 3], "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %d1, [%r2], 2;"),
        ([false; 3], "mbarrier.arrive.noComplete.relaxed.cta.shared::cta.b64 %d1, [%r2], 2;"),
        ([false; 3], "mbarrier.arrive.noComplete.release.cluster.shared::cta.b64 %d1, [%r2], 2;"),
        ([false; 3], "mbarrier.arrive.noComplete.shared::cta.b64 %d1, [%r1];"),
        ([false, true, true], "mbarrier.arrive.shared::cta.b64 _, [%r2], 2;"),
        ([false; 3], "mbarrier.arrive.shared::cluster.b64 %d1, [%r1];"),
        ([false, true, true], "mbarrier.arrive.shared::cluster.b64 _, [%r1];"),
        ([false, true, true], "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 2;"),
        ([true; 3], "mbarrier.arrive_drop.noComplete.b64 %d1, [%d2], 3;"),
        ([false, true, true], "mbarrier.arrive_drop.shared::cluster.b64 _, [%r2];"),
        ([false; 3], "mbarrier.init.shared::cluster.b64 [%r1], 1;"),
        ([false; 3], "mbarrier.inval.shared::cluster.b64 [%r1];"),
        ([false, true, true], "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r2], 3;"),
        ([false; 3], "mbarrier.expect_tx.release.cta.b64 [%d2], 3;"),
        ([false, true, true], "mbarrier.complete_tx.shared::cluster.b64 [%r2], 3;"),
        ([true; 3], "mbarrier.pending_count.b64 %r1, %d1;"),
        ([false; 3], "mbarrier.pending_count.shared.b64 %r1, %d1;"),
        ([true; 3], "mbarrier.test_wait.parity.b64 %p1, [%d2], %r3;"),
        ([true; 3], "mbarrier.test_wait.parity.acquire.cta.b64 %p1, [%d2], %r3;"),
        ([false, true, true], "mbarrier.test_wait.parity.acquire.cluster.b64 %p1, [%d2], %r3;"),
        ([false; 3], "mbarrier.test_wait.parity.shared::cluster.b64 %p1, [%r1], 0;"),
        ([false; 3], "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0, 100;"),
        ([false; 3], "mbarrier.test_wait.acquire.cta.parity.b64 %p1, [%d2], %r3;"),
        (
            [false, true, true],
            "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r2], %r3, %r4;",
        ),
        ([false; 3], "mbarrier.try_wait.parity.release.cluster.shared::cta.b64 %p1, [%r1], %r2;"),
        ([false; 3], "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 2;"),
        ([false, true, true], "mbarrier.try_wait.parity.b64 %p1, [%d2], 1;"),
        ([false, true, true], "cp.async.bulk.prefetch.L2.global [%d1], 16;"),
        ([false, true, true], "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%d1], %r1, %d2;"),
        ([false; 3], "cp.async.bulk.prefetch.L2.global [%d1], 15;"),
        ([false; 3], "cp.async.bulk.prefetch.L2.global [%d1];"),
        ([false; 3], "cp.async.bulk.prefetch.global [%d1], 16;"),
        ([false, true, true], "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d1, {%r1, %r2}];"),
        ([false; 3], "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d1, {%r1, %r2, %r3}];"),
        ([false; 3], "cp.async.bulk.prefetch.tensor.2d.global [%d1, {%r1, %r2}];"),
        (
            [false, true, true],
            "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%d1, {%r1, %r2, %r3}], {%h1};",
        ),
        ([false; 3], "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%d1, {%r1, %r2, %r3}];"),
        (
            [false, false, true],
            "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%d1, {%r1, %r2, %r3, %r4, %r5}];",
        ),
        (
            [false; 3],
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 15, [%r2];",
        ),
        (
            [false, true, true],
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d1], 16, [%r2];",
        ),
        (
            [false; 3],
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%d1], 16, [%r2], %h1;",
        ),
        (
            [false, true, true],
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%d1], 16, [%r2], %h1;",
        ),
        ([false; 3], "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 15;"),
        ([false, true, true], "fence.acquire.gpu;"),
        ([false, true, true], "fence.release.cta;"),
        ([false, true, true], "ld.shared::cluster.u32 %r1, [%r2];"),
        ([false, true, true], "st.release.cluster.u32 [%d1], %r1;"),
        ([false, true, true], "atom.shared::cluster.add.u32 %r1, [%r2], 1;"),
        ([false, true, true], "red.relaxed.cluster.add.u32 [%d2], 1;"),
        ([false, true, true], "cvta.shared::cluster.u64 %d1, %d2;"),
        ([false, true, true], "red.global.add.noftz.bf16x2 [%d1], %r1;"),
        ([true; 3], "red.global.add.noftz.f16x2 [%d1], %r1;"),
        ([false, false, true], "ld.global.v4.u64 {%d1, %d2, %d3, %d4}, [%d5];"),
        ([false, false, true], "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1];"),
        ([true; 3], "ld.global.v2.u32 {_, %r1}, [%d1];"),
        ([false; 3], "ld.global.u32 _, [%d1];"),
        ([false; 3], "isspacep.shared %p1, map;"),
        ([true; 3], "bar.sync 0, 64;"),
        ([false; 3], "bar.sync 0, 33;"),
        ([true; 3], "cp.async.ca.shared.global [%r1], [%d1], 16, 8;"),
        ([false; 3], "cp.async.ca.shared.global [%r1], [%d1], 4, 8;"),
        ([false, true, true], "cvt.rz.relu.tf32.f32 %r1, %r2;"),
        ([false, false, true], "cvt.rz.relu.satfinite.tf32.f32 %r1, %r2;"),
        ([true; 3], "cvt.rna.satfinite.tf32.f32 %r1, %r2;"),
        ([true; 3], "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r5];"),
        ([false; 3], "ldmatrix.sync.aligned.m8n8.x1.shared.b16 %r1, [%r5];"),
        ([true; 3], "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, _}, [%r5];"),
        ([false, true, true], "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r1};"),
        ([false; 3], "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {1};"),
        ([true; 3], "add.f64 %d1, %d2, 0f3f800000;"),
        ([true; 3], "setp.eq.f64 %p1, %d1, 0f3f800000;"),
    ] {
        assert_eq!(targets.map(|target| kernel(target, line).is_ok()), has, "{line}");
    }
}

/// What ptxas takes and is not supported is not said to be no PTX.
#[test]
fn forms_that_are_not_supported_here() {
    for line in [
        "cvt.rp.satfinite.ue8m0x2.bf16x2 %h1, %r1;",
        "cvt.rz.ue8m0x2.f32 %h1, %r1, %r2;",
        "cvt.pack.sat.s8.s32.b32 %r1, %r2, %r3, %r4;",
        "cvt.pack.sat.u16.s32 %r1, %r2, %r3;",
        "fence.proxy.tensormap::generic.acq_rel.gpu;",
    ] {
        let error = kernel("sm_100a", line).expect_err(line).to_string();
        assert!(error.contains("are not supported here"), "{line}: {error}");
    }
}

/// Constants and registers that ptxas does not take for the type.
#[test]
fn operands_of_another_type() {
    for line in [
        "setp.eq.and.f32 %p1, %r2, %r3;",
        "setp.eq.f32 %p1, %r2, %r3, %p2;",
        "add.f32 %r1, %r2, 1;",
        "add.f64 %d1, %d2, 1;",
        "fma.rn.f16 %h1, %h2, %h3, 0x3c00;",
        "setp.lt.f32 %p1, %r2, 0;",
        "selp.f32 %r1, 1, 0, %p1;",
        "st.global.f32 [%d1], 1;",
        "add.u32 %r1, %r2, 1.5;",
        "mov.u32 %r1, 0f3F800000;",
        "ld.global.u32 %h1, [%d1];",
        "st.global.u64 [%d1], %r1;",
        "cvt.u64.u32 %r1, %r2;",
        "mov.b32 %r1, {%r2, %r3};",
        "add.f16 %h1, %h2, 1.5;",
        "add.f16x2 %r1, %r2, 0f3F800000;",
        "mov.b16 %h1, 1.5;",
        "st.global.b16 [%d1], 1.5;",
        "mov.u32 7, %r1;",
        "add.f32 0f3F800000, %r2, %r3;",
        "ld.global.v2.u32 {%r1, 7}, [%d1];",
        "atom.global.add.u32 7, [%d1], 1;",
        "mov.u32 %tid.x, %r1;",
        "cvta.to.global.u64 %r1, %d1;",
        "isspacep.shared %p1, %h2;",
        "nanosleep.u32;",
        "prefetch.L1 %d1;",
        "discard.L2 [%d1];",
        "griddepcontrol.wait 1;",
        "membar.gl 1;",
        "wgmma.fence.sync.aligned 0;",
    ] {
        let error = kernel("sm_90a", line).expect_err(line);
        assert!(error.to_string().contains("takes"), "{line}: {error}");
    }
}

/// Constants of `wgmma` that its types do not have, or with other values: what ptxas 13.5 says of them.
#[test]
fn operands_of_wgmma() {
    let types = ["16.f32.f16.f16", "16.f32.bf16.bf16", "8.f32.tf32.tf32", "32.f32.e4m3.e5m2", "32.s32.s8.u8"];
    let run = |sparse: bool, types: &str, a: &str, constants: &str| {
        let (k, types) = types.split_once('.').expect("K and types");
        let k: u32 = k.parse().expect("K");
        let (sp, k, metadata) = if sparse { (".sp", 2 * k, "%r1, 0, ") } else { ("", k, "") };
        let line = format!(
            "wgmma.mma_async{sp}.sync.aligned.m64n8k{k}.{types} {{%r1, %r2, %r3, %r4}}, {a}, %d1, {metadata}{constants};"
        );
        (kernel("sm_90a", &line).map(|_| ()).map_err(|error| error.to_string()), line)
    };
    let fragment = "{%r5, %r6, %r7, %r8}";
    // how many there are
    for types in types {
        for (sparse, a) in [false, true].into_iter().flat_map(|sparse| [(sparse, "%d1"), (sparse, fragment)])
        {
            let (right, names) = match (types, a) {
                (types, _) if types.contains("s32") => (0, "no operands"),
                (types, _) if !types.contains("f16") => (2, "scale-a, scale-b"),
                (_, "%d1") => (4, "scale-a, scale-b, trans-a, trans-b"),
                _ => (3, "scale-a, scale-b, trans-b"),
            };
            for (count, constants) in
                ["0", "0, 1", "0, 1, 1", "0, 1, 1, 1", "0, 1, 1, 0, 1", "0, 1, 1, 0, 0, 0"].iter().enumerate()
            {
                let (given, line) = run(sparse, types, a, constants);
                match given {
                    Ok(()) => assert_eq!(count, right, "{line}"),
                    Err(error) => {
                        let expected = format!("takes {names} after scale-d, not {count} operands");
                        assert!(count != right && error.contains(&expected), "{line}: {error}");
                    }
                }
            }
        }
    }
    // their values
    for (types, constants, expected) in [
        (types[0], "0, -1, -1, 0, 0", None),
        (types[0], "1, 1, 1, 1, 1", None),
        (types[0], "%p1, 1, 1, 0, 0", None),
        (types[0], "!%p1, 1, 1, 0, 0", None),
        (types[4], "%p1", None),
        (types[0], "0, 0, 1, 0, 0", Some("takes 1 or -1 as scale-a, not 0")),
        (types[0], "0, 2, 1, 0, 0", Some("takes 1 or -1 as scale-a, not 2")),
        (types[0], "0, 1, -2, 0, 0", Some("takes 1 or -1 as scale-b, not -2")),
        (types[3], "0, 1, 4294967295", Some("takes 1 or -1 as scale-b, not 4294967295")),
        (types[0], "0, 1, 1, 2, 0", Some("takes 0 or 1 as trans-a, not 2")),
        (types[0], "0, 1, 1, 0, -1", Some("takes 0 or 1 as trans-b, not -1")),
        (types[0], "0, 1, 1, %p1, 0", Some("takes 0 or 1 as trans-a, not another operand")),
        (types[0], "2, 1, 1, 0, 0", Some("takes 0, 1 or a predicate as scale-d, not 2")),
        (types[4], "-1", Some("takes 0, 1 or a predicate as scale-d, not -1")),
    ] {
        let (given, line) = run(false, types, "%d1", constants);
        match expected {
            None => given.unwrap_or_else(|error| panic!("{line}: {error}")),
            Some(expected) => {
                let error = given.expect_err(&line);
                assert!(error.contains(expected), "{line}: {error}");
            }
        }
    }
    let error = kernel("sm_90a", "wgmma.wait_group.sync.aligned -1;").expect_err("-1").to_string();
    assert!(error.contains("takes a number of groups from 0 on, not -1"), "{error}");
    kernel("sm_90a", "wgmma.wait_group.sync.aligned 1000;").expect("more groups than there are");
}

/// Shapes of `wgmma` on integers, by what ptxas 13.5 says of each.
#[test]
fn shapes_of_wgmma_on_integers() {
    let run = |m: u32, n: u32, sp: &str, types: &str| {
        let registers: Vec<String> = (0..n / 2).map(|at| format!("%q{at}")).collect();
        let (k, metadata) = if sp.is_empty() { (32, "") } else { (64, "%r1, 0, ") };
        let line = format!(
            ".reg .b32 %q<200>; wgmma.mma_async{sp}.sync.aligned.m{m}n{n}k{k}.{types} {{{}}}, %d1, %d1, {metadata}0;",
            registers.join(", ")
        );
        kernel("sm_90a", &line).map(|_| ()).map_err(|error| error.to_string())
    };
    for sp in ["", ".sp"] {
        for n in (8..=272).step_by(8) {
            let has = n <= 32 || n % 16 == 0 && n <= 256;
            let given = run(64, n, sp, "s32.s8.u8");
            assert_eq!(given.is_ok(), has, "{sp} {n}: {given:?}");
            if let Err(error) = given {
                assert!(
                    error.contains("takes 8 to 32 in steps of 8, from there to 256 in steps of 16"),
                    "{error}"
                );
            }
        }
        for m in [16, 32, 65, 67, 128] {
            let error = run(m, 8, sp, "s32.s8.u8").expect_err("another M");
            assert!(error.contains("is not supported: M of wgmma is 64"), "{error}");
        }
        for types in ["s32.s8.e4m3", "s32.e4m3.s8", "s32.s8.s4"] {
            let error = run(64, 8, sp, types).expect_err(types);
            assert!(error.contains("is not supported"), "{types}: {error}");
        }
    }
}

/// ptxas keeps the opposite of a borrow, as the hardware has it: what a sum makes of the borrow of a difference is not PTX's.
#[test]
fn a_borrow_into_a_sum() {
    for (line, is_right) in [
        ("sub.cc.u32 %r1, %r2, %r3; addc.u32 %r4, %r2, %r3;", false),
        ("add.cc.u32 %r1, %r2, %r3; subc.u32 %r4, %r2, %r3;", false),
        (
            "mad.lo.cc.u32 %r1, %r2, %r3, %r4; addc.cc.u32 %r4, %r2, %r3; madc.hi.u32 %r5, %r2, %r3, %r4;",
            true,
        ),
        ("sub.cc.u32 %r1, %r2, %r3; subc.u32 %r4, %r2, %r3;", true),
    ] {
        assert_eq!(kernel("sm_90a", line).is_ok(), is_right, "{line}");
    }
}
