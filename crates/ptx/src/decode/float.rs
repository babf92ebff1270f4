//! Floating-point operations.

use bitmma_engine::formats::Rounding;

use super::Decoder;
use super::form::{Form, operands};
use crate::error::Error;
use crate::program::{Float, Float1, Float2, Mode, Number, Op, Special, Type, Word};
use crate::text::{Instruction, Operand};

const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::NearestEven),
    ("rz", Rounding::TowardZero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

impl Decoder<'_> {
    pub(super) fn float(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Option<Op>, Error> {
        let op = match form.name {
            "add" | "sub" | "mul" | "min" | "max" | "copysign" => self.float2(form, at)?,
            "fma" | "mad" => self.fma(form, at)?,
            "abs" | "neg" => self.float1(form, at)?,
            "div" => self.divide(form, at)?,
            "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => {
                self.special_function(form, at)?
            }
            "testp" => self.test(form, at)?,
            // what contraction leaves of a division whose last multiplication is fused
            "%div" => {
                let (full, flush) = (form.flag("full"), form.flag("ftz"));
                form.flag("approx");
                form.kind();
                let [d, e, a, b] = operands(at)?;
                Op::DivideFactors {
                    full,
                    flush,
                    d: self.two(d, e, at)?,
                    a: self.word(a, at)?,
                    b: self.word(b, at)?,
                }
            }
            "%nothing" => Op::Nothing,
            "%copy" => {
                let [d, e, a, b] = operands(at)?;
                let d = [self.any(d, Type::B32, at)?, self.any(e, Type::B32, at)?];
                let a = [self.any(a, Type::B32, at)?, self.any(b, Type::B32, at)?];
                Op::Copy { d, a }
            }
            "%rcp" => {
                let flush = form.flag("ftz");
                form.flag("approx");
                form.kind();
                let [d, e, a] = operands(at)?;
                Op::ReciprocalFactors { flush, d: self.two(d, e, at)?, a: self.word(a, at)? }
            }
            _ => return Ok(None),
        };
        Ok(Some(op))
    }

    fn two(&mut self, d: &Operand, e: &Operand, at: &Instruction) -> Result<[Word; 2], Error> {
        Ok([self.word(d, at)?, self.word(e, at)?])
    }

    fn mode(form: &mut Form<'_>) -> Mode {
        let rounding = form.one_of(&ROUNDINGS).unwrap_or(Rounding::NearestEven);
        Mode { rounding, flush: form.flag("ftz"), saturate: form.flag("sat"), relu: form.flag("relu") }
    }

    /// The float type of an operation; mixed ones (`add.f32.f16`) are refused.
    fn float_kind(form: &mut Form<'_>) -> Result<(Type, Float), Error> {
        let kind = form.need_kind()?;
        let float = kind.float().ok_or_else(|| form.unsupported())?;
        Ok((kind, float))
    }

    fn float2(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let mode = Decoder::mode(form);
        let (nan, xorsign) = (form.flag("NaN"), form.flag("xorsign"));
        let absolute = form.flag("abs");
        let (kind, float) = Decoder::float_kind(form)?;
        let f = match form.name {
            "add" => Float2::Add,
            "sub" => Float2::Subtract,
            "mul" => Float2::Multiply,
            "min" => Float2::Minimum { nan, xorsign, absolute },
            "max" => Float2::Maximum { nan, xorsign, absolute },
            _ => Float2::CopySign,
        };
        let arithmetic = matches!(f, Float2::Add | Float2::Subtract | Float2::Multiply);
        if arithmetic && (nan || xorsign || absolute) || mode.relu || (!arithmetic && mode.saturate) {
            return Err(form.unsupported());
        }
        if let ("min" | "max", [d, a, b, c]) = (form.name, at.operands.as_slice()) {
            let _ = (d, a, b, c);
            return Err(form.refuse("three operands"));
        }
        let [d, a, b] = operands(at)?;
        // copysign d, a, b: b with the sign of a
        Ok(Op::Float2 {
            f,
            float,
            mode,
            d: self.typed(d, kind, at)?,
            a: self.typed(a, kind, at)?,
            b: self.typed(b, kind, at)?,
        })
    }

    fn fma(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let mode = Decoder::mode(form);
        let (kind, float) = Decoder::float_kind(form)?;
        let [d, a, b, c] = operands(at)?;
        Ok(Op::Fma {
            float,
            mode,
            negate: at.negate,
            d: self.typed(d, kind, at)?,
            a: self.typed(a, kind, at)?,
            b: self.typed(b, kind, at)?,
            c: self.typed(c, kind, at)?,
        })
    }

    fn float1(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let mode = Mode { flush: form.flag("ftz"), ..Mode::NEAREST };
        let (kind, float) = Decoder::float_kind(form)?;
        let f = if form.name == "abs" { Float1::Absolute } else { Float1::Negate };
        let [d, a] = operands(at)?;
        Ok(Op::Float1 { f, float, mode, d: self.typed(d, kind, at)?, a: self.typed(a, kind, at)? })
    }

    fn divide(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let (full, approx) = (form.flag("full"), form.flag("approx"));
        let mode = Decoder::mode(form);
        let (kind, float) = Decoder::float_kind(form)?;
        let [d, a, b] = operands(at)?;
        if full || approx {
            if kind != Type::F32 {
                return Err(form.unsupported());
            }
            let (d, a, b) = (self.word(d, at)?, self.word(a, at)?, self.word(b, at)?);
            return Ok(Op::Divide { full, flush: mode.flush, d, a, b });
        }
        if !matches!(kind, Type::F32 | Type::F64) || mode.saturate || mode.relu {
            return Err(form.unsupported());
        }
        let (d, a, b) = (self.typed(d, kind, at)?, self.typed(a, kind, at)?, self.typed(b, kind, at)?);
        Ok(Op::Float2 { f: Float2::Divide, float, mode, d, a, b })
    }

    fn special_function(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let approx = form.flag("approx");
        let mode = Decoder::mode(form);
        let (kind, float) = Decoder::float_kind(form)?;
        let f = match form.name {
            "rcp" => Special::Reciprocal,
            "sqrt" => Special::SquareRoot,
            "rsqrt" => Special::ReciprocalSquareRoot,
            "ex2" => Special::Exponential,
            "lg2" => Special::Logarithm,
            "sin" => Special::Sine,
            "cos" => Special::Cosine,
            _ => return Err(form.refuse("how a GPU computes it is not known")),
        };
        let [d, a] = operands(at)?;
        if !approx {
            let f = match f {
                Special::Reciprocal => Float1::Reciprocal,
                Special::SquareRoot => Float1::SquareRoot,
                _ => return Err(form.unsupported()),
            };
            return Ok(Op::Float1 {
                f,
                float,
                mode,
                d: self.typed(d, kind, at)?,
                a: self.typed(a, kind, at)?,
            });
        }
        if float != (Float { number: Number::Single, packed: false }) {
            return Err(form.refuse("how a GPU computes it is not known"));
        }
        Ok(Op::Special { f, flush: mode.flush, d: self.word(d, at)?, a: self.word(a, at)? })
    }

    fn test(&mut self, form: &mut Form<'_>, at: &Instruction) -> Result<Op, Error> {
        let classes = [
            ("finite", 0),
            ("infinite", 1),
            ("number", 2),
            ("notanumber", 3),
            ("normal", 4),
            ("subnormal", 5),
        ];
        let class = form.one_of(&classes).ok_or_else(|| form.unsupported())?;
        let kind = form.need_kind()?;
        if !matches!(kind, Type::F32 | Type::F64) {
            return Err(form.unsupported());
        }
        let [d, a] = operands(at)?;
        Ok(Op::Test { class, kind, d: self.predicate(d, at)?, a: self.typed(a, kind, at)? })
    }
}
