//! Owns deeds: what is done to the engines, as data that follows from a seed. Numbers point into what is there when a deed is done.

use super::chance::Chance;

/// One thing that is done.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Another engine opens the database.
    Open,
    /// The process of an engine dies.
    Kill(u64),
    /// An engine is let go without being closed.
    LetGo(u64),
    /// An engine is closed; with time, the host answers meanwhile.
    Close { engine: u64, with_time: bool },
    /// The process of an engine will die at a write of a log.
    DieAtWrite { engine: u64, writes: u64 },
    /// The process of an engine will die in a call.
    DieInCall { engine: u64, calls: u64 },
    Start { engine: u64, graph: u64, queued: bool },
    Chat { engine: u64, agent: u64, thread: u64 },
    Branch { engine: u64, thread: u64, before: u64 },
    DeleteThread { engine: u64, thread: u64 },
    /// The host answers a call that waits.
    Answer(u64),
    /// It fails it.
    Fail(u64),
    /// A model tells what it spent, and goes on thinking.
    Spend(u64),
    AnswerAll,
    Cancel { engine: u64, run: u64 },
    Resume { engine: u64, run: u64, how: u64, queued: bool },
    Retry { engine: u64, run: u64, how: u64, queued: bool },
    Delete { engine: u64, run: u64 },
    /// `worker.step`, by one thread or two.
    Step { engine: u64, threads: u64 },
    TakeOver(u64),
    /// The leases of engines that are gone end.
    Lapse,
    /// The clock jumps by so many seconds.
    Jump(i64),
    Read { engine: u64, run: u64, after: u64 },
    /// A reader goes away.
    Leave(u64),
    /// Real time passes, in milliseconds.
    Wait(u64),
    /// The log of a run that nobody drives cannot be read any more.
    Spoil(u64),
}

/// What a seed likes to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaning {
    Calm,
    Deaths,
    Queue,
    People,
    Chats,
    /// Runs that fail are tried again and again.
    Retries,
    /// Hosts whose processes do not live long: open, a step of a worker, close.
    Short,
}

pub const LEANINGS: [Leaning; 7] =
    [Leaning::Calm, Leaning::Deaths, Leaning::Queue, Leaning::People, Leaning::Chats, Leaning::Retries, Leaning::Short];

impl Leaning {
    /// Shares of: engines that end, runs, chats, host, people, workers, clock, readers.
    const fn shares(self) -> [u64; 8] {
        match self {
            Self::Calm => [4, 14, 4, 24, 18, 10, 2, 12],
            Self::Deaths => [20, 14, 2, 20, 10, 20, 8, 6],
            Self::Queue => [8, 18, 0, 20, 8, 30, 4, 4],
            Self::People => [4, 14, 2, 22, 36, 8, 2, 4],
            Self::Chats => [4, 0, 40, 24, 14, 4, 2, 4],
            Self::Retries => [2, 10, 0, 22, 60, 6, 1, 2],
            Self::Short => [24, 12, 0, 10, 6, 40, 2, 2],
        }
    }
}

pub fn deed(chance: &mut Chance, leaning: Leaning) -> Deed {
    let shares = leaning.shares();
    let mut at = chance.below(shares.iter().sum());
    let kind = shares.iter().position(|share| {
        let found = at < *share;
        at = at.saturating_sub(*share);
        found
    });
    let queued = chance.percent(if matches!(leaning, Leaning::Queue | Leaning::Short) { 85 } else { 40 });
    let (engine, run, how) = (chance.below(8), chance.below(64), chance.below(64));
    match kind.unwrap_or(0) {
        0 if leaning == Leaning::Short => Deed::Close { engine, with_time: how % 4 == 0 },
        0 => ending(chance, engine),
        1 => Deed::Start { engine, graph: how, queued },
        2 => match how % 8 {
            0 => Deed::Branch { engine, thread: run, before: chance.below(32) },
            1 => Deed::DeleteThread { engine, thread: run },
            _ => Deed::Chat { engine, agent: how, thread: run },
        },
        3 => match how % 16 {
            0..=7 => Deed::Answer(run),
            8..=10 => Deed::Fail(run),
            11 => Deed::Spend(run),
            12 | 13 => Deed::Wait(40 + how * 2),
            14 if leaning == Leaning::Queue => Deed::Wait(130),
            _ => Deed::AnswerAll,
        },
        4 if leaning == Leaning::Retries && how % 4 > 0 => Deed::Retry { engine, run, how: chance.below(64), queued },
        4 => match how % 12 {
            0..=5 => Deed::Resume { engine, run, how: chance.below(64), queued },
            6..=8 => Deed::Retry { engine, run, how: chance.below(64), queued },
            9 | 10 => Deed::Cancel { engine, run },
            _ => Deed::Delete { engine, run },
        },
        5 => match how % 6 {
            0..=2 => Deed::Step { engine, threads: 1 },
            3 => Deed::Step { engine, threads: 2 },
            4 => Deed::Lapse,
            _ => Deed::TakeOver(engine),
        },
        6 => match how % 6 {
            0..=2 => Deed::Jump(1 + i64::try_from(how).expect("a small number") * 10),
            3 => Deed::Jump(-20),
            4 => Deed::Jump(9000),
            _ => Deed::Spoil(run),
        },
        _ => match how % 4 {
            0 => Deed::Leave(run),
            1 => Deed::Cancel { engine, run },
            _ => Deed::Read { engine, run, after: chance.below(40) },
        },
    }
}

fn ending(chance: &mut Chance, engine: u64) -> Deed {
    match chance.below(10) {
        0 | 1 => Deed::Open,
        2 => Deed::Kill(engine),
        3 => Deed::LetGo(engine),
        4 => Deed::Close { engine, with_time: true },
        5 => Deed::Close { engine, with_time: false },
        6 | 7 => Deed::DieAtWrite { engine, writes: 1 + chance.below(12) },
        _ => Deed::DieInCall { engine, calls: 1 + chance.below(3) },
    }
}
