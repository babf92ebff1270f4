//! An operand B that is packed once.

use bitmma_engine::Prepared;

use crate::buffer::{bitmma_input, bitmma_output, not_null, required};
use crate::gemm::{Made, bitmma_gemm_options, made, threads};
use crate::multiply::{Wanted, bitmma_operands};
use crate::status::bitmma_status::{BITMMA_SCALE, BITMMA_SIZE};
use crate::status::{Failure, bitmma_status, guarded};
use crate::unit::bitmma_unit;

/// An operand B prepared for a unit, which may be closed before it.
pub struct bitmma_prepared {
    name: String,
    prepared: Prepared,
}

/// Makes B (K×N) ready for any number of products: packed once, in about the bytes of its codes. `scale_b` are its scale
/// factors, ceil(K/scale_size) × N, for units that take them; all zero or NULL otherwise. `threads` as in
/// `bitmma_gemm_options`. `prepared` receives the operand, which `bitmma_free_prepared` ends; B is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_prepare(
    unit: *const bitmma_unit,
    n: usize,
    k: usize,
    b: *const bitmma_input,
    scale_b: *const bitmma_input,
    threads: usize,
    prepared: *mut *mut bitmma_prepared,
) -> bitmma_status {
    // SAFETY: the caller's unit and memory
    guarded(|| unsafe {
        let unit = required("unit", unit)?;
        let b = required("b", b)?;
        not_null("prepared", prepared)?;
        let threads = self::threads(threads, cfg!(feature = "threads"))?;
        let wanted = Wanted::of(unit.target().model(), 1, (0, n, k));
        let held = b.lend("B", wanted.b.0, wanted.b.1)?;
        let given = scale_b.as_ref().filter(|scale| !scale.is_none());
        let name = &unit.signature().name;
        let scale = match (wanted.scales, given) {
            (Some([_, (format, shape)]), Some(scale)) => Some(scale.read("scale B", format, shape)?),
            (None, Some(_)) => {
                let message = format!("scale factors of B are given; {name} takes none");
                return Err(Failure::new(BITMMA_SCALE, message));
            }
            _ => None,
        };
        let made = Prepared::new(unit.target(), held.matrix(), scale.as_ref(), (threads, None))?;
        let made = bitmma_prepared { name: name.clone(), prepared: made };
        prepared.write(Box::into_raw(Box::new(made)));
        Ok(())
    })
}

/// D = alpha·A·B + beta·C as by `bitmma_gemm`, with a B that was prepared; of `operands` B is all zero, and so are its scale
/// factors, but for FP32 scales of blocks. One product at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_multiply_prepared(
    prepared: *const bitmma_prepared,
    m: usize,
    operands: *const bitmma_operands,
    options: *const bitmma_gemm_options,
    d: *const bitmma_output,
) -> bitmma_status {
    // SAFETY: the caller's operand, texts and memory
    guarded(|| unsafe {
        let bitmma_prepared { name, prepared } = required("prepared", prepared)?;
        let operands = required("operands", operands)?;
        let d = required("d", d)?;
        let target = prepared.target();
        let Made { mut options, products } = made(target, options)?;
        if products != 1 || !operands.b.is_none() {
            let message = format!(
                "one product of the operand that was prepared is made; {products} products, or another B, are given"
            );
            return Err(Failure::new(BITMMA_SIZE, message));
        }
        let (k, n) = prepared.shape();
        let wanted = Wanted::of_product(target.model(), options.scale_blocks, 1, (m, n, k));
        let layout = d.layout("D", (1, m, n))?;
        let answer = {
            // gone before D is written, which may be the memory of an operand
            let a = operands.a.lend("A", wanted.a.0, wanted.a.1)?;
            let c =
                if operands.c.is_none() { None } else { Some(operands.c.read("C", wanted.c.0, wanted.c.1)?) };
            let scale = |name: &str, input: &bitmma_input, index: usize| match wanted.scales {
                Some(scales) if !input.is_none() => {
                    input.read(name, scales[index].0, scales[index].1).map(Some)
                }
                _ => Ok(None),
            };
            if wanted.scales.is_none() {
                operands.refuse_scales(name)?;
            }
            let own = target.model().scale.is_some();
            if own && !operands.scale_b.is_none() {
                let message = "scale factors of B are given; it was prepared with its own".to_owned();
                return Err(Failure::new(BITMMA_SCALE, message));
            }
            let scale_a = scale("scale A", &operands.scale_a, 0)?;
            let scale_b = if own { None } else { scale("scale B", &operands.scale_b, 1)? };
            (options.scale_a, options.scale_b) = (scale_a.as_ref(), scale_b.as_ref());
            prepared.multiply(a.matrix(), c.as_ref(), &options)?
        };
        d.write(&layout, answer.codes());
        Ok(())
    })
}

/// Ends an operand that was prepared, which no call may be using. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_free_prepared(prepared: *mut bitmma_prepared) {
    guarded(|| {
        if !prepared.is_null() {
            // SAFETY: it came from `bitmma_prepare`
            drop(unsafe { Box::from_raw(prepared) });
        }
        Ok(())
    });
}
