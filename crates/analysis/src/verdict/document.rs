//! A comparison in words.

use bitmma_document::{Document, Table, style};

use super::{Diff, Share, Verdict};
use crate::describe::input;
use crate::dot::Dot;

impl Diff {
    /// Whether they differ, and on which input; how often; in which parameters.
    pub fn document(&self) -> Document {
        let share = self.share.map_or(String::new(), |share| {
            let Share { normal, adversarial, cases_normal, cases_adversarial } = share;
            format!("of {cases_normal} inputs from N(0,1), {normal} differ; of {cases_adversarial} adversarial ones, {adversarial}")
        });
        let mut table = Table::new(&["parameter", "first", "second"]);
        for one in &self.differences {
            table.row([style::strong(&one.parameter), one.in_left.clone(), one.in_right.clone()]);
        }
        let of = if self.are_models() { "models" } else { "plans" };
        let heading = match (self.differences.is_empty(), &self.verdict) {
            (true, _) => String::new(),
            (false, Verdict::Same(_)) => "written differently, without effect:".to_owned(),
            (false, _) => format!("what differs in the {of}:"),
        };
        let page = Document::new(self.answer()).text(share).table(table.title(&heading));
        let Verdict::Differs(case, _) = &self.verdict else { return page };
        if !self.are_models() {
            return page;
        }
        let sides = [&self.left, &self.right].into_iter().zip(&self.models);
        sides.fold(page, |page, (name, model)| match (Dot { name, model, case }).document() {
            Ok(dot) => page.with(dot),
            Err(_) => page, // it was computed, and has its steps
        })
    }

    fn are_models(&self) -> bool {
        self.models.len() == 2
    }

    /// The verdict, and what each side gives.
    fn answer(&self) -> String {
        let (reason, k) = (&self.reason, self.k);
        let answer = match &self.verdict {
            Verdict::Same(_) if self.are_models() => {
                let alike = self.models[0].nan_code == self.models[1].nan_code;
                let codes = if alike { "" } else { "; only the codes of NaN differ" };
                format!("{}: {reason}{codes}", style::good("same model: the same bits for every input"))
            }
            Verdict::Same(_) => format!("{}: {reason}", style::good("the same bits for every input")),
            Verdict::Unknown(_) => format!("no difference found: {reason}"),
            Verdict::Differs(case, _) => {
                let input = input(&self.models[0], case);
                format!("{} at K = {k}: {reason}\n  {input}", style::lost("they differ"))
            }
        };
        let results = self.results.as_ref().map(|results| [&results.of_left, &results.of_right]);
        let sides = [&self.left, &self.right].into_iter().enumerate().map(|(at, name)| match results {
            Some(results) => format!("\n  {name}: {}", style::strong(&results[at].to_string())),
            None => format!("\n  {name}"),
        });
        answer + &sides.collect::<String>()
    }
}
