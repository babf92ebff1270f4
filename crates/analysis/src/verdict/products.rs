//! Two products of any K compared: those of plans, say.

use bitmma_engine::arithmetic::{Conversion, Model, Operation};
use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::{F32, Format};
use bitmma_engine::gemm::{Schedule, Target};
use bitmma_verify::apart::Rules;

use super::{Diff, Results, Verdict, different};
use crate::apart::separating;
use crate::error::{Error, option};
use crate::scheme::Scheme;
use crate::subject::essence;

/// Elements along K at which two products are compared, at most.
pub const LONGEST: usize = 1 << 12;
/// Random inputs that are tried at each K.
const DRAWN: usize = 1_536;
const SEED: u64 = 1;

/// A product of any K, and what is said of it.
pub struct Product<'p> {
    /// Its name.
    pub name: &'p str,
    /// Names and values that describe it.
    pub fields: Vec<(String, String)>,
    /// What goes along a K, and in which order; why not.
    pub at: &'p dyn Fn(usize) -> Result<(Option<Target>, Schedule), String>,
}

impl Product<'_> {
    /// The product of a K; sums of threads take `formats`.
    fn scheme(&self, k: usize, formats: (Format, Format)) -> Result<Scheme, Error> {
        let refused = |allowed| Error::Option { option: "K", value: k.to_string(), allowed };
        let (target, schedule) = (self.at)(k).map_err(refused)?;
        let (a, b) = formats_of(target.as_ref()).unwrap_or(formats);
        Ok(Scheme { target, schedule, a, b })
    }
}

fn formats_of(target: Option<&Target>) -> Option<(Format, Format)> {
    target.map(|target| (target.model().a, target.model().b))
}

/// Compares two products. `alike`: what is around the models is the same by its fields. Sums of threads take what the other
/// side takes, or FP32.
pub fn diff_products(sides: [&Product<'_>; 2], alike: bool, rules: &Rules) -> Result<Diff, Error> {
    let known = sides.iter().filter_map(|side| formats_of((side.at)(LONGEST).ok()?.0.as_ref())).next();
    let formats = known.unwrap_or((F32, F32));
    let at = |k: usize| -> Result<[Scheme; 2], Error> {
        Ok([sides[0].scheme(k, formats)?, sides[1].scheme(k, formats)?])
    };
    let [x, y] = &at(LONGEST)?;
    if (x.a, x.b) != (y.a, y.b) {
        let text = |one: &Scheme| format!("{} · {}", one.a, one.b);
        return Err(option("A·B", text(y), &format!("the other is of {}", text(x))));
    }
    let names = sides.map(|side| side.name);
    let differences = different(&sides[0].fields, &sides[1].fields);
    let words = || vec![Model::new(formats.0, formats.1, F32, Operation::Fma, Conversion::RNE_FP32)];
    if alike && same_model([x, y], rules) {
        return Ok(Diff::new(names, 0, Verdict::Same("the plans say the same"), differences, words()));
    }
    let steps = |scheme: &Scheme| scheme.target.as_ref().map_or(1, Target::step);
    let (mut k, mut tried) = (steps(x).max(steps(y)), 0);
    while k <= LONGEST {
        let both = at(k)?;
        if let Some(case) = separating([&both[0], &both[1]], k, false, rules, (SEED, DRAWN))? {
            let result = |scheme: &Scheme| -> Result<Coded, Error> {
                let code = scheme.codes(std::slice::from_ref(&case))?.iter().next().unwrap_or(0);
                Ok(Coded::new(&scheme.d(), code))
            };
            let results = Some(Results { of_left: result(&both[0])?, of_right: result(&both[1])? });
            return Ok(Diff {
                results,
                ..Diff::new(names, k, Verdict::Differs(case, false), differences, words())
            });
        }
        tried += DRAWN as u64;
        k *= 2;
    }
    Ok(Diff::new(names, 0, Verdict::Unknown(tried), differences, words()))
}

fn same_model([x, y]: [&Scheme; 2], rules: &Rules) -> bool {
    match (&x.target, &y.target) {
        (None, None) => true,
        (Some(x), Some(y)) => {
            let k = x.step();
            let equal = |x: &Model, y: &Model| essence(x, k) == essence(y, k) || (rules.equivalent)(x, y, k);
            k == y.step() && equal(x.model(), y.model())
        }
        _ => false,
    }
}
