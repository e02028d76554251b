//! Owns handles: checked numbers, not addresses; a stale or invented one is an error.
//!
//! 53 bits, so that a JavaScript number holds it: kind 2, fork epoch 11, generation 20, slot 20.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::entry;
use super::stream::studio_stream;
use super::super::door::{Engine, Stream};
use super::super::fault::{Code, Fault};
use super::super::fork::{self, PerProcess};
use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

const SLOT_BITS: u32 = 20;
const GENERATION_BITS: u32 = 20;
const EPOCH_BITS: u32 = 11;
/// Slots that are free and still known as closed, before the first of them is used again.
const KEPT_CLOSED: usize = 256;

const _: () = assert!(usize::BITS >= 64, "a handle needs a pointer of 64 bits");

/// What a handle stands for.
#[derive(Clone)]
enum Object {
    Engine(Arc<Engine>),
    Stream(Arc<Stream>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Engine = 1,
    Stream = 2,
}

impl Object {
    const fn kind(&self) -> Kind {
        match self {
            Self::Engine(_) => Kind::Engine,
            Self::Stream(_) => Kind::Stream,
        }
    }
}

struct Slot {
    generation: u32,
    kind: Kind,
    object: Option<Object>,
}

#[derive(Default)]
struct Table {
    slots: Vec<Slot>,
    free: VecDeque<u32>,
    /// Handles of the parent process whose engines nobody had used; none once they are closed.
    inherited: HashMap<u64, Option<Arc<Engine>>>,
}

static TABLE: PerProcess<RwLock<Table>> = PerProcess::new(RwLock::default);

fn reading() -> RwLockReadGuard<'static, Table> {
    TABLE.get().read()
}

fn writing() -> RwLockWriteGuard<'static, Table> {
    TABLE.get().write()
}

/// A handle taken apart.
#[derive(Clone, Copy)]
struct Ticket {
    kind: u64,
    epoch: u32,
    generation: u32,
    slot: u32,
}

const fn low(value: u64, bits: u32) -> u32 {
    (value & ((1 << bits) - 1)) as u32
}

impl Ticket {
    const fn read(value: u64) -> Self {
        Self {
            kind: value >> (SLOT_BITS + GENERATION_BITS + EPOCH_BITS),
            epoch: low(value >> (SLOT_BITS + GENERATION_BITS), EPOCH_BITS),
            generation: low(value >> SLOT_BITS, GENERATION_BITS),
            slot: low(value, SLOT_BITS),
        }
    }

    fn value(self) -> u64 {
        let high = (self.kind << EPOCH_BITS) | u64::from(self.epoch);
        (((high << GENERATION_BITS) | u64::from(self.generation)) << SLOT_BITS) | u64::from(self.slot)
    }
}

fn epoch() -> u32 {
    low(u64::from(fork::epoch()), EPOCH_BITS)
}

fn bad() -> Fault {
    Fault::new(Code::BadHandle, "this is no handle of this library, or it was closed long ago")
}

impl Table {
    fn insert(&mut self, object: Object) -> Result<u64, Fault> {
        let kind = object.kind();
        let reused = if self.free.len() > KEPT_CLOSED { self.free.pop_front() } else { None };
        let (slot, generation) = match reused.and_then(|at| Some((at, self.slots.get_mut(at as usize)?))) {
            Some((at, slot)) => {
                let generation = low(u64::from(slot.generation) + 1, GENERATION_BITS);
                *slot = Slot { generation, kind, object: Some(object) };
                (at, generation)
            }
            None => {
                let at = u32::try_from(self.slots.len()).ok().filter(|at| *at < 1 << SLOT_BITS);
                let at = at.ok_or_else(|| Fault::new(Code::Busy, "a million handles are open; close some"))?;
                self.slots.push(Slot { generation: 0, kind, object: Some(object) });
                (at, 0)
            }
        };
        Ok(Ticket { kind: kind as u64, epoch: epoch(), generation, slot }.value())
    }

    /// The slot of a handle of this process.
    fn known(&self, ticket: Ticket) -> Result<&Slot, Fault> {
        let slot = self.slots.get(ticket.slot as usize).ok_or_else(bad)?;
        if slot.generation == ticket.generation && slot.kind as u64 == ticket.kind { Ok(slot) } else { Err(bad()) }
    }

    fn find(&self, value: u64, kind: Kind) -> Result<Object, Fault> {
        let ticket = Ticket::read(value);
        if ticket.kind != kind as u64 {
            return Err(bad());
        }
        if ticket.epoch == epoch() {
            return self.known(ticket)?.object.clone().ok_or_else(Fault::closed);
        }
        match self.inherited.get(&value) {
            Some(Some(engine)) => Ok(Object::Engine(Arc::clone(engine))),
            Some(None) => Err(Fault::closed()),
            None if ticket.epoch < epoch() => Err(Fault::forked()),
            None => Err(bad()),
        }
    }

    /// Takes an object out; its handle answers CLOSED for a while.
    fn remove(&mut self, value: u64) -> Option<Object> {
        if let Some(engine) = self.inherited.get_mut(&value) {
            return engine.take().map(Object::Engine);
        }
        let ticket = Ticket::read(value);
        let object = self.slots.get_mut(ticket.slot as usize).filter(|slot| slot.generation == ticket.generation)?.object.take()?;
        self.free.push_back(ticket.slot);
        Some(object)
    }
}

/// A handle as C sees it.
pub(super) const fn pointer<T>(value: u64) -> *mut T {
    std::ptr::without_provenance_mut(value as usize)
}

/// The engine's handle; it has one, however often it is asked for.
pub(super) fn of_engine(engine: &Arc<Engine>) -> Result<u64, Fault> {
    let mut table = writing();
    let known = engine.handle.load(Ordering::Acquire);
    if known != 0 && table.find(known, Kind::Engine).is_ok() {
        return Ok(known);
    }
    let value = table.insert(Object::Engine(Arc::clone(engine)))?;
    engine.handle.store(value, Ordering::Release);
    Ok(value)
}

/// Gives a stream to the caller: from then on its new data is reported under its handle.
pub(super) fn give(stream: &Arc<Stream>, out: entry::Slot<studio_stream>) -> Result<(), Fault> {
    let handle = writing().insert(Object::Stream(Arc::clone(stream)))?;
    out.fill(handle);
    stream.enlist(handle);
    Ok(())
}

/// The engine of a handle.
pub(super) fn engine<T>(handle: *const T) -> Result<Arc<Engine>, Fault> {
    match reading().find(handle.addr() as u64, Kind::Engine)? {
        Object::Engine(engine) => Ok(engine),
        Object::Stream(_) => Err(bad()),
    }
}

/// The stream of a handle.
pub(super) fn stream<T>(handle: *const T) -> Result<Arc<Stream>, Fault> {
    match reading().find(handle.addr() as u64, Kind::Stream)? {
        Object::Stream(stream) => Ok(stream),
        Object::Engine(_) => Err(bad()),
    }
}

/// Gives a handle back. The object is dropped outside the lock, for that may run code of the host.
pub(super) fn release<T>(handle: *const T) {
    let object = writing().remove(handle.addr() as u64);
    drop(object);
}

/// What a child of a fork takes over: engines that nobody has used, under the handles they have.
#[derive(Default)]
pub(in crate::ffi) struct ForkState(Vec<(u64, Arc<Engine>)>);

/// Before a fork, in the forking thread.
pub(in crate::ffi) fn fork_state() -> ForkState {
    let table = reading();
    let own = table.slots.iter().filter_map(|slot| match &slot.object {
        Some(Object::Engine(engine)) => Some(engine),
        Some(Object::Stream(_)) | None => None,
    });
    let all = own.chain(table.inherited.values().flatten());
    ForkState(all.filter(|engine| engine.is_untouched()).map(|engine| (engine.handle.load(Ordering::Acquire), Arc::clone(engine))).collect())
}

/// In the child: a table of its own.
pub(in crate::ffi) fn inherit(left: ForkState) {
    let mut table = Table::default();
    for (value, engine) in left.0 {
        if engine.is_untouched() {
            table.inherited.insert(value, Some(engine));
        } else {
            std::mem::forget(engine);
        }
    }
    TABLE.renew(RwLock::new(table));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_fits_a_javascript_number_and_comes_apart_again() {
        let most = Ticket { kind: 2, epoch: low(u64::MAX, EPOCH_BITS), generation: low(u64::MAX, GENERATION_BITS), slot: low(u64::MAX, SLOT_BITS) };
        assert!(most.value() < 1 << 53);
        let back = Ticket::read(most.value());
        assert_eq!((back.kind, back.epoch, back.generation, back.slot), (most.kind, most.epoch, most.generation, most.slot));
    }

    #[cfg(unix)]
    #[test]
    #[ignore = "run by the test below, in a process of its own"]
    fn in_a_process_that_forks() {
        let open = || super::super::super::door::process::open(br#"{"environment":"local","database":{"path":":memory:"}}"#).ok().expect("an engine");
        let (used, untouched) = (open(), open());
        assert!(used.call("ops", b"").is_ok());
        let [used, untouched] = [&used, &untouched].map(|opened| of_engine(opened).ok().expect("a handle"));
        let code = |value| engine(pointer::<u8>(value)).err().map(|fault| fault.code);
        // SAFETY: the child reads two handles and ends at once, whatever other threads were at.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let told = [code(used), code(untouched), code(untouched + 1)];
            // SAFETY: it ends the child.
            unsafe { libc::_exit(i32::from(told != [Some(Code::Forked as i32), None, Some(Code::Forked as i32)])) }
        }
        let mut status = -1;
        // SAFETY: the child is ours, and the place for its status is there.
        assert!(child > 0 && unsafe { libc::waitpid(child, &raw mut status, 0) } == child);
        assert_eq!((status, code(used), code(untouched), code(untouched + 1)), (0, None, None, Some(Code::BadHandle as i32)));
    }

    #[cfg(unix)]
    #[test]
    fn a_child_tells_handles_of_its_parent_from_its_own() {
        let program = std::env::current_exe().expect("this program");
        let own = ["--exact", "ffi::c::ticket::tests::in_a_process_that_forks", "--ignored", "--nocapture"];
        let ended = std::process::Command::new(program).args(own).output().expect("a process");
        assert!(ended.status.success(), "{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    }

    #[test]
    fn numbers_that_were_never_given_are_no_handles() {
        for value in [0, 1, 42, 1 << 50, (1 << 53) - 1, u64::MAX, 0x7fff_0000_1234] {
            let found = engine(pointer::<u8>(value));
            assert_eq!(found.err().map(|fault| fault.code), Some(Code::BadHandle as i32), "{value}");
        }
    }

    #[test]
    fn a_slot_that_is_used_again_has_another_handle_and_the_old_one_is_told_from_it() {
        let opened = super::super::super::door::process::open(br#"{"environment":"local","database":{"path":":memory:"}}"#).ok().expect("an engine");
        let mut table = Table::default();
        let mut given = std::collections::HashSet::new();
        for _ in 0..KEPT_CLOSED * 2 + 9 {
            let value = table.insert(Object::Engine(Arc::clone(&opened))).ok().expect("a handle");
            assert!(given.insert(value), "each handle is given once");
            assert!(table.remove(value).is_some() && table.remove(value).is_none());
            assert_eq!(table.find(value, Kind::Engine).err().map(|fault| fault.code), Some(Code::Closed as i32));
        }
        assert!(table.slots.len() <= KEPT_CLOSED + 1, "slots are used again");
        let stale = given.iter().filter(|value| table.find(**value, Kind::Engine).is_err_and(|fault| fault.code == Code::BadHandle as i32));
        assert_eq!(stale.count(), given.len() - table.slots.len());
    }

    /// Whoever uses a handle after its end learns that it was closed, as long as so many others were closed since.
    #[test]
    fn the_newest_closed_handles_are_told_as_closed_while_another_is_open() {
        let opened = super::super::super::door::process::open(br#"{"environment":"local","database":{"path":":memory:"}}"#).ok().expect("an engine");
        let mut table = Table::default();
        let mut insert = || table.insert(Object::Engine(Arc::clone(&opened))).ok().expect("a handle");
        let given: Vec<u64> = (0..KEPT_CLOSED).map(|_| insert()).collect();
        for value in &given {
            assert!(table.remove(*value).is_some());
        }
        let open = table.insert(Object::Engine(opened)).ok().expect("a handle");
        let code = |value: u64| table.find(value, Kind::Engine).err().map(|fault| fault.code);
        let closed = given.iter().filter(|value| code(**value) == Some(Code::Closed as i32));
        assert_eq!((closed.count(), code(open)), (KEPT_CLOSED, None));
    }
}
