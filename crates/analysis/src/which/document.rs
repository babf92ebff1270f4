//! What was found, in words.

use bitmma_document::{Document, Table, counted, style};
use bitmma_engine::shape_text;

use super::{Match, Row, Together, Which};

/// Rows that are shown where no model matches, and orders of a group that are listed.
const SHOWN: usize = 12;
/// Those that do not match that are shown beside some that do.
const OTHERS: usize = 3;
/// Inputs, and groups with equal results, that are listed.
const LISTED: usize = 4;
/// Orders of a row that are named.
const NAMED: usize = 3;

/// The first of some texts, and how many more there are.
fn first(words: impl ExactSizeIterator<Item = String>, most: usize, between: &str) -> String {
    let more = words.len().saturating_sub(most);
    let more = (more > 0).then(|| format!("{more} more"));
    words.take(most).chain(more).collect::<Vec<_>>().join(between)
}

impl Row {
    /// The chips that compute so.
    fn on(&self) -> String {
        match (self.architectures.is_empty(), self.threads) {
            (true, _) => "any GPU".to_owned(),
            (false, true) => format!("{}; threads of any GPU", self.units().join(", ")),
            (false, false) => self.units().join(", "),
        }
    }

    /// The first instruction, and how many more there are.
    fn name(&self) -> String {
        match (&self.target, self.instructions.len()) {
            (None, _) => "fused multiply-adds of threads".to_owned(),
            (Some(target), 1) => target.clone(),
            (Some(target), all) => format!("{target} and {} more", all - 1),
        }
    }

    /// The orders that match, or the nearest.
    fn how(&self) -> String {
        match self.matching.is_empty() {
            true => self.nearest.to_string(),
            false => first(self.matching.iter().map(|one| self.words(one)), NAMED, "\n"),
        }
    }
}

impl Which {
    /// Who computed D; what tells those that match apart, and what does not.
    pub fn document(&self) -> Document {
        let matching = self.rows.iter().filter(|row| !row.matching.is_empty()).count();
        let shown = if matching > 0 { matching + OTHERS } else { SHOWN };
        let rest = self.rows.len().saturating_sub(shown);
        let note = format!("{} with fewer elements that agree (--json has all)", counted(rest, "model"));
        let mut table = Table::new(&["model", "chips", ">agree", "order along K"]).note(if rest > 0 {
            &note
        } else {
            ""
        });
        for row in self.rows.iter().take(shown) {
            let share = format!("{} of {}", row.agreeing, row.compared);
            let share = if row.matching.is_empty() { share } else { style::good(&share) };
            table.row([row.name(), row.on(), share, row.how()]);
        }
        let document = Document::new(self.answer(matching)).text(self.tried()).table(table);
        self.alike(document.text(self.apart()))
    }

    /// What was asked, and how long it took.
    fn tried(&self) -> String {
        let of = |rows, columns, format| format!("{} {format}", shape_text((self.blocks, rows, columns)));
        format!(
            "{} · {} + {} = {}: {} and {} tried in {:.1} s",
            of(self.m, self.k, self.a),
            of(self.k, self.n, self.b),
            self.c.map_or("0".to_owned(), |c| of(self.m, self.n, c)),
            of(self.m, self.n, self.d),
            counted(self.models, "model"),
            counted(self.candidates, "order"),
            self.seconds
        )
    }

    /// The first sentence.
    fn answer(&self, matching: usize) -> String {
        let orders: usize = self.rows.iter().map(|row| row.matching.len()).sum();
        let Some(row) = self.rows.first() else { return style::lost("none of them computes D") };
        let (name, on) = (row.name(), row.on());
        let by = style::good("D was computed by");
        match (matching, orders) {
            (0, _) => {
                let other = row.first.as_ref().map_or(String::new(), |first| {
                    let [block, row, column] = first.element;
                    let block = if self.blocks > 1 { format!("{block}, ") } else { String::new() };
                    let (computed, observed) = (&first.computed, &first.observed);
                    let place = format!("D[{block}{row}, {column}]");
                    format!("; its first that differs is {place}: it computes {computed}, D has {observed}")
                });
                let none = style::lost("none of them computes D");
                let (nearest, agreeing, compared) = (&row.nearest, row.agreeing, row.compared);
                format!(
                    "{none}. The nearest is {name} ({on}), {nearest}: {agreeing} of {compared} elements agree{other}."
                )
            }
            (1, 1) => format!("{by}: {name} ({on}), {}.", row.matching[0]),
            (1, _) => format!("{by}: {name} ({on}), in one of {orders} orders."),
            _ => format!(
                "{}: {matching} models compute it, in {orders} orders altogether.",
                style::good("found")
            ),
        }
    }

    fn place(&self, one: &Match) -> String {
        let row = &self.rows[one.row];
        format!("{}, {}", row.name(), row.words(&one.configuration))
    }

    /// Inputs that tell those that match apart.
    fn apart(&self) -> String {
        if self.tests.is_empty() {
            return String::new();
        }
        let heading = "This data does not tell them apart. These inputs do (every other element is zero, scale factors are one):";
        let tests = self.tests.iter().take(LISTED).map(|test| {
            let results = test.results.iter().map(|one| {
                let of = first(one.of.iter().map(|one| self.place(one)), NAMED, "; ");
                format!("\n    → {}: {of}", style::strong(&one.result.to_string()))
            });
            format!("\n  {}{}", test.words, results.collect::<String>())
        });
        heading.to_owned() + &tests.collect::<String>()
    }

    /// Those that give the same, and those that no input tells apart.
    fn alike(&self, mut document: Document) -> Document {
        let listed = |heading: String, all: &[&Match]| {
            format!(
                "{heading}:\n{}",
                first(all.iter().map(|one| format!("  {}", self.place(one))), SHOWN, "\n")
            )
        };
        for Together { groups, searched } in self.together.iter().take(LISTED) {
            for group in groups.iter().filter(|group| group.len() > 1) {
                let all: Vec<&Match> = group.iter().collect();
                document = document.text(listed(style::good("the same bits for every input"), &all));
            }
            if groups.len() > 1 {
                let why = match searched {
                    true => "no input was found that tells these apart",
                    false => "not told apart by these inputs",
                };
                let (same, apart): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.len() > 1);
                let firsts: Vec<&Match> = same.into_iter().chain(apart).map(|group| &group[0]).collect();
                document = document.text(listed(why.to_owned(), &firsts));
            }
        }
        let more = self.together.len().saturating_sub(LISTED);
        let more = (more > 0).then(|| {
            format!("{} of orders with equal results (--json has all)", counted(more, "more group"))
        });
        document.text(more.map_or(String::new(), |text| style::dim(&text)))
    }
}
