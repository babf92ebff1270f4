//! Recorded decisions of a library: which configuration it chose for which call (rules 34 to 36).
//!
//! Three kinds of file are read: mmaemu's table (`mmaemu-splitk-table/1`: an `.npz` with a JSON beside it), CSV with
//! `# key: value` lines at its head, and one JSON line a query as `scripts/collect-calls` prints them.

use std::collections::BTreeMap;
use std::path::Path;

use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, Format};
use bitmma_files::npz::Archive;
use csv::{ErrorKind, ReaderBuilder, Trim};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::cublaslt::{Capability, Config, Query};
use crate::error::{Error, text_of};
use crate::torch::format_of;

/// A decision: what it depends on beside device and library (rule 1), and the fields of the configuration that a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Row {
    #[serde(rename = "M")]
    m: u32,
    #[serde(rename = "N")]
    n: u32,
    #[serde(rename = "K")]
    k: u32,
    #[serde(rename = "fa", deserialize_with = "code_of_name")]
    a: u8,
    #[serde(rename = "fb", deserialize_with = "code_of_name")]
    b: u8,
    #[serde(deserialize_with = "code_of_name")]
    out: u8,
    fast: u8,
    #[serde(rename = "ws")]
    workspace: Option<u64>,
    #[serde(rename = "splitK")]
    splitk: u16,
    reduction: u8,
    custom: u8,
    #[serde(rename = "algo")]
    id: u16,
    stages: u16,
}

/// Codes of A's, B's and D's format, fast accumulation, and workspace.
type Setting = (u8, u8, u8, bool, Option<u64>);

impl Row {
    fn setting(&self) -> Setting {
        (self.a, self.b, self.out, self.fast != 0, self.workspace)
    }

    /// Setting, K, M and N, by which rows are sorted.
    fn key(&self) -> (Setting, u32, u32, u32) {
        (self.setting(), self.k, self.m, self.n)
    }
}

/// Recorded decisions of one device and library.
#[derive(Clone, Debug)]
pub struct Table {
    /// The device, as its driver names it.
    pub device: String,
    /// Its compute capability.
    pub capability: Capability,
    /// Its multiprocessors.
    pub multiprocessors: Option<usize>,
    /// The library's version.
    pub version: String,
    /// Who asked.
    pub by: String,
    rows: Vec<Row>,
}

/// What a table says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The configuration that the library chose.
    Recorded(Config),
    /// The call is not in the table, but beyond every call that was split (rule 35).
    Unsplit,
    /// The table does not say.
    Missing,
}

/// Codes of formats in a table.
const FORMATS: [Format; 5] = [F32, BF16, F16, E4M3, E5M2];

fn code(format: Format) -> Option<u8> {
    FORMATS.iter().position(|&known| known == format).map(|position| position as u8)
}

fn code_of_name<'d, D: Deserializer<'d>>(from: D) -> Result<u8, D::Error> {
    let name = String::deserialize(from)?;
    let known = format_of(&name).and_then(code);
    known.ok_or_else(|| D::Error::custom(format!("'{name}' is not a format of a call")))
}

impl Table {
    /// Reads a table; the kind of file follows from its name and its first character.
    pub fn read(path: &Path) -> Result<Table, Error> {
        if path.extension().is_some_and(|extension| extension == "npz") {
            return mmaemu(path);
        }
        let text = text_of(path, "a table of decisions (.npz, CSV, or lines of JSON)")?;
        let first = text.trim_start().chars().next();
        let parsed = if first == Some('{') { json_lines(&text) } else { Table::from_csv(&text) };
        parsed.map_err(|problem| Error::file(path, problem))
    }

    /// A table from CSV: `# device`, `# capability`, `# cublaslt` and, where known, `# sm_count`, `# workspace` (of
    /// every row, if there is no column `ws`) and `# by`; columns M, N, K, fa, fb, out, fast, splitK, reduction,
    /// custom, algo, stages.
    pub fn from_csv(text: &str) -> Result<Table, String> {
        let head: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.strip_prefix('#')?.split_once(':'))
            .map(|(key, value)| (key.trim(), value.trim()))
            .collect();
        let value =
            |key: &str| head.get(key).copied().ok_or_else(|| format!("no line '# {key}: …' at the head"));
        let workspace = head.get("workspace").map(|text| text.parse());
        let workspace = workspace.transpose().map_err(|_| "# workspace is not a number")?;
        let mut reader =
            ReaderBuilder::new().comment(Some(b'#')).trim(Trim::All).from_reader(text.as_bytes());
        let columns = reader.headers().map_err(|error| error.to_string())?.clone();
        let mut rows: Vec<Row> = Vec::new();
        for row in reader.deserialize() {
            rows.push(row.map_err(|error| in_words(&error, &columns))?);
        }
        rows.iter_mut().for_each(|row| row.workspace = row.workspace.or(workspace));
        if rows.iter().any(|row| row.workspace.is_none()) {
            return Err("neither a column ws nor # workspace".to_owned());
        }
        rows.sort_unstable_by_key(Row::key);
        let same = |[one, other]: &&[Row; 2]| one.key() == other.key() && one != other;
        if let Some([Row { m, n, k, .. }, _]) = rows.array_windows().find(same) {
            return Err(format!("M = {m}, N = {n}, K = {k} appears twice with different results"));
        }
        Ok(Table {
            device: value("device")?.to_owned(),
            capability: Capability::parse(value("capability")?).map_err(|error| error.to_string())?,
            multiprocessors: head.get("sm_count").and_then(|text| text.parse().ok()),
            version: value("cublaslt")?.to_owned(),
            by: head.get("by").copied().unwrap_or("").to_owned(),
            rows,
        })
    }

    /// How many decisions it holds.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What the library chose for a call with that many bytes of workspace. `infer` allows the envelope (rule 35).
    pub fn answer(&self, query: &Query, workspace: u64, infer: bool) -> Answer {
        let (m, n, k) = query.shape;
        let codes = (code(query.a), code(query.b), code(query.out));
        let sizes = (u32::try_from(m), u32::try_from(n), u32::try_from(k));
        let ((Some(a), Some(b), Some(out)), (Ok(m), Ok(n), Ok(k))) = (codes, sizes) else {
            return Answer::Missing;
        };
        let setting = (a, b, out, query.fast, Some(workspace));
        if let Ok(found) = self.rows.binary_search_by_key(&(setting, k, m, n), Row::key) {
            let row = self.rows[found];
            return Answer::Recorded(Config {
                id: Some(row.id.into()),
                splitk: Some(row.splitk.into()),
                reduction: Some(row.reduction.into()),
                custom: Some(row.custom.into()),
                stages: Some(row.stages.into()),
                ..Config::default()
            });
        }
        if infer && self.beyond(setting, (m, n, k)) { Answer::Unsplit } else { Answer::Missing }
    }

    /// Whether a call is beyond every call of its setting that was split.
    fn beyond(&self, setting: Setting, (m, n, k): (u32, u32, u32)) -> bool {
        let start = self.rows.partition_point(|row| row.setting() < setting);
        let rows = &self.rows[start..];
        let rows = &rows[..rows.partition_point(|row| row.setting() == setting)];
        if rows.is_empty() {
            return false;
        }
        let area = |m: u32, n: u32| u64::from(m) * u64::from(n);
        let largest = |rows: &[Row]| {
            rows.iter().filter(|row| row.splitk > 1).map(|row| area(row.m, row.n)).max().unwrap_or(0)
        };
        match self.capability {
            Capability::Sm89 => area(m, n) > 2 * largest(rows),
            Capability::Sm90 if (1024..=4_194_304).contains(&k) => {
                // the smallest K of the grid that is not below this one
                let from = rows.partition_point(|row| row.k < k);
                let Some(grid) = rows.get(from).map(|row| row.k) else { return false };
                let to = rows.partition_point(|row| row.k <= grid);
                area(m, n) > largest(&rows[from..to])
            }
            _ => false,
        }
    }
}

/// What is wrong with a row, and in which column.
fn in_words(error: &csv::Error, columns: &csv::StringRecord) -> String {
    let ErrorKind::Deserialize { pos, err } = error.kind() else { return error.to_string() };
    let line = pos.as_ref().map_or(0, csv::Position::line);
    let column = err.field().and_then(|field| columns.get(field as usize));
    format!("line {line}: {}{}", column.map_or(String::new(), |name| format!("{name}: ")), err.kind())
}

/// Columns of a table, and the names of the codes that mmaemu's archives have there.
const COLUMNS: [(&str, &[&str]); 13] = [
    ("M", &[]),
    ("N", &[]),
    ("K", &[]),
    ("fa", &["e4m3", "e5m2"]),
    ("fb", &["e4m3", "e5m2"]),
    ("out", &["f32", "bf16", "f16", "e4m3", "e5m2"]),
    ("fast", &["0", "1"]),
    ("ws", &["0", "1048576", "4194304", "33554432"]),
    ("splitK", &[]),
    ("reduction", &[]),
    ("custom", &[]),
    ("algo", &[]),
    ("stages", &[]),
];

/// Whose decisions they are, as both kinds of JSON say.
#[derive(Deserialize)]
struct Device {
    #[serde(alias = "gpu")]
    device: String,
    sm_count: usize,
    capability: Value,
    cublaslt: Value,
}

impl Device {
    /// The head of a table as CSV.
    fn head(&self, by: &str) -> String {
        let Device { device, sm_count, .. } = self;
        let (capability, cublaslt) = (plain(&self.capability), plain(&self.cublaslt));
        let columns = COLUMNS.map(|(name, _)| name).join(",");
        format!(
            "# device: {device}\n# capability: {capability}\n# sm_count: {sm_count}\n# cublaslt: {cublaslt}\n# by: {by}\n{columns}\n"
        )
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join("."),
        other => other.to_string(),
    }
}

/// mmaemu's JSON beside the archive, as far as it is needed.
#[derive(Deserialize)]
struct Beside {
    format: Option<String>,
    profile_device: Device,
}

/// Reads mmaemu's table (rule 34).
fn mmaemu(path: &Path) -> Result<Table, Error> {
    let archive = Archive::open(path)?;
    let json = path.with_extension("json");
    let text = text_of(&json, "the JSON beside mmaemu's table")?;
    let beside: Beside = serde_json::from_str(&text).map_err(|error| Error::file(&json, error))?;
    if let Some(format) = beside.format.filter(|format| format != "mmaemu-splitk-table/1") {
        return Err(Error::file(&json, format!("format is {format}; mmaemu-splitk-table/1 is read")));
    }
    let arrays = COLUMNS.iter().map(|(name, _)| archive.array(name)).collect::<Result<Vec<_>, _>>()?;
    let count = arrays[0].len();
    if let Some(((name, _), array)) = COLUMNS.iter().zip(&arrays).find(|(_, array)| array.len() != count) {
        return Err(Error::file(path, format!("{name} has {} rows; M has {count}", array.len())));
    }
    let by = format!("mmaemu's table {}", path.file_name().unwrap_or_default().to_string_lossy());
    let mut csv = beside.profile_device.head(&by);
    for row in 0..count {
        for ((name, codes), array) in COLUMNS.iter().zip(&arrays) {
            let number = array.get(row) as i64;
            match codes.get(number as usize) {
                Some(code) => csv += code,
                None if codes.is_empty() => csv += &number.to_string(),
                None => {
                    let problem = format!("{name} is {number}; 0 to {} is read", codes.len() - 1);
                    return Err(Error::file(path, problem));
                }
            }
            csv.push(',');
        }
        csv.pop();
        csv.push('\n');
    }
    Table::from_csv(&csv).map_err(|problem| Error::file(path, problem))
}

/// One line of the collector.
#[derive(Deserialize)]
struct Line {
    #[serde(flatten)]
    device: Device,
    workspace: u64,
    #[serde(rename = "M")]
    m: usize,
    #[serde(rename = "N")]
    n: usize,
    #[serde(rename = "K")]
    k: usize,
    a: String,
    b: String,
    out: String,
    fast: bool,
    status: i64,
    config: Option<Config>,
    /// Of rows or blocks; a table is of calls with one scale for each operand.
    scales: Option<String>,
}

/// Reads what `scripts/collect-calls` prints; lines without a configuration are left out.
fn json_lines(text: &str) -> Result<Table, String> {
    let (mut head, mut csv) = (None, String::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))?;
        let own = line.device.head("scripts/collect-calls");
        if *head.get_or_insert_with(|| own.clone()) != own {
            return Err(format!("line {}: another device or library than on the first line", index + 1));
        }
        if let Some(config) = line.config.filter(|_| line.status == 0 && line.scales.is_none()) {
            let Line { m, n, k, a, b, out, workspace, .. } = line;
            let fields = [config.splitk, config.reduction, config.custom, config.id, config.stages];
            let [splitk, reduction, custom, id, stages] = fields.map(|field| field.unwrap_or(0));
            let fast = u8::from(line.fast);
            csv += &format!(
                "{m},{n},{k},{a},{b},{out},{fast},{workspace},{splitk},{reduction},{custom},{id},{stages}\n"
            );
        }
    }
    Table::from_csv(&(head.ok_or("it holds no query")? + &csv))
}
