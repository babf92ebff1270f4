//! What one dot product lost, and where: every loss of every step, its bound beside it.
//!
//! The paper's sources of error are additive (§"Sources of Numerical Errors"): the errors of all steps,
//! each with its sign, add up to D minus the exact dot product. An [`Account`] holds both sides, so the
//! claim is checked on every case, and each source has its own bound and its own measured error.

use bitmma_engine::Case;
use bitmma_engine::arithmetic::run::{self, Operands, Side};
use bitmma_engine::arithmetic::{
    Conversion, Lowering, Model, Operation, Parameter, Prepared, ResultFlush, Step, Trace,
};
use bitmma_engine::explain::json::Number;
use bitmma_engine::formats::{Class, Format, Rounding, decode};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::dyadic::Dyadic;
use crate::error::{Error, check_rounds};
use crate::error_source::Source;

/// Something that was cut, rounded or flushed, and was not zero error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The elementary operation along K in which it happened, from 0.
    pub operation: usize,
    /// What lost it.
    pub source: Source,
    /// The term: `a1*b1`, `c`, `T`; `d` for a whole result.
    pub term: String,
    /// Before.
    pub exact: Dyadic,
    /// After.
    pub kept: Dyadic,
    /// Weight of the last bit that is kept, a power of two; `None` where there is none (flushing).
    pub last_bit: Option<i64>,
    /// The format whose largest finite number stands for what is beyond it; `None` where nothing is.
    pub beyond: Option<&'static str>,
}

impl Loss {
    /// Kept minus exact.
    pub fn error(&self) -> Dyadic {
        &self.kept - &self.exact
    }

    /// `step 1, fused summation: a3*b3 = -0.125 becomes 0, losing -0.125 (nothing below 2^-2 is kept)`, all exact. What is lost is
    /// marked by `mark`.
    pub fn in_words(&self, mark: &dyn Fn(&str) -> String) -> String {
        self.in_words_at(&|operation| format!("step {}", operation + 1), mark)
    }

    /// The same, each operation along K by the name that `place` gives it.
    pub fn in_words_at(&self, place: &dyn Fn(usize) -> String, mark: &dyn Fn(&str) -> String) -> String {
        let Loss { operation, source, term, exact, kept, .. } = self;
        // operands are read before all steps
        let place = match source {
            Source::InputFlush => String::new(),
            _ => format!("{}, ", place(*operation)),
        };
        let becomes = match self.beyond {
            Some(format) => format!("is beyond the largest number of {format} and becomes that, {kept}"),
            None => format!("becomes {kept}"),
        };
        let below = match self.last_bit {
            Some(last) if self.beyond.is_none() => format!(" (nothing below 2^{last} is kept)"),
            _ => String::new(),
        };
        let lost = mark(&(-&self.error()).to_string());
        format!("{place}{}: {term} = {exact} {becomes}, losing {lost}{below}", source.name())
    }

    /// Whether both take the same away from the same number, in whichever step.
    fn is_like(&self, other: &Loss) -> bool {
        (&self.term, &self.exact, &self.kept) == (&other.term, &other.exact, &other.kept)
    }
}

/// Exact numbers are the nearest ones of FP64; `lost` is exact minus kept.
impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = |exact: &Dyadic| Number::from(exact.to_f64());
        let mut keys = serializer.serialize_struct("Loss", 7)?;
        keys.serialize_field("operation", &self.operation)?;
        keys.serialize_field("source", self.source.name())?;
        keys.serialize_field("term", &self.term)?;
        keys.serialize_field("exact", &number(&self.exact))?;
        keys.serialize_field("kept", &number(&self.kept))?;
        keys.serialize_field("lost", &number(&-&self.error()))?;
        keys.serialize_field("last_bit", &self.last_bit)?;
        keys.end()
    }
}

/// The losses that only one of two dot products has: what both lose alike does not part their results.
pub fn unshared<'l>(left: &'l [Loss], right: &'l [Loss]) -> (Vec<&'l Loss>, Vec<&'l Loss>) {
    let mut of_right: Vec<&Loss> = right.iter().collect();
    let mut of_left = vec![];
    for loss in left {
        match of_right.iter().position(|other| loss.is_like(other)) {
            Some(place) => drop(of_right.remove(place)),
            None => of_left.push(loss),
        }
    }
    (of_left, of_right)
}

/// What one source did to one dot product.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The most that the source can have lost, given the exponents that occurred.
    pub bound: Dyadic,
    /// What it changed, with its sign.
    pub error: Dyadic,
}

/// The account of a dot product.
#[derive(Clone, Debug)]
pub struct Account {
    /// The code of D.
    pub d: u64,
    /// One entry for each of [`Source::ALL`], in its order.
    pub entries: [Entry; Source::ALL.len()],
    /// The paper's bound: (L+1)·2^(e_max−F) and the output rounding for each operation, whether or not a
    /// term can lose bits.
    pub paper_bound: Dyadic,
    /// Every loss, in order; empty unless it was asked for.
    pub losses: Vec<Loss>,
    /// Whether all steps were finite: no infinity, NaN or overflow. There is no bound otherwise.
    pub finite: bool,
    /// C as it went in, plus all products as they went in; `None` if something is not finite.
    pub exact: Option<Dyadic>,
    /// D's value; `None` if it is not finite.
    pub value: Option<Dyadic>,
}

impl Account {
    /// D minus the exact dot product; `None` where one of them is not finite.
    pub fn error(&self) -> Option<Dyadic> {
        Some(self.value.as_ref()? - self.exact.as_ref()?)
    }

    /// The sum of all sources' bounds; `None` where the result is not finite.
    pub fn bound(&self) -> Option<Dyadic> {
        self.finite.then(|| self.entries.iter().fold(Dyadic::ZERO, |sum, entry| &sum + &entry.bound))
    }

    /// The sum of all sources' errors.
    pub fn explained(&self) -> Dyadic {
        self.entries.iter().fold(Dyadic::ZERO, |sum, entry| &sum + &entry.error)
    }

    /// What one source did.
    pub fn entry(&self, source: Source) -> &Entry {
        &self.entries[source as usize]
    }
}

/// The account of one dot product of `model`, losses listed if `with_losses`.
pub fn account(model: &Model, case: &Case, with_losses: bool) -> Result<Account, Error> {
    check_rounds(model, "accounts")?;
    let prepared = Prepared::new(model, case.a.len())?;
    dot(model, case)?; // checks the codes
    Ok(account_prepared(&prepared, case, Start::C, with_losses))
}

/// D of one dot product of `model`.
pub(crate) fn dot(model: &Model, case: &Case) -> Result<u64, Error> {
    bitmma_engine::threads::check();
    let Case { a, b, c, scale_a, scale_b } = case;
    Ok(model.dot(&Operands { a, b, c: *c, scale_a, scale_b })?)
}

/// From where a dot product starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// From an element of C.
    C,
    /// From the result of the dot product before: the case's `c` is a code of D's format.
    D,
}

/// As [`account`] for a prepared model; the case's codes must fit.
pub fn account_prepared(prepared: &Prepared<'_>, case: &Case, start: Start, with_losses: bool) -> Account {
    bitmma_engine::threads::check();
    let model = prepared.model();
    let c_format = if start == Start::C { model.c } else { model.d };
    let a = prepared.vector(Side::A, case.a.iter().copied());
    let b = prepared.vector(Side::B, case.b.iter().copied());
    let (scale_a, scale_b) =
        (prepared.scales(case.scale_a.iter().copied()), prepared.scales(case.scale_b.iter().copied()));
    let mut listener = Listener::new(model, with_losses);
    listener.flush(case, start);
    let from = match start {
        Start::C => run::Start::C(case.c),
        Start::D => run::Start::D(case.c),
    };
    let d = prepared.dot(&a, &b, from, &scale_a, &scale_b, &mut listener);
    let value = Dyadic::of_code(&model.d, d);
    let exact = exact_dot(model, case, &c_format);
    let finite = listener.finite && value.is_some() && exact.is_some();
    let Listener { entries, paper_bound, losses, .. } = listener;
    let losses = losses.unwrap_or_default();
    Account { d, entries, paper_bound, losses, finite, exact, value }
}

/// The exact dot product, scale factors included; `None` if something is not finite.
pub fn exact_dot(model: &Model, case: &Case, c_format: &Format) -> Option<Dyadic> {
    let mut sum = Dyadic::of_code(c_format, case.c)?;
    for index in 0..case.a.len() {
        sum += &exact_product(model, case, index)?;
    }
    Some(sum)
}

/// One product, scale factors included.
pub(crate) fn exact_product(model: &Model, case: &Case, index: usize) -> Option<Dyadic> {
    let mut product = &Dyadic::of_code(&model.a, case.a[index])? * &Dyadic::of_code(&model.b, case.b[index])?;
    if let Some(scale) = model.scale {
        product = &product * &Dyadic::of_code(&scale.format, case.scale_a[index / scale.size])?;
        product = &product * &Dyadic::of_code(&scale.format, case.scale_b[index / scale.size])?;
    }
    Some(product)
}

/// Weight of a result's last bit: 2^(e_result − fraction bits), e_result not below the format's smallest.
/// `format` may be narrower than `container`, the code's own (E8M13).
pub fn ulp(format: &Format, container: &Format, code: u64) -> i64 {
    let unpacked = decode(container, code);
    let exponent = if unpacked.class == Class::Finite { unpacked.exponent } else { format.min_exponent() };
    i64::from(exponent) - i64::from(format.fraction_bits)
}

/// Whether a rule rounds to nearest, and so loses at most half a unit.
pub fn is_nearest(rounding: Rounding) -> bool {
    rounding.symbol().len() == 3 // RNE, RNA, …; directed rules have two letters
}

/// The most a rule loses of one unit of weight 2^last.
pub(crate) fn unit(rounding: Rounding, last: i64) -> Dyadic {
    Dyadic::power(if is_nearest(rounding) { last - 1 } else { last })
}

/// Adds up what the steps of a dot product lose.
struct Listener<'m> {
    model: &'m Model,
    entries: [Entry; Source::ALL.len()],
    paper_bound: Dyadic,
    losses: Option<Vec<Loss>>,
    finite: bool,
    /// Elementary operations begun.
    begun: usize,
    /// Terms of the paper's formula: L+1, L/G+1.
    terms: usize,
    /// The largest exponent of the operation under way: the paper's e_max.
    largest: Option<i64>,
    /// What the steps of the operation under way have summed up to, and the weight of its last bit.
    sum: (Dyadic, i64),
}

impl<'m> Listener<'m> {
    fn new(model: &'m Model, with_losses: bool) -> Listener<'m> {
        Listener {
            model,
            entries: Default::default(),
            paper_bound: Dyadic::ZERO,
            losses: with_losses.then(Vec::new),
            finite: true,
            begun: 0,
            terms: 0,
            largest: None,
            sum: (Dyadic::ZERO, 0),
        }
    }

    fn bound(&mut self, source: Source, bound: &Dyadic) {
        self.entries[source as usize].bound += bound;
    }

    fn lost(
        &mut self,
        source: Source,
        term: impl FnOnce() -> String,
        exact: &Dyadic,
        kept: &Dyadic,
        (last_bit, beyond): (Option<i64>, Option<&'static str>),
    ) {
        if exact == kept {
            return;
        }
        self.entries[source as usize].error += &(kept - exact);
        if let Some(losses) = &mut self.losses {
            losses.push(Loss {
                operation: self.begun.saturating_sub(1),
                source,
                term: term(),
                exact: exact.clone(),
                kept: kept.clone(),
                last_bit,
                beyond,
            });
        }
    }

    /// What reading subnormal numbers as zero loses: |x| < MinNormal times the other factor.
    fn flush(&mut self, case: &Case, start: Start) {
        let model = self.model;
        let by_itself = model.operation.flushes();
        let subnormal = |format: &Format, code: u64| {
            let unpacked = decode(format, code);
            unpacked.class == Class::Finite && unpacked.significand >> format.fraction_bits == 0
        };
        let flushed = if model.flush_operands.is_on() || by_itself { case.a.len() } else { 0 };
        for index in 0..flushed {
            let (a, b) = (case.a[index], case.b[index]);
            let small = [subnormal(&model.a, a), subnormal(&model.b, b)];
            if small == [false, false] {
                continue;
            }
            let Some(product) = exact_product(model, case, index) else { continue };
            let (flushed, other) =
                if small[0] { (&model.a, (&model.b, b)) } else { (&model.b, (&model.a, a)) };
            let other = Dyadic::of_code(other.0, other.1).unwrap_or_default().magnitude();
            let bound = &Dyadic::power(flushed.min_exponent().into()) * &other;
            self.bound(Source::InputFlush, &bound);
            self.paper_bound += &bound;
            self.lost(
                Source::InputFlush,
                || format!("a{index}*b{index}"),
                &product,
                &Dyadic::ZERO,
                (None, None),
            );
        }
        let format = if start == Start::C { &model.c } else { &model.d };
        // a D of another format than C's is not read as C is; a C that is added last enters no operation
        let read = model.flush_accumulator.is_on() && *format == model.c;
        let entered = by_itself && model.lowering.add_accumulator_last.is_none();
        if (read || entered) && subnormal(format, case.c) {
            let bound = Dyadic::power(format.min_exponent().into());
            self.bound(Source::InputFlush, &bound);
            self.paper_bound += &bound;
            let c = Dyadic::of_code(format, case.c).unwrap_or_default();
            self.lost(Source::InputFlush, || "c".to_owned(), &c, &Dyadic::ZERO, (None, None));
        }
    }

    fn rounded(
        &mut self,
        source: Source,
        term: &str,
        (value, lowest): (&Dyadic, i64),
        (conversion, container): (Conversion, &Format),
        code: u64,
    ) {
        let Conversion { rounding, format, saturate, flush } = conversion;
        let Some(kept) = Dyadic::of_code(container, code) else {
            self.finite = false;
            return;
        };
        // a directed rule under IEEE 754 §7.4 stops at the largest finite number, however far it is
        let largest = code & !container.sign_bit() == format.max_finite_code();
        let stops = !is_nearest(rounding) && value.floor_log2() > kept.floor_log2();
        // and so does every rule where the conversion saturates
        let saturates = saturate && value.magnitude() > kept.magnitude();
        let beyond = (largest && (stops || saturates)).then_some(format.name);
        if beyond.is_some() {
            self.finite = false;
        }
        if flush != ResultFlush::Never && kept.is_zero() {
            let smallest = Dyadic::power(format.min_exponent().into());
            self.paper_bound += &smallest;
            if lowest < format.min_exponent().into() {
                self.bound(Source::OutputFlush, &smallest);
            }
            self.lost(Source::OutputFlush, || term.to_owned(), value, &Dyadic::ZERO, (None, None));
            return;
        }
        let last = ulp(&format, container, code);
        let bound = unit(rounding, last);
        self.paper_bound += &bound;
        if lowest < last {
            self.bound(source, &bound);
        }
        self.lost(source, || term.to_owned(), value, &kept, (Some(last), beyond));
    }

    fn binary(&mut self, operation: &'static str, operands: [(u64, Format); 2], result: (u64, Format)) {
        let values = operands.map(|(code, format)| Dyadic::of_code(&format, code));
        let [Some(x), Some(y)] = values else {
            self.finite = false;
            return;
        };
        let lowest_of = |(code, format): (u64, Format)| ulp(&format, &format, code);
        let lowest = operands.map(lowest_of);
        let (value, lowest) = match operation {
            "FTZ-Mul" => (&x * &y, lowest[0] + lowest[1]),
            _ => (&x + &y, lowest[0].min(lowest[1])),
        };
        let (code, format) = result;
        let Lowering { chains, add_accumulator_last, .. } = self.model.lowering;
        let outside = match operation {
            "add C" => add_accumulator_last.map(|last| (last, "d + c")),
            "add chains" => chains.map(|chains| (chains.merge, "chains")),
            _ => None,
        };
        if let Some((conversion, term)) = outside {
            self.rounded(Source::Lowering, term, (&value, lowest), (conversion, &format), code);
            return;
        }
        // FTZ-Mul and FTZ-Add: 0.5 ulp of the result, or all of it where it is flushed
        let conversion = self.model.conversion;
        let smallest = Dyadic::power(format.min_exponent().into());
        let term = if operation == "FTZ-Mul" { "product" } else { "sum" };
        if code & !format.sign_bit() == 0 {
            self.paper_bound += &(&smallest + &unit(conversion.rounding, ulp(&format, &format, code)));
            // a multiple of the smallest normal number is none of the numbers that are flushed
            if !x.is_zero() && !y.is_zero() && lowest < format.min_exponent().into() {
                self.bound(Source::OutputFlush, &smallest);
            }
            self.lost(Source::OutputFlush, || term.to_owned(), &value, &Dyadic::ZERO, (None, None));
        } else {
            self.paper_bound += &smallest;
            self.rounded(Source::AddMul, term, (&value, lowest), (conversion, &format), code);
        }
    }
}

impl Trace for Listener<'_> {
    const ON: bool = true;

    fn step(&mut self, step: Step) {
        match step {
            Step::Begin { elements, .. } => {
                self.begun += 1;
                self.terms = 1 + elements.len() / self.model.operation.group();
                self.largest = None;
                self.sum = (Dyadic::ZERO, i64::MAX);
            }
            Step::Special(_) => self.finite = false,
            Step::Aligned { maximum, exponent, terms, rounding, sum, .. } => {
                for term in &terms {
                    let (exact, kept) = (Dyadic::from(term.exact), Dyadic::from(term.kept));
                    if !exact.is_zero() && term.exact.exponent < term.kept.exponent {
                        self.bound(Source::FusedSum, &unit(rounding, term.kept.exponent.into()));
                    }
                    let last = (Some(term.kept.exponent.into()), None);
                    self.lost(Source::FusedSum, || term.name.to_string(), &exact, &kept, last);
                }
                if maximum != "e'" {
                    self.largest = self.largest.max(Some(exponent.into()));
                }
                self.sum = (sum.into(), sum.exponent.into());
            }
            Step::Exact { terms, .. } => {
                let exact = |term: &bitmma_engine::arithmetic::Term| Dyadic::from(term.exact);
                let lowest = terms.iter().filter(|term| term.exact.significand != 0);
                let lowest = lowest.map(|term| i64::from(term.exact.exponent)).min();
                let sum = terms.iter().fold(Dyadic::ZERO, |sum, term| &sum + &exact(term));
                self.sum = (sum, lowest.unwrap_or(i64::MAX));
            }
            Step::Converted { conversion, code, format, .. } => {
                if let (Some(largest), Some(bits)) = (self.largest, fraction_bits(&self.model.operation)) {
                    let of_c = accumulator_bits(&self.model.operation).unwrap_or(bits);
                    self.paper_bound += &Dyadic::power(largest - i64::from(bits)).times(self.terms - 1);
                    self.paper_bound += &Dyadic::power(largest - i64::from(of_c));
                }
                let (value, lowest) = std::mem::take(&mut self.sum);
                self.rounded(Source::OutputRounding, "d", (&value, lowest), (conversion, &format), code);
            }
            Step::Binary { operation, left, left_format, right, right_format, result, format } => {
                self.binary(operation, [(left, left_format), (right, right_format)], (result, format));
            }
            Step::Changed { from, from_format, to, to_format, .. } => {
                let Some(value) = Dyadic::of_code(&from_format, from) else {
                    self.finite = false;
                    return;
                };
                let narrow = self.model.lowering.narrow_output.unwrap_or(self.model.conversion);
                let lowest = ulp(&from_format, &from_format, from);
                self.rounded(Source::Lowering, "d", (&value, lowest), (narrow, &to_format), to);
            }
            _ => {}
        }
    }
}

/// F, for the operations that have one.
pub(crate) fn fraction_bits(operation: &Operation) -> Option<u32> {
    operation.number(Parameter::FractionBits)
}

/// F_c, for the operations that cut the accumulator to a number of bits of its own.
fn accumulator_bits(operation: &Operation) -> Option<u32> {
    operation.number(Parameter::AccumulatorBits)
}
