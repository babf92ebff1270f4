//! Arrays of the four formats in which models compute, read as FP64 and written rounded to nearest even.

/// Numbers of one format; FP16 and BF16 as their codes.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// FP64.
    F64(&'a [f64]),
    /// FP32.
    F32(&'a [f32]),
    /// FP16.
    F16(&'a [u16]),
    /// BF16.
    Bf16(&'a [u16]),
}

/// The same, to be written.
#[derive(Debug)]
pub enum NumbersMut<'a> {
    /// FP64.
    F64(&'a mut [f64]),
    /// FP32.
    F32(&'a mut [f32]),
    /// FP16.
    F16(&'a mut [u16]),
    /// BF16.
    Bf16(&'a mut [u16]),
}

/// Elements that a thread takes at a time; fewer than twice as many are not shared out.
const SHARE: usize = 1 << 14;

impl Numbers<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Numbers::F64(all) => all.len(),
            Numbers::F32(all) => all.len(),
            Numbers::F16(all) | Numbers::Bf16(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As many as `into` has room for, from `start`, exactly.
    pub fn read(&self, start: usize, into: &mut [f64]) {
        let end = start + into.len();
        match self {
            Numbers::F64(all) => into.copy_from_slice(&all[start..end]),
            Numbers::F32(all) => each(&all[start..end], into, f64::from),
            Numbers::F16(all) => each(&all[start..end], into, of_f16),
            Numbers::Bf16(all) => each(&all[start..end], into, of_bf16),
        }
    }
}

fn each<T: Copy>(from: &[T], to: &mut [f64], convert: impl Fn(T) -> f64) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = convert(from);
    }
}

impl NumbersMut<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            NumbersMut::F64(all) => all.len(),
            NumbersMut::F32(all) => all.len(),
            NumbersMut::F16(all) | NumbersMut::Bf16(all) => all.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes numbers from `start`, each rounded once, to nearest even; NaN without sign and payload.
    pub fn write(&mut self, start: usize, values: &[f64]) {
        let end = start + values.len();
        match self {
            NumbersMut::F64(all) => {
                put(
                    &mut all[start..end],
                    values,
                    |x| if x.is_nan() { f64::from_bits(0x7ff8 << 48) } else { x },
                );
            }
            NumbersMut::F32(all) => put(&mut all[start..end], values, |x| {
                if x.is_nan() { f32::from_bits(0x7fc0 << 16) } else { x as f32 }
            }),
            NumbersMut::F16(all) => put(&mut all[start..end], values, to_f16),
            NumbersMut::Bf16(all) => put(&mut all[start..end], values, to_bf16),
        }
    }

    /// Does work with parts of whole rows of `row` elements each, and with the number of each part's first element; many rows
    /// are shared out to threads.
    pub(crate) fn each_part(self, row: usize, work: impl Fn(usize, NumbersMut<'_>) + Sync) {
        let row = row.max(1);
        self.shared(row * SHARE.div_ceil(row), work);
    }

    /// The same of results of which each is made of `row` elements.
    pub(crate) fn each_row(self, row: usize, work: impl Fn(usize, NumbersMut<'_>) + Sync) {
        self.shared(SHARE.div_ceil(row.max(1)), work);
    }

    fn shared(self, part: usize, work: impl Fn(usize, NumbersMut<'_>) + Sync) {
        if self.len() < 2 * part {
            return work(0, self);
        }
        match self {
            NumbersMut::F64(all) => {
                bitmma_threads::each_chunk(all, part, |i, all| work(i * part, NumbersMut::F64(all)));
            }
            NumbersMut::F32(all) => {
                bitmma_threads::each_chunk(all, part, |i, all| work(i * part, NumbersMut::F32(all)));
            }
            NumbersMut::F16(all) => {
                bitmma_threads::each_chunk(all, part, |i, all| work(i * part, NumbersMut::F16(all)));
            }
            NumbersMut::Bf16(all) => {
                bitmma_threads::each_chunk(all, part, |i, all| work(i * part, NumbersMut::Bf16(all)));
            }
        }
    }
}

fn put<T>(to: &mut [T], from: &[f64], convert: impl Fn(f64) -> T) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = convert(from);
    }
}

/// Gives every NaN of an array the positive sign and no payload.
pub fn canonical(numbers: NumbersMut<'_>) {
    numbers.each_part(1, |_, part| match part {
        NumbersMut::F64(all) => {
            all.iter_mut().for_each(|x| *x = if x.is_nan() { f64::from_bits(0x7ff8 << 48) } else { *x });
        }
        NumbersMut::F32(all) => {
            all.iter_mut().for_each(|x| *x = if x.is_nan() { f32::from_bits(0x7fc0 << 16) } else { *x });
        }
        NumbersMut::F16(all) => {
            all.iter_mut().for_each(|x| *x = if *x & 0x7fff > 0x7c00 { 0x7e00 } else { *x });
        }
        NumbersMut::Bf16(all) => {
            all.iter_mut().for_each(|x| *x = if *x & 0x7fff > 0x7f80 { 0x7fc0 } else { *x });
        }
    });
}

/// 2^exponent, of a normal number.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[inline(always)]
fn of_bf16(code: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(code) << 16))
}

#[inline(always)]
fn of_f16(code: u16) -> f64 {
    // the fields as those of FP32, then the bias by a product, which is exact for normal and subnormal numbers
    let magnitude = f32::from_bits(u32::from(code & 0x7fff) << 13);
    let scaled = f64::from(magnitude) * power(127 - 15);
    let magnitude = if code & 0x7c00 == 0x7c00 {
        if code & 0x3ff == 0 { f64::INFINITY } else { f64::NAN }
    } else {
        scaled
    };
    if code >> 15 == 1 { -magnitude } else { magnitude }
}

/// The multiple of the unit in the last place that is nearest to |x|, ties to even, in a format with so many fraction bits
/// and that smallest exponent. Adding and subtracting a power of two whose own unit that is rounds.
#[inline(always)]
fn rounded(x: f64, fraction_bits: i32, smallest: i32) -> f64 {
    let magnitude = x.abs();
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).clamp(smallest, 300);
    let unit = 1.5 * power(exponent - fraction_bits + 52);
    (magnitude + unit) - unit
}

#[inline(always)]
fn to_bf16(x: f64) -> u16 {
    let code = ((rounded(x, 7, -126) as f32).to_bits() >> 16) as u16;
    if x.is_nan() { 0x7fc0 } else { code | u16::from(x.is_sign_negative()) << 15 }
}

#[inline(always)]
fn to_f16(x: f64) -> u16 {
    let magnitude = rounded(x, 10, -14);
    // FP32 has a code for every number of FP16 times 2^-112, whose fields are those of FP16
    let fields = ((magnitude * power(15 - 127)) as f32).to_bits() >> 13;
    let code = if magnitude >= 65536.0 { 0x7c00 } else { fields as u16 };
    if x.is_nan() { 0x7e00 } else { code | u16::from(x.is_sign_negative()) << 15 }
}
