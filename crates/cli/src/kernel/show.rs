//! `bitmma kernel show`.

use bitmma_document::{Table, style};
use bitmma_ptx::{Compiler, Doubt, FormUse, Kernel, Program, Survey};
use serde::Serialize;

use super::source::Read;
use super::{Show, compiler};
use crate::failure::{Failure, Within};
use crate::{json, output};

pub(super) fn run(show: &Show) -> Result<(), Failure> {
    let Read { program, entry, target } = show.source.read()?;
    let file = show.source.file.display();
    let names: Vec<String> = match &entry {
        Some(name) => vec![name.clone()],
        None => program.entries().map(str::to_owned).collect(),
    };
    if names.is_empty() {
        bail!("{file}: the text has no .entry");
    }
    let target = target.as_deref();
    let mut compiler = compiler(&program, target, show.fusion.as_deref())?;
    if let (Compiler::Asked(tools) | Compiler::AskedIfPossible(tools), None) = (&compiler, &entry)
        && let Err(why) = program.ask(target, tools)
    {
        // each entry alone would fail as all together do
        compiler = match compiler {
            Compiler::Asked(_) => return Err(bitmma_ptx::Error::NotAsked(why)).within(&file),
            _ => Compiler::Predicted(Some(why)),
        };
    }
    let mut entries = vec![];
    for name in &names {
        entries.push(Entry::of(&program, name, target, &compiler).within(&file)?);
    }
    if show.json {
        return json::print(&json::object! {
            file: file.to_string(),
            target: target.unwrap_or(program.target()),
            version: program.version(),
            entries: entries.iter().map(Entry::json).collect::<Vec<_>>(),
        });
    }
    let texts: Vec<String> = entries.iter().map(Entry::text).collect();
    output::print(&texts.join("\n"))
}

/// An entry; without a kernel where a form is refused.
struct Entry {
    survey: Survey,
    kernel: Option<Kernel>,
}

impl Entry {
    fn of(
        program: &Program,
        name: &str,
        target: Option<&str>,
        compiler: &Compiler,
    ) -> Result<Entry, Failure> {
        let survey = program.survey(Some(name), target)?;
        let refused = survey.forms.iter().any(|form| form.standing.word() == "refused");
        let kernel = match refused {
            true => None,
            false => Some(program.compiled(Some(name), target, compiler)?),
        };
        Ok(Entry { survey, kernel })
    }

    fn doubts(&self) -> &[Doubt] {
        self.kernel.as_ref().map_or(&[], Kernel::doubts)
    }

    /// How many forms there are of each word.
    fn counts(&self) -> Vec<(&'static str, usize)> {
        let words = ["exact", "table", "model", "unordered", "refused"];
        let count = |word| self.survey.forms.iter().filter(|form| form.standing.word() == word).count();
        words.into_iter().map(|word| (word, count(word))).filter(|(_, count)| *count > 0).collect()
    }

    fn json(&self) -> impl Serialize + use<> {
        let form = |form: &FormUse| {
            json::object! {
                form: form.form.clone(), count: form.lines.len(), lines: form.lines.clone(), known: form.standing.word(),
                remark: form.standing.remark(),
            }
        };
        let doubt = |doubt: &Doubt| {
            json::object! { line: doubt.line, form: doubt.form.clone(), remark: doubt.why.clone() }
        };
        let parameters: Option<Vec<_>> = self.kernel.as_ref().map(|kernel| {
            let parameters = kernel.parameters();
            parameters
                .map(|one| json::object! { name: one.name.to_owned(), r#type: one.kind.to_owned() })
                .collect()
        });
        json::object! {
            entry: self.survey.name.clone(),
            block: self.kernel.as_ref().and_then(Kernel::required_block),
            parameters: parameters,
            forms: self.survey.forms.iter().map(form).collect::<Vec<_>>(),
            fused: self.kernel.as_ref().map(|kernel| kernel.rewrites().fused.clone()),
            folded: self.kernel.as_ref().map(|kernel| kernel.rewrites().folded.clone()),
            fusion: self.kernel.as_ref().map(|kernel| kernel.rewrites().fusion.word()),
            fusion_remark: self.kernel.as_ref().map(|kernel| kernel.rewrites().fusion.remark().to_owned()),
            doubtful: self.doubts().iter().map(doubt).collect::<Vec<_>>(),
        }
    }

    fn text(&self) -> String {
        let Survey { name, target, forms } = &self.survey;
        let mut text = format!("{} for {target}", style::strong(name));
        if let Some(kernel) = &self.kernel {
            if let Some([x, y, z]) = kernel.required_block() {
                text += &format!(", blocks of {x}, {y}, {z} threads");
            }
            text += "\n\n";
            let mut table = Table::new(&["parameter", "type"]);
            for parameter in kernel.parameters() {
                table.row([parameter.name.to_owned(), parameter.kind.to_owned()]);
            }
            text += &table.render(crate::layout::width());
        } else {
            text += "\n";
        }
        let mut table = Table::new(&["form", ">count", "known", "line", "remark"]).less(&[3]);
        for form in forms {
            let word = form.standing.word();
            table.row([
                form.form.clone(),
                form.lines.len().to_string(),
                if word == "refused" { style::lost(word) } else { word.to_owned() },
                form.lines.first().map_or(String::new(), u32::to_string),
                form.standing.remark(),
            ]);
        }
        text += &format!("\n{}\n", table.render(crate::layout::width()));
        let counts: Vec<String> =
            self.counts().iter().map(|(word, count)| format!("{count} {word}")).collect();
        text += &format!("{}: {}\n", output::counted(forms.len(), "form"), counts.join(", "));
        if let Some(kernel) = &self.kernel {
            let rewrites = kernel.rewrites();
            text += &format!("fusion: {}\n", rewrites.fusion);
            let fused = rewrites.fused.iter().map(|(product, addition)| format!("{product} into {addition}"));
            text += &format!("fused by ptxas, by lines: {}\n", listed(fused));
            text += &format!(
                "folded by ptxas, by lines: {}\n",
                listed(rewrites.folded.iter().map(u32::to_string))
            );
        }
        for doubt in self.doubts() {
            text += &format!("{}: {doubt}\n", style::lost("doubtful"));
        }
        text
    }
}

/// With commas; `none` where there are none.
fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
