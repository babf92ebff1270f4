//! A launch: arguments, grid, blocks on threads.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::argument::{Argument, Buffer};
use super::blocks;
use super::cluster::{Clusters, MOST_WARPS};
use super::fault::Where;
use super::flags::Flags;
use super::flight::Flights;
use super::global::{Global, Region};
use super::guesses::Wrong;
pub use super::running::Limits;
use super::running::{Order, Running, Sought, Witness};
use super::trace::{Product, Record, Recorder, Trace};
use super::undefined::{Following, Found};
use crate::decode::decoder::{FIRST_STATIC, REGION_BITS, SHARED_WINDOW};
use crate::error::{Error, Thread};
use crate::instruction::row::Since;
use crate::lanes::LANES;
use crate::program::{Kernel, Op};

/// A kernel with everything a launch says.
pub struct Launch<'k> {
    /// What runs.
    pub kernel: &'k Kernel,
    /// Blocks: x, y, z.
    pub grid: [u32; 3],
    /// Blocks of a cluster: x, y, z; what the entry requires if there is none, and one block where it requires nothing.
    pub cluster: Option<[u32; 3]>,
    /// Threads of a block; what the entry requires if there is none.
    pub block: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory; as much as the architecture has if there is none.
    pub shared: Option<u64>,
    /// Whether doubtful kernels run, and such as depend on the order of blocks.
    pub allow_doubtful: bool,
    /// What bounds the run.
    pub limits: Limits,
    /// What is recorded, if anything.
    pub trace: Option<Trace>,
    /// What variables in global and constant memory hold when it starts, by their names; others hold what the text says.
    pub variables: HashMap<String, Vec<u8>>,
    /// Where this machine has the buffers, in their order, or nothing: there pointers lead that a kernel reads from memory. A kernel
    /// that handles addresses as data (it stores them, say) sees the buffers there; others see them with gaps between them.
    pub hosts: Vec<u64>,
}

impl<'k> Launch<'k> {
    /// As the entry requires it, with nothing allowed and nothing recorded.
    pub fn new(kernel: &'k Kernel, grid: [u32; 3]) -> Launch<'k> {
        Launch {
            kernel,
            grid,
            cluster: None,
            block: None,
            shared: None,
            allow_doubtful: false,
            limits: Limits::default(),
            trace: None,
            variables: HashMap::new(),
            hosts: vec![],
        }
    }
}

/// What a launch did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Instructions of threads.
    pub instructions: u64,
    /// Blocks.
    pub blocks: u64,
    /// What the trace asked for, by blocks, in the order in which a block ran.
    pub records: Vec<Record>,
    /// Matrix instructions, in the same order.
    pub products: Vec<Product>,
    /// The line and the thread that wrote the byte that the trace names last.
    pub writer: Option<(u32, Thread)>,
    /// Whether there was more to record than is kept.
    pub is_cut: bool,
    /// What variables hold that the kernel wrote to, by their names.
    pub variables: HashMap<String, Vec<u8>>,
    /// What the kernel printed, by blocks: at most a megabyte.
    pub printed: String,
}

/// Where a variable in global or constant memory lies.
fn static_base(number: usize) -> u64 {
    (FIRST_STATIC + number as u64) << REGION_BITS
}

/// Threads of a block, and its dimensions, as CUDA bounds them.
const MOST_THREADS: u64 = 1024;

impl Launch<'_> {
    /// Runs the kernel. The buffers hold afterwards what it left, unless there was an error. `stop` is asked now and
    /// then whether to go on.
    pub fn run(
        &self,
        arguments: &[Argument],
        buffers: &mut [Buffer],
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Report, Error> {
        let kernel = self.kernel;
        let block = self.checked_block()?;
        self.check_grid()?;
        self.check_variables()?;
        let clusters = self.checked_clusters(block)?;
        let (bases, are_at_hosts) = self.bases(arguments, buffers)?;
        let parameters = self.parameters(arguments, buffers, &bases)?;
        if !self.allow_doubtful && !kernel.doubts().is_empty() {
            return Err(Error::Doubtful(kernel.doubts().to_vec()));
        }
        let mut writer = self.trace.as_ref().and_then(|trace| trace.byte).and_then(|(buffer, offset)| {
            let region = buffers.get(buffer)?.name.clone();
            Some(WitnessOf { region, offset, found: None })
        });
        let given = Given { clusters, block, parameters: &parameters, buffers, bases: &bases, are_at_hosts };
        let first = self.once(How::new(Order::FIRST), &given, writer.as_mut(), stop);
        if self.may_be_undefined(&first) {
            let found = Found::default();
            let how = How { follow: Some(&found), ..How::new(Order::FIRST) };
            let followed = self.once(how, &given, None, stop);
            let matters = found.decided.load(Relaxed) || first.is_ok() && found.stored.load(Relaxed);
            match followed {
                Err(error) if matters || matches!(error, Error::Stopped) => return Err(error),
                _ => {}
            }
        }
        let (global, mut report, _) = first?;
        self.check_order(&given, &global, &report, stop)?;
        self.check_guesses(&given, &global, &report, stop)?;
        report.writer = writer.and_then(|writer| writer.found);
        for (variable, region) in kernel.statics.iter().zip(&global.statics) {
            if region.written.load(Relaxed) {
                let mut bytes = vec![0; variable.bytes as usize];
                region.copy_to(&mut bytes);
                report.variables.insert(variable.name.clone(), bytes);
            }
        }
        for (buffer, region) in buffers.iter_mut().zip(&global.buffers) {
            buffer.written = region.written.load(Relaxed);
            region.copy_to(&mut buffer.bytes);
        }
        Ok(report)
    }

    /// Whether a run may have read something that nobody wrote. One that went wrong may have for that reason.
    fn may_be_undefined(&self, run: &Result<Done, Error>) -> bool {
        let kernel = self.kernel;
        match run {
            Ok((.., unwritten)) => *unwritten || !kernel.unwritten.is_empty(),
            Err(Error::Kernel { .. }) => {
                let shared = kernel.static_shared > 0 || kernel.dynamic_shared;
                !kernel.unwritten.is_empty() || kernel.local > 0 || shared
            }
            Err(_) => false,
        }
    }

    fn checked_block(&self) -> Result<[u32; 3], Error> {
        let kernel = self.kernel;
        let shape = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let block = match (self.block, kernel.required_block) {
            (Some(block), Some(required)) if block != required => {
                return Err(Error::Launch(format!(
                    "the entry requires blocks of {} threads, not {}",
                    shape(required),
                    shape(block)
                )));
            }
            (Some(block), _) => block,
            (None, Some(required)) => required,
            (None, None) => {
                return Err(Error::Launch(format!(
                    "entry '{}' has no .reqntid: the launch must say the block",
                    kernel.name
                )));
            }
        };
        let threads: u64 = block.iter().map(|size| u64::from(*size)).product();
        let most = kernel.largest_block.map_or(MOST_THREADS, |largest| {
            largest.iter().map(|size| u64::from(*size)).product::<u64>().min(MOST_THREADS)
        });
        if threads == 0 || threads > most || block[2] > 64 {
            return Err(Error::Launch(format!(
                "a block of {} threads cannot run: it must have 1 to {most}",
                shape(block)
            )));
        }
        Ok(block)
    }

    fn check_grid(&self) -> Result<(), Error> {
        let [x, y, z] = self.grid;
        if x == 0 || y == 0 || z == 0 || x > i32::MAX as u32 || y > 65535 || z > 65535 {
            return Err(Error::Launch(format!(
                "a grid of ({x}, {y}, {z}) blocks cannot run: x must be 1 to 2147483647, y and z 1 to 65535"
            )));
        }
        Ok(())
    }

    fn check_variables(&self) -> Result<(), Error> {
        for (name, bytes) in &self.variables {
            let Some(variable) = self.kernel.statics.iter().find(|one| one.name == *name) else {
                let entry = self.kernel.name();
                return Err(Error::Launch(format!("entry '{entry}' names no variable '{name}'")));
            };
            if bytes.len() as u64 != variable.bytes {
                let (given, has) = (bytes.len(), variable.bytes);
                return Err(Error::Launch(format!(
                    "{given} bytes are given for variable '{name}', which has {has}"
                )));
            }
        }
        Ok(())
    }

    fn checked_clusters(&self, block: [u32; 3]) -> Result<Clusters, Error> {
        let (kernel, grid) = (self.kernel, self.grid);
        let shape = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let wrong = |what: String| Err(Error::Launch(what));
        let sizes = match (self.cluster, kernel.cluster.required) {
            (Some(given), Some(required)) if given != required => {
                let (required, given) = (shape(required), shape(given));
                return wrong(format!("the entry requires clusters of {required} blocks, not {given}"));
            }
            (None, None) if kernel.cluster.explicit => {
                return wrong(format!(
                    "entry '{}' has .explicitcluster: the launch must say the cluster",
                    kernel.name
                ));
            }
            (given, required) => given.or(required),
        };
        let warps = block.iter().map(|size| *size as usize).product::<usize>().div_ceil(LANES);
        let clusters = Clusters::new(grid, sizes, warps);
        let Some(sizes) = sizes else { return Ok(clusters) };
        let blocks: u64 = sizes.iter().map(|size| u64::from(*size)).product();
        let most = kernel.cluster.most.map_or(16, |most| u64::from(most).min(16));
        if blocks == 0 || blocks > most {
            return wrong(format!(
                "a cluster of {} blocks cannot run: it must have 1 to {most}",
                shape(sizes)
            ));
        }
        if (0..3).any(|axis| !grid[axis].is_multiple_of(sizes[axis])) {
            let (grid, sizes) = (shape(grid), shape(sizes));
            return wrong(format!("a grid of {grid} blocks is not a multiple of clusters of {sizes}"));
        }
        if blocks > 1 && Since::Hopper.missing(kernel.architecture).is_some() {
            return wrong(format!("{} has no clusters: they need sm_90 or later", kernel.target));
        }
        if blocks > 1 && blocks as usize * clusters.stride > MOST_WARPS {
            return wrong(format!(
                "a cluster of {blocks} blocks of {warps} warps is not supported: a cluster may have {MOST_WARPS} warps here, those of each block rounded up to a multiple of 4"
            ));
        }
        Ok(clusters)
    }

    fn parameters(
        &self,
        arguments: &[Argument],
        buffers: &[Buffer],
        bases: &[u64],
    ) -> Result<Vec<u8>, Error> {
        let kernel = self.kernel;
        let (given, wanted) = (arguments.len(), kernel.parameters.len());
        if given != wanted {
            let names: Vec<_> = kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            return Err(Error::Launch(format!(
                "entry '{}' takes {wanted} arguments, not {given}: {}",
                kernel.name,
                names.join(", ")
            )));
        }
        let mut bytes = vec![0; kernel.parameter_bytes];
        for (at, (argument, parameter)) in arguments.iter().zip(&kernel.parameters).enumerate() {
            if let Some(buffer) = argument.buffers().into_iter().find(|buffer| *buffer >= buffers.len()) {
                return Err(Error::Launch(format!(
                    "argument {at} names buffer {buffer} of {}",
                    buffers.len()
                )));
            }
            let code = argument.bytes(parameter, at, bases)?;
            bytes[kernel.offsets[at]..][..code.len()].copy_from_slice(&code);
        }
        if buffers.len() > 1000 {
            return Err(Error::Launch(format!("{} buffers are too many: 1000 are the most", buffers.len())));
        }
        if let Some(large) = buffers.iter().find(|buffer| buffer.bytes.len() as u64 >= 1 << 35) {
            return Err(Error::Launch(format!(
                "{} has {} bytes, which is too large",
                large.name,
                large.bytes.len()
            )));
        }
        Ok(bytes)
    }

    /// Where the buffers lie: with gaps, so that no access beyond one is in another; where this machine has them if the kernel
    /// handles addresses as data. Whether they are there.
    fn bases(&self, arguments: &[Argument], buffers: &[Buffer]) -> Result<(Vec<u64>, bool), Error> {
        let mut pointers = (0..arguments.len()).filter(|at| !arguments[*at].buffers().is_empty());
        if self.hosts.is_empty() || !self.kernel.addresses.are_data(&mut pointers) {
            return Ok(((1..=buffers.len() as u64).map(|number| number << REGION_BITS).collect(), false));
        }
        let wrong = |what: String| Err(Error::Launch(what));
        if self.hosts.len() != buffers.len() {
            let (hosts, buffers) = (self.hosts.len(), buffers.len());
            return wrong(format!("{hosts} addresses of this machine are given for {buffers} buffers"));
        }
        let own = |(buffer, host): (&Buffer, &u64)| (*host, buffer.bytes.len() as u64, buffer.name.clone());
        let mut all: Vec<_> = buffers.iter().zip(&self.hosts).map(own).collect();
        all.retain(|(_, bytes, _)| *bytes > 0);
        let windows = (SHARED_WINDOW, 3 << REGION_BITS, "memory of its blocks and threads".to_owned());
        let statics = self.kernel.statics.iter().enumerate();
        all.extend(statics.map(|(at, one)| (static_base(at), one.bytes, format!("variable '{}'", one.name))));
        all.push(windows);
        all.sort_unstable();
        let meet = |pair: &&[(u64, u64, String)]| pair[1].0 - pair[0].0 < pair[0].1;
        if let Some([one, other]) = all.windows(2).find(meet) {
            return wrong(format!(
                "{} at {:#x} has {} bytes, but {} is at {:#x}: the kernel handles addresses, and memory may not overlap",
                one.2, one.0, one.1, other.2, other.0
            ));
        }
        Ok((self.hosts.clone(), true))
    }

    /// Bytes of shared memory that a block may use.
    fn shared_bytes(&self) -> Result<(u64, u64), Error> {
        let kernel = self.kernel;
        // CUDA C++ Programming Guide, technical specifications by compute capability
        let most: u64 = match kernel.target.trim_start_matches("sm_").trim_end_matches(char::is_alphabetic) {
            "70" => 96,
            "75" => 64,
            "80" | "87" => 163,
            "86" | "89" | "120" | "121" => 99,
            _ => 227,
        } * 1024;
        let dynamic = match self.shared {
            Some(bytes) => bytes,
            None if kernel.dynamic_shared => most.saturating_sub(kernel.static_shared),
            None => 0,
        };
        let all = kernel.static_shared + dynamic;
        if all > most {
            return Err(Error::Launch(format!(
                "a block takes {all} bytes of shared memory; {} has {most}",
                kernel.target
            )));
        }
        Ok((all, dynamic))
    }

    /// A run. Reads are watched where a buffer is read and written: that few kernels do, and costs much.
    pub(super) fn once(
        &self,
        mut how: How<'_>,
        given: &Given<'_>,
        mut witness: Option<&mut WitnessOf>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Done, Error> {
        // which error comes first must not depend on the threads of this machine
        let mut first = None;
        loop {
            match (self.watching(&how, given, witness.as_deref_mut(), stop)?, first.take()) {
                (Outcome::Done(_), Some(error)) => return Err(error),
                (Outcome::Done(done), None) => return Ok(*done),
                (Outcome::Again(more), _) => how.watched.extend(more),
                (Outcome::Failed(error, _), _) if !self.is_alone(&how) => {
                    first = Some(error);
                    how.alone = true;
                }
                (Outcome::Failed(error, None), _) => return Err(error),
                (Outcome::Found(_), _) => return Err(Error::Stopped), // nothing is sought
                (Outcome::Failed(error, Some(other)), _) => {
                    how.sought = Some(other);
                    return Err(self.with_other(error, &how, given, stop));
                }
            }
        }
    }

    /// Whether blocks run one after the other: atomic operations on global memory come in their order.
    fn is_alone(&self, how: &How<'_>) -> bool {
        let one = self.grid == [1; 3] || self.limits.threads == 1;
        one || self.kernel.ordered
            || self.kernel.guesses
            || self.allow_doubtful
            || how.alone
            || how.sought.is_some()
    }

    /// One run, in which the reads of some buffers are watched.
    pub(super) fn watching(
        &self,
        how: &How<'_>,
        &Given { clusters, block, parameters, buffers, bases, are_at_hosts }: &Given<'_>,
        witness: Option<&mut WitnessOf>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Outcome, Error> {
        let kernel = self.kernel;
        let grid = clusters.grid;
        let blocks: u64 = grid.iter().map(|size| u64::from(*size)).product();
        let count = blocks / clusters.size() as u64;
        let (shared_bytes, dynamic_shared) = self.shared_bytes()?;
        let copies = kernel.steps.iter().any(|step| matches!(step.op, Op::Bulk(_)));
        let threads = block.iter().map(|size| *size as usize).product::<usize>();
        // accesses of one warp can meet those of its bulk copies
        let several = blocks > 1 || threads > LANES || copies;
        let is_watched = |index: usize| how.watched.contains(&index);
        let global = Global {
            buffers: buffers
                .iter()
                .enumerate()
                .map(|(index, buffer)| {
                    Region::new(buffer.name.clone(), bases[index], &buffer.bytes, is_watched(index))
                })
                .collect::<Result<_, _>>()?,
            hosts: {
                let mut hosts: Vec<_> = self.hosts.iter().copied().zip(0..buffers.len()).collect();
                hosts.retain(|(_, buffer)| !buffers[*buffer].bytes.is_empty());
                hosts.sort_unstable();
                hosts
            },
            are_at_hosts,
            statics: kernel
                .statics
                .iter()
                .enumerate()
                .map(|(index, variable)| {
                    let mut bytes = self.variables.get(&variable.name).unwrap_or(&variable.initial).clone();
                    bytes.resize(variable.bytes as usize, 0);
                    let is_watched = is_watched(buffers.len() + index);
                    let name = format!("variable '{}'", variable.name);
                    Region::new(name, static_base(index), &bytes, is_watched)
                })
                .collect::<Result<_, _>>()?,
            looks: several && how.order.is_together,
            reports: !self.allow_doubtful,
            orders_blocks: kernel.ordered,
            clusters,
            flags: Flags::default(),
            flights: Flights::default(),
            doubt: Mutex::new(None),
            guesses: kernel.guesses.then(Mutex::default),
        };
        global.buffers.iter().filter(|region| region.is_watched).try_for_each(Region::check_marks)?;
        let flag = AtomicBool::new(false);
        let running = Running {
            kernel,
            global,
            parameters: parameters.to_vec(),
            grid,
            clusters,
            block,
            shared_bytes,
            dynamic_shared,
            limits: self.limits,
            recorder: self
                .trace
                .as_ref()
                .filter(|_| how.is_the_first())
                .map(|wanted| Recorder { wanted: wanted.clone(), ..Recorder::default() }),
            stop: &flag,
            undefined: how.follow.map(|found| Following::of(kernel, found)),
            witness: witness.as_ref().map(|witness| Witness {
                region: witness.region.clone(),
                offset: witness.offset,
                found: Mutex::new(None),
            }),
            may_spin: kernel.steps.iter().any(|step| step.op.spins()),
            order: how.order,
            raced: Mutex::new(vec![]),
            wrong: how.wrong,
            printed: Mutex::default(),
            sought: how.sought.map(|access| Sought { access, found: Mutex::new(None) }),
        };
        let threads = match self.limits.threads {
            _ if self.is_alone(how) || count == 1 => 1,
            0 => cores(),
            threads => threads,
        };
        let threads = threads.min(count.min(256) as usize).max(1);
        let next = AtomicU64::new(0);
        let failed: Mutex<Option<(u64, Error)>> = Mutex::new(None);
        let unwritten = AtomicBool::new(false);
        let executed = AtomicU64::new(0);
        let fail = |number: u64, error: Error| {
            // the first block's error, whichever thread comes first
            if let Ok(mut failed) = failed.lock()
                && !matches!(error, Error::Stopped)
                && failed.as_ref().is_none_or(|(other, _)| number < *other)
            {
                *failed = Some((number, error));
            }
            flag.store(true, Relaxed);
        };
        let start = || {
            let number = next.fetch_add(1, Relaxed);
            let number = (number < count && !flag.load(Relaxed)).then_some(number)?;
            Some(how.order.turn_of(number, count))
        };
        let end = |has_read_unwritten: bool| {
            if has_read_unwritten {
                unwritten.store(true, Relaxed);
            }
        };
        let run_all = || blocks::run_all(&running, &start, &end, &fail);
        let (left, listener) = (AtomicUsize::new(threads), std::thread::current());
        let work = || {
            let _ends = Ends(&left, &listener);
            // products of matrices are shared out by blocks
            executed.fetch_add(bitmma_engine::threads::alone(run_all), Relaxed);
        };
        let warps = blocks.saturating_mul(clusters.warps as u64);
        let is_short = warps.saturating_mul(kernel.steps.len() as u64) < SHORT && !kernel.has_loops();
        let stopped = !is_short
            && std::thread::scope(|scope| {
                (0..threads).for_each(|_| _ = scope.spawn(work));
                // this thread listens
                let mut stopped = false;
                let mut asked = Instant::now();
                while left.load(Acquire) > 0 {
                    std::thread::park_timeout(PAUSE);
                    if !stopped && asked.elapsed() >= PAUSE {
                        asked = Instant::now();
                        stopped = stop();
                        flag.fetch_or(stopped, Relaxed);
                    }
                }
                stopped
            });
        if is_short {
            executed.fetch_add(run_all(), Relaxed);
        }
        if stopped {
            return Err(Error::Stopped);
        }
        if let Some(sought) = running.sought
            && let Some(found) = sought.found.into_inner().ok().flatten()
        {
            return Ok(Outcome::Found(found));
        }
        let unwatched = running.global.unwatched();
        if !unwatched.is_empty() {
            return Ok(Outcome::Again(unwatched));
        }
        if let Some((_, error)) = failed.into_inner().ok().flatten() {
            let raced = running.raced.into_inner().unwrap_or_default();
            let Error::Kernel { thread, .. } = &error else { return Err(error) };
            let other = raced.iter().find(|(of, _)| of == thread).map(|(_, other)| *other);
            return Ok(Outcome::Failed(error, other));
        }
        if let (Some(of), Some(found)) = (witness, running.witness.as_ref()) {
            of.found = found.found.lock().ok().and_then(|found| *found);
        }
        let mut report = Report { instructions: executed.into_inner(), blocks, ..Report::default() };
        report.printed = running.printed.into_inner().unwrap_or_default().text();
        if let Some(recorder) = running.recorder {
            (report.records, report.products, report.is_cut) = recorder.finish();
        }
        Ok(Outcome::Done(Box::new((running.global, report, unwritten.into_inner()))))
    }
}

/// Instructions of warps that run on the thread that asks for them, as they take no longer than to start another.
const SHORT: u64 = 1 << 14;

/// How long a run goes on before it is asked whether to stop.
const PAUSE: Duration = Duration::from_millis(20);

/// Counts a thread that ends, also by a panic, and wakes the one that listens.
struct Ends<'e>(&'e AtomicUsize, &'e std::thread::Thread);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Release);
        self.1.unpark();
    }
}

/// What a run left: memory, what is reported, and whether it read something that nobody wrote.
pub(super) type Done = (Global, Report, bool);

/// How a run differs from others of a launch.
pub(super) struct How<'f> {
    pub(super) order: Order,
    /// Whether blocks run one after the other.
    pub(super) alone: bool,
    /// Where undefined data is followed.
    pub(super) follow: Option<&'f Found>,
    /// Numbers of buffers, and behind them of variables, that are read and written.
    pub(super) watched: BTreeSet<usize>,
    /// The earlier access of a race, to be found.
    pub(super) sought: Option<Where>,
    /// How first guesses are wrong.
    pub(super) wrong: Option<Wrong>,
}

impl How<'_> {
    pub(super) fn new(order: Order) -> How<'static> {
        How { order, alone: false, follow: None, watched: BTreeSet::new(), sought: None, wrong: None }
    }

    /// Whether it is the run that the launch reports.
    fn is_the_first(&self) -> bool {
        let has_another_end = self.follow.is_some() || self.sought.is_some() || self.wrong.is_some();
        self.order == Order::FIRST && !has_another_end
    }
}

/// How a run ended.
pub(super) enum Outcome {
    Done(Box<Done>),
    /// These must be watched, too.
    Again(Vec<usize>),
    /// With the access that it races with, if it does.
    Failed(Error, Option<Where>),
    /// The line and thread of what was sought.
    Found((u32, Thread)),
}

/// What all runs of a launch share.
pub(super) struct Given<'g> {
    clusters: Clusters,
    block: [u32; 3],
    parameters: &'g [u8],
    buffers: &'g [Buffer],
    /// Where they lie, and whether this machine has them there.
    bases: &'g [u64],
    are_at_hosts: bool,
}

pub(super) struct WitnessOf {
    region: String,
    offset: u64,
    found: Option<(u32, Thread)>,
}

/// Threads that this machine runs at once, asked once: Linux reads files to say it.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
