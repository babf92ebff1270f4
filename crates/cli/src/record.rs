//! `bitmma record`: what a unit returns, as a recording.

use std::io::{BufWriter, Seek, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use bitmma_engine::{Case, Signature};
use bitmma_verify::asking;
use bitmma_verify::directed::Directed;
use bitmma_verify::inputs::{Family, case};
use bitmma_verify::open::{KINDS, check_model, model_named, read_model};
use bitmma_verify::origin::Origin;
use bitmma_verify::recording::{self, Answer};
use tempfile::SpooledTempFile;

use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::recorded::{names, write_case, write_head};
use crate::unit::LimitArguments;
use crate::{output, target, whole};

const HELP: &str = "\
A recording has the directed cases of every feature, then random ones of ten families in turn, under --seed. Its head \
names unit, device, driver, date, version and seed. If the unit has a name of the catalogue, or --model gives its \
model, `bitmma replay` compares the recording with that model, without the unit.

Example:
  bitmma record 'exec:ssh gpu-box ./unit' \\
         --out recordings/hardware/mine.csv --by 'A. Person'";

/// Writes a unit's results as a recording: directed cases and random ones
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = format!("{HELP}\n\n{KINDS}"))]
pub(crate) struct Arguments {
    /// Unit; with INSTRUCTION, the part of its name before that
    #[arg(value_name = "UNIT")]
    unit: String,
    /// Instructions of the unit
    #[arg(value_name = "INSTRUCTION")]
    instructions: Vec<String>,
    /// File for the recording [default: standard output]
    #[arg(long, short, value_name = "CSV")]
    out: Option<PathBuf>,
    /// Random dot products of each instruction, at most 10000000
    #[arg(long, visible_aliases = ["cases", "count"], value_name = "N", default_value = "200", value_parser = count::<u64>(0..=MAX_SAMPLES))]
    samples: u64,
    /// Most directed cases of each instruction
    ///
    /// They are spread evenly over all that exist.
    #[arg(long, value_name = "N", default_value = "400", value_parser = count::<usize>(0..=MOST))]
    directed: usize,
    /// Seed of the random dot products
    #[arg(long, default_value = "0", value_parser = count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Model of a unit that is not in the catalogue, for the head
    #[arg(long, value_name = "TOML")]
    model: Option<PathBuf>,
    /// Name of who records, for the head
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    revision: target::RevisionArgument,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Lines of a recording that are kept in memory, in bytes.
const IN_MEMORY: usize = 16 << 20;

/// Random dot products of an instruction at most.
const MAX_SAMPLES: u64 = 10_000_000;

/// Asks and writes.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if (arguments.samples, arguments.directed) == (0, 0) {
        bail!("--samples and --directed are 0; one dot product is needed at least");
    }
    let base = arguments.unit.trim_end_matches('/');
    let units: Vec<String> = match &arguments.instructions[..] {
        [] => vec![arguments.unit.clone()],
        some => some.iter().map(|instruction| format!("{base}/{instruction}")).collect(),
    };
    if let Some(path) = &arguments.out {
        whole::check(path).within(path.display())?;
    }
    let given = arguments.model.as_deref().map(read_model).transpose()?;
    // on the disk where it is long: the head comes first, and the units say what stands in it
    let mut body = SpooledTempFile::new(IN_MEMORY);
    let mut head = vec![
        format!("bitmma {} record; date: {}; seed: {}", env!("CARGO_PKG_VERSION"), today(), arguments.seed),
        format!("by: {}", arguments.by.as_deref().unwrap_or("not said")),
    ];
    let mut total = 0;
    for specification in &units {
        let unit = arguments.limits.open(specification, arguments.revision.revision)?;
        let signature = unit.signature().clone();
        let about = unit.about();
        let (architecture, instruction) = names(&signature.name);
        if Origin::named(architecture, instruction).is_err() {
            let own = model_named(&signature.name, arguments.revision.revision).ok(); // of model:FILE
            match given.clone().or(own) {
                Some(model) => {
                    check_model(&model, &signature)?;
                    head.push(recording::model_comment(architecture, instruction, &model));
                }
                None => output::note(&format!(
                    "'{}' is not an instruction of the catalogue: `bitmma replay` will ask for its model; --model \
                     puts it into the head",
                    signature.name
                )),
            }
        } else if let Some(path) = &arguments.model {
            bail!(
                "--model is {}; {} is in the catalogue, and a recording of it names no other model (`bitmma replay --model` takes one)",
                path.display(),
                signature.name
            );
        }
        let cases = Cases::new(&signature, arguments.directed, arguments.samples, arguments.seed);
        head.push(format!(
            "unit: {}; {}, {} random",
            signature.name,
            output::counted(cases.directed(), "directed case"),
            arguments.samples
        ));
        head.extend(about.device.map(|device| format!("device: {device}")));
        head.extend(about.driver.map(|driver| format!("driver: {driver}")));
        let mut target = BufWriter::new(&mut body);
        asking::ask(
            &*unit,
            cases.len(),
            |index| cases.case(index),
            |some, answers| {
                for (case, d) in some.iter().zip(answers) {
                    write_case(&mut target, &signature, case, Answer::Code(d))?;
                }
                Ok::<(), Failure>(())
            },
        )?;
        target.flush()?;
        drop(target);
        total += cases.len();
    }
    body.rewind()?;
    let mut written = |target: &mut dyn Write| -> Result<(), Failure> {
        write_head(target, &head)?;
        std::io::copy(&mut body, target)?;
        Ok(())
    };
    match &arguments.out {
        Some(path) => {
            whole::write(path, |file| Ok(written(file)?)).within(path.display())?;
            output::print(&format!(
                "{} of {} in {}\n",
                output::counted(total, "dot product"),
                output::counted(units.len(), "unit"),
                path.display()
            ))?;
        }
        None => output::stream(written)?,
    }
    Ok(Outcome::Agrees)
}

/// At most that many of the directed cases, spread evenly over all there are, then random ones of every family in turn.
/// Each is made when it is asked for.
pub(crate) struct Cases<'s> {
    signature: &'s Signature,
    all: Directed,
    directed: usize,
    random: u64,
    seed: u64,
}

impl<'s> Cases<'s> {
    /// At most `directed` directed cases and `random` others.
    pub(crate) fn new(signature: &'s Signature, directed: usize, random: u64, seed: u64) -> Cases<'s> {
        let all = Directed::of(signature);
        Cases { signature, directed: directed.min(all.len()), all, random, seed }
    }

    /// At most `directed` directed cases, and as many random ones as make `count` of both.
    pub(crate) fn filled_up(signature: &'s Signature, directed: usize, count: u64, seed: u64) -> Cases<'s> {
        let cases = Cases::new(signature, directed, 0, seed);
        Cases { random: count - cases.directed as u64, ..cases }
    }

    /// How many.
    pub(crate) fn len(&self) -> u64 {
        self.directed as u64 + self.random
    }

    /// How many of them are directed.
    pub(crate) fn directed(&self) -> usize {
        self.directed
    }

    /// The seed of the others.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Case `index`.
    pub(crate) fn case(&self, index: u64) -> Case {
        match index.checked_sub(self.directed as u64) {
            None => self.all.case(index as usize * self.all.len() / self.directed),
            Some(random) => {
                let families = Family::ALL.len() as u64;
                let family = Family::ALL[(random % families) as usize];
                case(self.signature, self.signature.k, family, self.seed, random / families)
            }
        }
    }
}

/// Today's date, UTC, as in 2026-11-21.
pub(crate) fn today() -> String {
    let days = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86400);
    date(days as i64)
}

/// The civil date that many days after 1970-01-01 (Howard Hinnant, chrono-Compatible Low-Level Date Algorithms).
fn date(days: i64) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153; // from March on
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, carried) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year_of_era + era * 400 + carried)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates() {
        for (days, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_778, "2026-11-21"),
        ] {
            assert_eq!(date(days), text);
        }
    }
}
