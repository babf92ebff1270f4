//! Bulk copies between global and shared memory: the boxes of tensor maps, and bytes that lie together.

use super::access::update;
use super::address::{in_shared, resolve};
use super::block::Block;
use super::clocks::Kind;
use super::cluster::in_block;
use super::fault::{Fault, Race};
use super::flight::{Does, Key, Range};
use super::global::Access as Reach;
use super::object::Uses;
use super::objects::{Brought, Piece};
use super::reach::Reached;
use super::shared::Shared;
use super::tensor::{MARK, Rows, SIZE, TensorMap, place};
use super::warp::Warp;
use crate::decode::decoder::RANK_SHIFT;
use crate::instruction::bulk::reduces;
use crate::lanes::each;
use crate::program::{Address, AtomicOp, Bulk, Part, Region, Scope, Type, Word};

/// Visits all elements of rows: where each is in the box, and in global memory, if it is in the tensor. Of 4 bits two are visited together.
fn visit(
    map: &TensorMap,
    rows: &Rows,
    work: &mut dyn FnMut(u64, Option<u64>) -> Result<(), String>,
) -> Result<(), String> {
    let (count, element) = (map.counts()[0], map.element());
    let together = if map.is_padded() { 2 } else { 1 };
    let mut linear = 0;
    for row in &rows.all {
        for at in (0..count).step_by(together) {
            let along = rows.first + at as i64;
            let is_inside = (0..i64::from(map.dimensions[0])).contains(&along);
            let at = row.filter(|_| is_inside);
            work(linear, at.map(|offset| offset.wrapping_add(along as u64 / together as u64 * element)))?;
            linear += element;
        }
    }
    Ok(())
}

impl Warp {
    /// What each lane does, from the lowest on.
    pub(super) fn bulk(&mut self, bulk: &Bulk, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        match bulk {
            Bulk::Commit => {
                let open = std::mem::take(&mut self.bulks.open);
                self.bulks.groups.push_back(open);
                return Ok(());
            }
            Bulk::Wait { left, reads } => return self.wait_for_bulk(*left as usize, *reads, mask, block),
            Bulk::CopyMap { to, from } => {
                self.check_whole(mask)?;
                return self.copy_map(*to, *from, mask, block);
            }
            _ => {}
        }
        for lane in each(mask) {
            match bulk {
                Bulk::Load { to, part, barrier, blocks } => {
                    let (map, rows, _) = self.part(part, lane, block)?;
                    let from = self.box_in(&map, &rows, lane, block)?;
                    let to = self.shared_address(*to, lane);
                    if !in_block(to).is_multiple_of(128) {
                        return Err(Fault::new(
                            lane,
                            format!(
                                "copies a box to {to:#x} of shared memory, which is not a multiple of 128"
                            ),
                        ));
                    }
                    let places = |at: u64| map.exchanged(at);
                    self.bring_to_all((to, *barrier, *blocks), &from, &places, lane, block)?;
                }
                Bulk::Store { part, from, op } => self.box_out(part, *from, *op, lane, block)?,
                Bulk::CopyIn { to, from, bytes, barrier, blocks } => {
                    let to = self.shared_address(*to, lane);
                    let from = self.bytes_in(to, *from, *bytes, lane, block)?;
                    self.bring_to_all((to, *barrier, *blocks), &from, &|at| at, lane, block)?;
                }
                Bulk::CopyAcross { to, from, bytes, barrier } => {
                    self.copy_across(*to, *from, (*bytes, *barrier), lane, block)?;
                }
                Bulk::StoreAcross { to, elements, bytes, barrier } => {
                    let count = usize::from(*bytes);
                    let mut value = [0; 16];
                    for (part, element) in value.chunks_mut(count).zip(elements) {
                        let code = self.registers.any_lane(*element, lane).to_le_bytes();
                        part.copy_from_slice(&code[..count]);
                    }
                    let piece = Piece { bytes: count * elements.len(), value, ..Piece::default() };
                    let to = self.shared_address(*to, lane);
                    let pieces = self.pieces(vec![piece], (to, &|at| at), false, lane, block)?;
                    let brought = Brought { pieces, ..Brought::default() };
                    self.bring((self.shared_address(*barrier, lane), to), brought, lane, block)?;
                }
                Bulk::CopyOut { to, from, bytes, op } => {
                    self.bytes_out(*to, *from, (*bytes, *op), lane, block)?;
                }
                Bulk::Replace { address, field, value } => {
                    let at = self.shared_address(*address, lane);
                    let fault = |what: String| Fault::new(lane, what);
                    let at = block.checked(at, SIZE as u64, "changes a tensor map of").map_err(fault)?;
                    let (offset, bytes) = place(*field);
                    let value = self.registers.any_lane(*value, lane);
                    let by = block.clocks.by(self.number);
                    let mut put = |at: usize, value: u64, bytes: usize| {
                        let same = |shared: &Shared| shared.get(at, bytes as u8) == value;
                        let kind = (Kind::Write, false);
                        let noted = block.shared.note_write(at, bytes, kind, by, same);
                        block.shared.put(at, bytes as u8, value);
                        noted.map_err(|race: Race| Fault::new(lane, race))
                    };
                    put(at, u32::from_le_bytes(MARK).into(), 4)?;
                    match bytes {
                        8 => {
                            put(at + offset, value & u64::from(u32::MAX), 4)?;
                            put(at + offset + 4, value >> 32, 4)?;
                        }
                        1 => put(at + offset, value & 0xff, 1)?,
                        bytes => put(at + offset, value & u64::from(u32::MAX), bytes)?,
                    }
                }
                Bulk::Commit | Bulk::Wait { .. } | Bulk::CopyMap { .. } => {}
            }
        }
        Ok(())
    }

    fn shared_address(&self, address: Address, lane: usize) -> u64 {
        in_shared(self.registers.addresses(address)[lane])
    }

    /// The copies of a warp from shared memory are over but for some groups: they have read their sources, and, unless it waits for
    /// `reads` alone, written, now at the latest.
    fn wait_for_bulk(
        &mut self,
        left: usize,
        reads: bool,
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let lane = mask.trailing_zeros() as usize;
        let over = self.bulks.groups.len().saturating_sub(left);
        let by = block.clocks.by(self.number);
        for group in self.bulks.groups.range_mut(..over) {
            for (at, bytes, _) in std::mem::take(&mut group.reads) {
                block.shared.end_reads(at, bytes);
                block
                    .shared
                    .note_read(at, bytes, (false, true), by)
                    .map_err(|race| Fault::new(lane, race))?;
            }
        }
        self.bulks.reads().for_each(|(at, bytes, _)| block.shared.start_reads(at, bytes));
        if !reads {
            let over: Vec<_> = self.bulks.groups.drain(..over).collect();
            for group in over {
                self.end_copies(&group.writes, lane, block)?;
            }
        }
        Ok(())
    }

    /// Notes what a copy does with global memory until it is waited for.
    fn start_copy(ranges: &[Range], does: Does, block: &Block<'_>) -> Vec<Key> {
        let global = &block.launch.global;
        match ranges.first().and_then(|(at, _)| global.region(*at)) {
            Some((memory, _)) if global.keeps_copies(memory) => global.flights.start(ranges, does),
            _ => vec![],
        }
    }

    /// Copies were waited for: they have read and written global memory now at the latest.
    pub(super) fn end_copies(&self, keys: &[Key], lane: usize, block: &Block<'_>) -> Result<(), Fault> {
        let global = &block.launch.global;
        for ((start, bytes), does) in global.flights.end(keys, block.clocks.by(self.number)) {
            let reach = if does == Does::Combines { COMBINES } else { Reach::Write };
            let unit = 1 << (start | bytes | 8).trailing_zeros();
            for at in (start..start + bytes).step_by(unit) {
                let Some((memory, offset)) = global.region(at) else { continue };
                self.note_global(memory, reach, (1 << lane, |_| offset, unit as u8), |_| false, block)?;
            }
        }
        Ok(())
    }

    /// The map at an address: of a parameter, or of memory that the kernel has written.
    fn map(&self, address: Address, lane: usize, block: &mut Block<'_>) -> Result<TensorMap, Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let address = self.registers.addresses(address)[lane];
        let mut bytes = [0; SIZE];
        match resolve(Region::Generic, address) {
            (Region::Parameter, at) => {
                let parameters = &block.launch.parameters;
                let found = usize::try_from(at).ok().and_then(|at| parameters.get(at..at + SIZE));
                let found =
                    found.ok_or_else(|| fault("a tensor map has 128 bytes of the parameters".to_owned()))?;
                bytes.copy_from_slice(found);
            }
            (Region::Shared | Region::Local, _) => {
                return Err(fault("a tensor map is in global memory or a parameter".to_owned()));
            }
            (_, at) => {
                let launch = block.launch;
                for (index, chunk) in bytes.chunks_mut(8).enumerate() {
                    let at = at.wrapping_add(8 * index as u64);
                    let (memory, offset) =
                        launch.global.checked(at, 8, "reads a tensor map of").map_err(fault)?;
                    self.note_global(memory, Reach::Read, (1 << lane, |_| offset, 8), |_| false, block)?;
                    chunk.copy_from_slice(&memory.load(offset, 8).to_le_bytes());
                }
            }
        }
        TensorMap::of(&bytes).map_err(fault)
    }

    fn copy_map(&self, to: Address, from: Address, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let lane = mask.trailing_zeros() as usize;
        let fault = |what: String| Fault::new(lane, what);
        let from = self.shared_address(from, lane);
        let from = block.checked(from, SIZE as u64, "copies a tensor map of").map_err(fault)?;
        let to = self.registers.addresses(to)[lane];
        let launch = block.launch;
        for at in (0..SIZE).step_by(8) {
            let by = block.clocks.by(self.number);
            block.shared.note_read(from + at, 8, (false, true), by).map_err(|race| Fault::new(lane, race))?;
            let value = block.shared.get(from + at, 8);
            let (memory, offset) = launch
                .global
                .checked(to.wrapping_add(at as u64), 8, "writes a tensor map of")
                .map_err(fault)?;
            let same = |_: usize| memory.load(offset, 8) == value;
            self.note_global(memory, Reach::Write, (1 << lane, |_| offset, 8), same, block)?;
            memory.store(offset, 8, value);
            memory.written.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    }

    /// The map of a copy, the rows that it moves, and its coordinates.
    fn part(
        &self,
        part: &Part,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(TensorMap, Rows, Vec<i64>), Fault> {
        let map = self.map(part.map, lane, block)?;
        let word = |word: &Word| self.registers.word(*word)[lane];
        let coordinates: Vec<i64> = part.coordinates.iter().map(|at| i64::from(word(at) as i32)).collect();
        let offsets: Vec<i64> = part.offsets.iter().map(|at| i64::from(word(at) as u16)).collect();
        let rows = map.rows(part.boxes, &coordinates, &offsets, part.has_rows);
        Ok((map, rows.map_err(|what| Fault::new(lane, what))?, coordinates))
    }

    /// A box out of global memory.
    fn box_in(
        &self,
        map: &TensorMap,
        rows: &Rows,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<Source, Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let element = map.element();
        let launch = block.launch;
        let (mut bytes, mut ranges): (Vec<u8>, Vec<Range>) = (vec![], vec![]);
        let mut noted = Ok(());
        visit(map, rows, &mut |_, at| {
            let value = match at {
                None if map.fills_nan => {
                    return Err("elements outside of the tensor are NaN, whose bits are not known".to_owned());
                }
                None => 0,
                Some(at) => {
                    let (memory, offset) = launch.global.checked(at, element, "copies")?;
                    let lanes = (1 << lane, |_: usize| offset, element as u8);
                    if noted.is_ok() {
                        noted = self.note_global(memory, Reach::Read, lanes, |_| false, block);
                    }
                    extend(&mut ranges, (at, element));
                    memory.load(offset, element as u8)
                }
            };
            bytes.extend(&value.to_le_bytes()[..element as usize]);
            Ok(())
        })
        .map_err(fault)?;
        noted?;
        let unit = if map.is_padded() { 8 } else { 16 };
        Ok(Source { bytes, ranges, unit })
    }

    /// A copy brings bytes to shared memory, to one block or the same place of some, and completes them at the object of each.
    fn bring_to_all(
        &mut self,
        (to, barrier, blocks): (u64, Address, Option<Word>),
        from: &Source,
        place: &dyn Fn(u64) -> u64,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let blocks = blocks.map(|blocks| self.registers.word(blocks)[lane]);
        let targets = block.targets(to, blocks).map_err(fault)?;
        let barriers = block.targets(self.shared_address(barrier, lane), blocks).map_err(fault)?;
        for (to, barrier) in targets.into_iter().zip(barriers) {
            let parts = pieces_of(&from.bytes, from.unit);
            let pieces = self.pieces(parts, (to, place), true, lane, block)?;
            let sources = Warp::start_copy(&from.ranges, Does::Reads, block);
            self.bring((barrier, to), Brought { pieces, sources, ..Brought::default() }, lane, block)?;
        }
        Ok(())
    }

    /// Where pieces, whose places are counted from `to` on, will be written. `defines`: what they bring is defined.
    fn pieces(
        &self,
        mut pieces: Vec<Piece>,
        (to, place): (u64, &dyn Fn(u64) -> u64),
        defines: bool,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<Vec<Piece>, Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let follows = block.launch.undefined.is_some() && defines;
        for piece in &mut pieces {
            let to = place(to.wrapping_add(piece.at as u64));
            let Reached { shared, undefined, clocks, at, .. } =
                block.reach(self.number, to).map_err(fault)?;
            let bytes = piece.bytes + piece.padding;
            piece.at = shared.checked(at, bytes as u64, "copies").map_err(fault)?;
            let by = clocks.by(self.number);
            let noted = shared.note_copy((piece.at, bytes), true, by);
            noted.map_err(|race| Fault::new(lane, race))?;
            for half in (0..piece.bytes).step_by(8).filter(|_| follows) {
                undefined.put(piece.at + half, 8, 0, 0);
            }
        }
        Ok(pieces)
    }

    /// A copy completes its bytes at an object, which is in the block that they go to.
    pub(super) fn bring(
        &mut self,
        (barrier, to): (u64, u64),
        brought: Brought,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let rank = |at: u64| at >> RANK_SHIFT;
        if rank(barrier) != rank(to) {
            return Err(fault(format!(
                "copies to block {} of the cluster, and completes an mbarrier object of block {}: they must be in one",
                rank(to),
                rank(barrier)
            )));
        }
        let own = block.rank;
        let mut reached = block.reach(self.number, barrier).map_err(fault)?;
        let at = reached.object(Uses::Changes, self.number).map_err(|race| Fault::new(lane, race))?;
        let left = reached.clocks.leave(self.number);
        let brought = Brought { from_other: reached.is_other.then_some(own), ..brought };
        reached.objects.get(at).map_err(fault)?.bring(brought, &left).map_err(fault)?;
        self.spin.changes = true;
        Ok(())
    }

    /// Bytes of shared memory of the block go to another block. Its wait there says that they were read, too.
    fn copy_across(
        &mut self,
        to: Address,
        from: Address,
        (bytes, barrier): (Word, Address),
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let count = u64::from(self.registers.word(bytes)[lane]);
        let [to, from, barrier] = [to, from, barrier].map(|address| self.shared_address(address, lane));
        check_bulk(to, from, count).map_err(fault)?;
        let (mut contents, mut shared) = (vec![], vec![]);
        for at in (0..count).step_by(16).map(|step| from.wrapping_add(step)) {
            let at = block.checked(at, 16, "copies").map_err(fault)?;
            let by = block.clocks.by(self.number);
            block.shared.note_copied(at, 16, by).map_err(|race| Fault::new(lane, race))?;
            shared.push((block.rank, at));
            block.lent += 1;
            contents.extend(block.shared.array::<16>(at));
        }
        let pieces = self.pieces(pieces_of(&contents, 16), (to, &|at| at), false, lane, block)?;
        if block.launch.undefined.is_some() {
            for (piece, (_, from)) in pieces.iter().zip(&shared) {
                for half in [0, 8] {
                    let (bits, origin) = block.undefined.get(from + half, 8);
                    let (bytes, at) =
                        block.undefined_at((to >> RANK_SHIFT << RANK_SHIFT) as usize | (piece.at + half));
                    bytes.put(at, 8, bits, origin);
                }
            }
        }
        self.bring((barrier, to), Brought { pieces, shared, ..Brought::default() }, lane, block)
    }

    /// Notes that a copy reads shared memory until it is waited for, and gives the bytes.
    fn read_shared(
        &mut self,
        places: impl Iterator<Item = u64>,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<Vec<u8>, Fault> {
        let mut bytes = vec![];
        let line = self.line(block.launch.kernel);
        for at in places {
            let at = block.checked(at, 16, "copies").map_err(|what| Fault::new(lane, what))?;
            let by = block.clocks.by(self.number);
            block.shared.note_copied(at, 16, by).map_err(|race| Fault::new(lane, race))?;
            self.bulks.open.reads.push((at, 16, line));
            bytes.extend(block.shared.array::<16>(at));
        }
        Ok(bytes)
    }

    fn box_out(
        &mut self,
        part: &Part,
        from: Address,
        op: Option<AtomicOp>,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let (map, rows, coordinates) = self.part(part, lane, block)?;
        if map.is_padded() {
            return Err(fault("stores elements of .b4x16_p64, which can be loaded alone".to_owned()));
        }
        map.check_store(&coordinates).map_err(fault)?;
        let element = map.element();
        let size = rows.all.len() as u64 * map.counts()[0] * element;
        let from = self.shared_address(from, lane);
        if !from.is_multiple_of(128) {
            return Err(fault(format!(
                "copies a box from {from:#x} of shared memory, which is not a multiple of 128"
            )));
        }
        let places = (0..size).step_by(16).map(|step| map.exchanged(from.wrapping_add(step)));
        let bytes = self.read_shared(places, lane, block)?;
        let launch = block.launch;
        let kind = map.element_type().unwrap_or(Type::U8); // a map has been checked
        if let Some(op) = op {
            reduces(op, kind, true).map_err(fault)?;
        }
        let (mut noted, line) = (Ok(()), self.line(launch.kernel));
        let mut ranges: Vec<Range> = vec![];
        visit(&map, &rows, &mut |linear, at| {
            let Some(at) = at else { return Ok(()) };
            let mut code = [0; 8];
            code[..element as usize].copy_from_slice(&bytes[linear as usize..][..element as usize]);
            let given = u64::from_le_bytes(code);
            let (memory, offset) = launch.global.checked(at, element, "copies")?;
            let size = element as u8;
            let old = memory.load(offset, size);
            let (value, reach) = match op {
                None => (given, Reach::Write),
                // as `red` with the scope of the device
                Some(op) => (update(op, kind, false, false, old, given, 0), COMBINES),
            };
            if noted.is_ok() {
                noted =
                    self.note_global(memory, reach, (1 << lane, |_| offset, size), |_| old == value, block);
            }
            extend(&mut ranges, (at, element));
            memory.store(offset, size, value);
            memory.written.store(true, std::sync::atomic::Ordering::Relaxed);
            launch.witness(memory, offset, size, line, || self.thread(block, lane));
            Ok(())
        })
        .map_err(fault)?;
        self.spin.changes = true;
        noted?;
        let does = op.map_or(Does::Writes, |_| Does::Combines);
        self.bulks.open.writes.extend(Warp::start_copy(&ranges, does, block));
        Ok(())
    }

    fn bytes_in(
        &self,
        to: u64,
        from: Address,
        bytes: Word,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<Source, Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let count = u64::from(self.registers.word(bytes)[lane]);
        let from = self.registers.addresses(from)[lane];
        check_bulk(from, to, count).map_err(fault)?;
        let launch = block.launch;
        let mut bytes = vec![];
        for at in (0..count).step_by(8).map(|step| from.wrapping_add(step)) {
            let (memory, offset) = launch.global.checked(at, 8, "copies").map_err(fault)?;
            self.note_global(memory, Reach::Read, (1 << lane, |_| offset, 8), |_| false, block)?;
            bytes.extend(memory.load(offset, 8).to_le_bytes());
        }
        Ok(Source { bytes, ranges: vec![(from, count)], unit: 16 })
    }

    fn bytes_out(
        &mut self,
        to: Address,
        from: Address,
        (bytes, op): (Word, Option<(AtomicOp, Type)>),
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let count = u64::from(self.registers.word(bytes)[lane]);
        let to = self.registers.addresses(to)[lane];
        let from = self.shared_address(from, lane);
        check_bulk(to, from, count).map_err(fault)?;
        let contents =
            self.read_shared((0..count).step_by(16).map(|step| from.wrapping_add(step)), lane, block)?;
        let (launch, line) = (block.launch, self.line(block.launch.kernel));
        let size = op.map_or(8, |(_, kind)| kind.bits() as usize / 8);
        for (step, part) in (0..).step_by(size).zip(contents.chunks(size)) {
            let mut code = [0; 8];
            code[..size].copy_from_slice(part);
            let given = u64::from_le_bytes(code);
            let at = to.wrapping_add(step);
            let (memory, offset) = launch.global.checked(at, size as u64, "copies").map_err(fault)?;
            let old = memory.load(offset, size as u8);
            let (value, reach) = match op {
                None => (given, Reach::Write),
                Some((op, kind)) => (update(op, kind, false, false, old, given, 0), COMBINES),
            };
            let lanes = (1 << lane, |_: usize| offset, size as u8);
            self.note_global(memory, reach, lanes, |_| old == value, block)?;
            memory.store(offset, size as u8, value);
            memory.written.store(true, std::sync::atomic::Ordering::Relaxed);
            launch.witness(memory, offset, size as u8, line, || self.thread(block, lane));
        }
        self.spin.changes = true;
        let does = op.map_or(Does::Writes, |_| Does::Combines);
        self.bulks.open.writes.extend(Warp::start_copy(&[(to, count)], does, block));
        Ok(())
    }
}

/// What a copy reads of global memory: the bytes, and where they are.
struct Source {
    bytes: Vec<u8>,
    ranges: Vec<Range>,
    /// How many of them fill 16 bytes.
    unit: usize,
}

/// Bytes as pieces of 16 or 8, each at the next 16 bytes.
fn pieces_of(bytes: &[u8], unit: usize) -> Vec<Piece> {
    let piece = |(index, part): (usize, &[u8])| {
        let mut value = [0; 16];
        value[..unit].copy_from_slice(part);
        Piece { at: 16 * index, bytes: unit, value, padding: 16 - unit, is_there: false }
    };
    bytes.chunks_exact(unit).enumerate().map(piece).collect()
}

/// How a copy that combines accesses global memory: as `red` with the scope of the device.
const COMBINES: Reach = Reach::StrongWrite { scope: Scope::All, follows: false };

/// Adds bytes to ranges, of which those that lie together are one.
fn extend(ranges: &mut Vec<Range>, (at, bytes): Range) {
    match ranges.last_mut() {
        Some((start, length)) if *start + *length == at => *length += bytes,
        _ => ranges.push((at, bytes)),
    }
}

/// Bulk copies are of 16 bytes and multiples, at such addresses.
fn check_bulk(global: u64, shared: u64, bytes: u64) -> Result<(), String> {
    match [global, shared, bytes].iter().find(|number| !number.is_multiple_of(16)) {
        Some(number) => {
            Err(format!("a bulk copy has addresses and a size that are multiples of 16, not {number:#x}"))
        }
        None => Ok(()),
    }
}
