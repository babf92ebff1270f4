//! Recorded decisions of a library: which configuration it chose for which call (rules 34 to 36).
//!
//! Three kinds of file are read: mmaemu's table (`mmaemu-splitk-table/1`: an `.npz` with a JSON beside it), CSV with
//! `# key: value` lines at its head, and one JSON line a query as `scripts/collect-calls` prints them.

use std::collections::BTreeMap;
use std::path::Path;

use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, Format};
use serde::Deserialize;

use crate::cublaslt::{Capability, Config, Query};
use crate::error::{Error, text_of};
use crate::torch::format_of;
use bitmma_files::npz::{Archive, Array};

/// What a decision depends on beside device and library (rule 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    setting: Setting,
    k: u32,
    m: u32,
    n: u32,
}

/// Formats, accumulation and workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Setting {
    a: u8,
    b: u8,
    out: u8,
    fast: bool,
    workspace: u64,
}

/// The fields of a configuration that a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    id: i16,
    splitk: u16,
    reduction: u8,
    custom: u8,
    stages: i16,
}

/// The fields of a configuration in a table, with the largest number that each may be.
const FIELDS: [(&str, u64); 5] = [
    ("algo", i16::MAX as u64),
    ("splitK", u16::MAX as u64),
    ("reduction", u8::MAX as u64),
    ("custom", u8::MAX as u64),
    ("stages", i16::MAX as u64),
];
/// The largest M, N and K in a table.
const MOST_SIZE: u64 = u32::MAX as u64;

impl Choice {
    /// Of [`FIELDS`], none of them larger than it may be.
    fn new([id, splitk, reduction, custom, stages]: [u64; FIELDS.len()]) -> Choice {
        let (id, stages, splitk) = (id as i16, stages as i16, splitk as u16);
        Choice { id, splitk, reduction: reduction as u8, custom: custom as u8, stages }
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
    rows: Vec<(Key, Choice)>,
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
/// Workspaces of mmaemu's tables, by code.
const WORKSPACES: [u64; 4] = [0, 1 << 20, 4 << 20, 32 << 20];

fn code(format: Format) -> Option<u8> {
    FORMATS.iter().position(|&known| known == format).map(|position| position as u8)
}

fn setting(query: &Query, workspace: u64) -> Option<Setting> {
    let (a, b, out) = (code(query.a)?, code(query.b)?, code(query.out)?);
    Some(Setting { a, b, out, fast: query.fast, workspace })
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
        let mut head: BTreeMap<&str, &str> = BTreeMap::new();
        let mut columns: Vec<&str> = Vec::new();
        let mut rows = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if let Some(comment) = line.strip_prefix('#') {
                if let Some((key, value)) = comment.split_once(':') {
                    head.insert(key.trim(), value.trim());
                }
                continue;
            }
            if columns.is_empty() {
                columns = line.split(',').map(str::trim).collect();
                continue;
            }
            if line.trim().is_empty() {
                continue;
            }
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let wrong = |what: &str| format!("line {}: {what}", index + 1);
            if fields.len() != columns.len() {
                return Err(wrong(&format!("{} fields; the header has {}", fields.len(), columns.len())));
            }
            let text = |name: &str| columns.iter().position(|&column| column == name).map(|at| fields[at]);
            let number = |name: &str| -> Result<u64, String> {
                let text = text(name).ok_or_else(|| wrong(&format!("no column {name}")))?;
                text.parse().map_err(|_| wrong(&format!("{name} is '{text}', which is not a number")))
            };
            let format = |name: &str| -> Result<u8, String> {
                let text = text(name).ok_or_else(|| wrong(&format!("no column {name}")))?;
                format_of(text)
                    .and_then(code)
                    .ok_or_else(|| wrong(&format!("{name} is '{text}', not a format of a call")))
            };
            let workspace = match (text("ws"), head.get("workspace")) {
                (Some(_), _) => number("ws")?,
                (None, Some(text)) => text.parse().map_err(|_| wrong("# workspace is not a number"))?,
                (None, None) => return Err(wrong("neither a column ws nor # workspace")),
            };
            let within = |(name, most): (&str, u64)| -> Result<u64, String> {
                let number = number(name)?;
                if number > most {
                    Err(wrong(&format!("{name} is {number}; it is at most {most}")))
                } else {
                    Ok(number)
                }
            };
            let size = |name: &str| within((name, MOST_SIZE)).map(|size| size as u32);
            let setting = Setting {
                a: format("fa")?,
                b: format("fb")?,
                out: format("out")?,
                fast: number("fast")? != 0,
                workspace,
            };
            let key = Key { setting, k: size("K")?, m: size("M")?, n: size("N")? };
            let mut choice = [0; FIELDS.len()];
            for (value, field) in choice.iter_mut().zip(FIELDS) {
                *value = within(field)?;
            }
            rows.push((key, Choice::new(choice)));
        }
        let value =
            |key: &str| head.get(key).copied().ok_or_else(|| format!("no line '# {key}: …' at the head"));
        let multiprocessors = head.get("sm_count").and_then(|text| text.parse().ok());
        let by = head.get("by").copied().unwrap_or("").to_owned();
        Table::new(value("device")?, value("capability")?, multiprocessors, value("cublaslt")?, by, rows)
    }

    fn new(
        device: &str,
        capability: &str,
        multiprocessors: Option<usize>,
        version: &str,
        by: String,
        mut rows: Vec<(Key, Choice)>,
    ) -> Result<Table, String> {
        rows.sort_unstable_by_key(|(key, _)| *key);
        if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1) {
            let key = pair[0].0;
            return Err(format!(
                "M = {}, N = {}, K = {} appears twice with different results",
                key.m, key.n, key.k
            ));
        }
        let capability = Capability::parse(capability).map_err(|error| error.to_string())?;
        let (device, version) = (device.to_owned(), version.to_owned());
        Ok(Table { device, capability, multiprocessors, version, by, rows })
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
        let sizes = (u32::try_from(m), u32::try_from(n), u32::try_from(k));
        let (Some(setting), (Ok(m), Ok(n), Ok(k))) = (setting(query, workspace), sizes) else {
            return Answer::Missing;
        };
        let key = Key { setting, k, m, n };
        if let Ok(found) = self.rows.binary_search_by_key(&key, |(key, _)| *key) {
            let choice = self.rows[found].1;
            return Answer::Recorded(Config {
                id: Some(i64::from(choice.id)),
                splitk: Some(i64::from(choice.splitk)),
                reduction: Some(i64::from(choice.reduction)),
                custom: Some(i64::from(choice.custom)),
                stages: Some(i64::from(choice.stages)),
                ..Config::default()
            });
        }
        if infer && self.beyond(setting, key) { Answer::Unsplit } else { Answer::Missing }
    }

    /// Whether a call is beyond every call of its setting that was split.
    fn beyond(&self, setting: Setting, key: Key) -> bool {
        let area = |key: &Key| u64::from(key.m) * u64::from(key.n);
        let start = self.rows.partition_point(|(key, _)| key.setting < setting);
        let rows = &self.rows[start..];
        let rows = &rows[..rows.partition_point(|(key, _)| key.setting == setting)];
        if rows.is_empty() {
            return false;
        }
        let largest = |rows: &[(Key, Choice)]| {
            rows.iter().filter(|(_, choice)| choice.splitk > 1).map(|(key, _)| area(key)).max().unwrap_or(0)
        };
        match self.capability {
            Capability::Sm89 => area(&key) > 2 * largest(rows),
            Capability::Sm90 if (1024..=4_194_304).contains(&key.k) => {
                // the smallest K of the grid that is not below this one
                let from = rows.partition_point(|(row, _)| row.k < key.k);
                let Some(grid) = rows.get(from).map(|(row, _)| row.k) else { return false };
                let to = rows.partition_point(|(row, _)| row.k <= grid);
                area(&key) > largest(&rows[from..to])
            }
            _ => false,
        }
    }
}

/// mmaemu's JSON beside the archive, as far as it is needed.
#[derive(Deserialize)]
struct Beside {
    format: Option<String>,
    profile_device: Device,
}

#[derive(Deserialize)]
struct Device {
    gpu: String,
    sm_count: usize,
    capability: serde_json::Value,
    cublaslt: serde_json::Value,
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join("."),
        other => other.to_string(),
    }
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
    let names =
        ["M", "N", "K", "fa", "fb", "out", "fast", "ws", "algo", "splitK", "reduction", "custom", "stages"];
    let columns = names.map(|name| archive.array(name));
    let mut arrays = Vec::new();
    for column in columns {
        arrays.push(column?);
    }
    let count = arrays[0].len();
    if let Some(at) = arrays.iter().position(|array| array.len() != count) {
        return Err(Error::file(path, format!("{} has {} rows; M has {count}", names[at], arrays[at].len())));
    }
    // mmaemu's codes: operands e4m3 0, e5m2 1; outputs f32 0, bf16 1, f16 2, e4m3 3, e5m2 4
    let most =
        [MOST_SIZE, MOST_SIZE, MOST_SIZE, 1, 1, FORMATS.len() as u64 - 1, 1, WORKSPACES.len() as u64 - 1];
    let most = most.into_iter().chain(FIELDS.map(|(_, most)| most));
    let beyond = |((name, array), most): ((&&str, &Array), u64)| {
        // a negative one is beyond every largest
        let found = (0..count).map(|row| array.get(row)).find(|&number| number > most)?;
        Some(format!("{name} is {}; 0 to {most} is read", found as i64))
    };
    if let Some(problem) = names.iter().zip(&arrays).zip(most).find_map(beyond) {
        return Err(Error::file(path, problem));
    }
    let mut rows = Vec::with_capacity(count);
    for row in 0..count {
        let at = |column: usize| arrays[column].get(row);
        let (a, b, out, fast) = (3 + at(3) as u8, 3 + at(4) as u8, at(5) as u8, at(6) != 0);
        let setting = Setting { a, b, out, fast, workspace: WORKSPACES[at(7) as usize] };
        let key = Key { setting, k: at(2) as u32, m: at(0) as u32, n: at(1) as u32 };
        rows.push((key, Choice::new([8, 9, 10, 11, 12].map(at))));
    }
    let Device { gpu, sm_count, capability, cublaslt } = beside.profile_device;
    let by = format!("mmaemu's table {}", path.file_name().unwrap_or_default().to_string_lossy());
    Table::new(&gpu, &plain(&capability), Some(sm_count), &plain(&cublaslt), by, rows)
        .map_err(|problem| Error::file(path, problem))
}

/// One line of the collector.
#[derive(Deserialize)]
struct Line {
    device: String,
    capability: String,
    sm_count: usize,
    cublaslt: String,
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
    let mut csv = String::new();
    let mut known: Option<(String, String)> = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))?;
        let head = format!(
            "# device: {}\n# capability: {}\n# sm_count: {}\n# cublaslt: {}\n# by: scripts/collect-calls\n",
            line.device, line.capability, line.sm_count, line.cublaslt
        );
        let (first, _) = known.get_or_insert_with(|| (head.clone(), String::new()));
        if *first != head {
            return Err(format!("line {}: another device or library than on the first line", index + 1));
        }
        let Some(config) = line.config.filter(|_| line.status == 0 && line.scales.is_none()) else {
            continue;
        };
        let field = |value: Option<i64>| value.unwrap_or(0);
        csv += &format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
            line.m,
            line.n,
            line.k,
            line.a,
            line.b,
            line.out,
            u8::from(line.fast),
            line.workspace,
            field(config.splitk),
            field(config.reduction),
            field(config.custom),
            field(config.id),
            field(config.stages)
        );
    }
    let (head, _) = known.ok_or("it holds no query")?;
    Table::from_csv(&format!("{head}M,N,K,fa,fb,out,fast,ws,splitK,reduction,custom,algo,stages\n{csv}"))
}
