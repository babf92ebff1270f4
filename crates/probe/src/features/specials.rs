//! Signs of zero, infinities, NaN.

use bitmma_engine::formats::text::hex;
use bitmma_engine::formats::{Class, decode};
use bitmma_engine::{Case, Signature};

use crate::error::Error;
use crate::order::terms;

use super::{Observer, zero_text};

impl Observer<'_, '_> {
    pub(super) fn zeros(&mut self) -> Result<(), Error> {
        let Signature { a, b, c, d, k, .. } = *self.signature;
        let signs = |negative_products: bool, negative_c: bool| {
            let mut case = terms(self.signature, |_| None);
            // the other factor is one: the product is -0
            if negative_products && a.has_negative_zero() {
                case.a.fill(a.sign_bit());
                case.b.fill(b.one_code());
            } else if negative_products {
                case.b.fill(if b.has_negative_zero() { b.sign_bit() } else { 0 });
                case.a.fill(a.one_code());
            }
            if negative_c {
                case.c = c.sign_bit();
            }
            case
        };
        let one = 0.clamp(self.smallest_product(), self.large());
        let cancel = terms(self.signature, |leaf| match leaf {
            _ if leaf == k => Some((true, one)),
            0 => Some((false, one)),
            _ => None,
        });
        let observations = self.ask(vec![
            ("all products -0, c = -0".to_owned(), signs(true, true)),
            ("all products +0, c = -0".to_owned(), signs(false, true)),
            ("all products -0, c = +0".to_owned(), signs(true, false)),
            ("c = -x, p0 = x".to_owned(), cancel),
        ])?;
        let texts: Vec<String> = observations.iter().map(|one| zero_text(&d, one.answer)).collect();
        let value =
            format!("-0-0 = {}, +0-0 = {}, -0+0 = {}, x-x = {}", texts[0], texts[1], texts[2], texts[3]);
        self.note("signs of zero", value, observations);
        Ok(())
    }

    pub(super) fn specials(&mut self) -> Result<(), Error> {
        let Signature { a, b, c, d, k, .. } = *self.signature;
        let with = |change: &dyn Fn(&mut Case)| {
            let mut case = terms(self.signature, |leaf| (leaf == k).then_some((false, 0)));
            change(&mut case);
            case
        };
        let mut questions = Vec::new();
        if let Some(infinity) = c.infinity_code() {
            questions.push(("c = inf".to_owned(), with(&|case| case.c = infinity)));
            questions.push(("c = -inf".to_owned(), with(&|case| case.c = infinity | c.sign_bit())));
            if let Some(other) = a.infinity_code() {
                let product = |case: &mut Case, negative: bool| {
                    case.a[0] = other | if negative { a.sign_bit() } else { 0 };
                    case.b[0] = b.one_code();
                };
                questions.push(("p0 = inf".to_owned(), with(&|case| product(case, false))));
                questions.push((
                    "p0 = -inf, c = inf".to_owned(),
                    with(&|case| {
                        product(case, true);
                        case.c = infinity;
                    }),
                ));
                questions.push(("p0 = inf · 0".to_owned(), with(&|case| case.a[0] = other)));
            }
        }
        for (name, format, which) in [("a0", a, 0), ("b0", b, 1), ("c", c, 2)] {
            if let Some(nan) = format.nan_code() {
                questions.push((
                    format!("{name} = NaN"),
                    with(&|case| match which {
                        0 => case.a[0] = nan,
                        1 => case.b[0] = nan,
                        _ => case.c = nan,
                    }),
                ));
            }
        }
        if let (Some(nan), Some(infinity)) = (c.nan_code(), c.infinity_code()) {
            questions.push(("c = -NaN".to_owned(), with(&|case| case.c = nan | c.sign_bit())));
            questions.push((
                "c = signalling NaN".to_owned(),
                with(&|case| case.c = infinity | (1 << c.padding_bits)),
            ));
        }
        let observations = self.ask(questions)?;
        let mut nans: Vec<u64> =
            observations.iter().map(|one| one.answer).filter(|&code| d.is_nan(code)).collect();
        nans.sort_unstable();
        nans.dedup();
        self.note_each("infinity and NaN", observations, ", ", |one| {
            let text = match decode(&d, one.answer).class {
                Class::Nan => "NaN",
                Class::Infinity if decode(&d, one.answer).negative => "-inf",
                Class::Infinity => "inf",
                _ => "a number",
            };
            format!("{}: {text}", one.asked)
        });
        let shown: Vec<String> = nans.iter().map(|&code| hex(&d, code)).collect();
        let value = match shown.as_slice() {
            [] => "no NaN was seen".to_owned(),
            [one] => format!("{one}, whatever it comes from"),
            several => format!("several: {}", several.join(", ")),
        };
        self.note("code of NaN", value, Vec::new());
        Ok(())
    }
}
