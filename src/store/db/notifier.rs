//! Owns notifications of finished writes, in order: by the writer, or by a second thread while more writes wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use crate::store::db::workers::{Then, Work};
use crate::store::error::StoreError;

/// The results of a transaction's jobs; dropping it frees their data.
pub(in crate::store) struct Ended {
    pub(in crate::store) ended: Vec<(Then, Result<(), StoreError>)>,
    pub(in crate::store) works: Vec<Work>,
}

/// How the other thread is started.
pub(in crate::store) type Start<'a> = &'a dyn Fn(NotifierHandle) -> std::io::Result<()>;

/// A writer's end of it.
pub(in crate::store) struct Notifier<'a> {
    start: Start<'a>,
    beside: Option<Sender<Ended>>,
    /// Transactions whose notifications the second thread has not finished.
    behind: Arc<AtomicUsize>,
}

/// The other thread's end of it.
pub(in crate::store) struct NotifierHandle {
    come: Receiver<Ended>,
    behind: Arc<AtomicUsize>,
}

impl<'a> Notifier<'a> {
    /// The second thread is started on first use; if that fails, the writer sends all notifications.
    pub(in crate::store) fn new(start: Start<'a>) -> Self {
        Self { start, beside: None, behind: Arc::default() }
    }

    /// Tells how the writes of a transaction ended. The other thread does while the writer is `busy`, or while that thread is not done
    /// with what came before; else the caller.
    pub(in crate::store) fn tell(&mut self, ended: Ended, busy: bool) {
        if !busy && self.behind.load(Ordering::Acquire) == 0 {
            return tell(ended);
        }
        if self.beside.is_none() {
            let (sender, come) = mpsc::channel();
            let started = (self.start)(NotifierHandle { come, behind: Arc::clone(&self.behind) });
            self.beside = started.is_ok().then_some(sender);
        }
        let Some(beside) = &self.beside else { return tell(ended) };
        self.behind.fetch_add(1, Ordering::Relaxed);
        if let Err(refused) = beside.send(ended) {
            tell(refused.0);
        }
    }
}

impl NotifierHandle {
    /// Sends notifications until the writer has ended.
    pub(in crate::store) fn run(self) {
        while let Ok(ended) = self.come.recv() {
            tell(ended);
            self.behind.fetch_sub(1, Ordering::Release);
        }
    }
}

fn tell(ended: Ended) {
    for (then, result) in ended.ended {
        let _ = catch_unwind(AssertUnwindSafe(|| then(result)));
    }
    let _ = catch_unwind(AssertUnwindSafe(|| drop(ended.works)));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    type Seen = Receiver<u32>;

    /// Transactions that report their numbers, the first one when it may.
    fn ended(numbers: &[u32], seen: &Sender<u32>, wait: Option<Receiver<()>>) -> Ended {
        let mut wait = wait;
        let ended = numbers.iter().map(|number| {
            let (number, seen, wait) = (*number, seen.clone(), wait.take());
            let then: Then = Box::new(move |result| {
                if let Some(wait) = wait {
                    wait.recv().unwrap();
                }
                assert!(result.is_ok());
                seen.send(number).unwrap();
                assert_ne!(number, 3, "a panic of one keeps nothing from the others");
            });
            (then, Ok(()))
        });
        Ended { ended: ended.collect(), works: Vec::new() }
    }

    fn received(seen: &Seen, count: usize) -> Vec<u32> {
        (0..count).map(|_| seen.recv_timeout(Duration::from_secs(20)).unwrap()).collect()
    }

    #[test]
    fn everything_is_told_in_order_and_nobody_waits_for_it() {
        let ((sender, seen), (go, wait), (ends, end)) = (mpsc::channel(), mpsc::channel(), mpsc::channel());
        let start = |beside: NotifierHandle| {
            let ends = ends.clone();
            std::thread::spawn(move || {
                beside.run();
                ends.send(()).unwrap();
            });
            Ok(())
        };
        let mut notifier = Notifier::new(&start);
        notifier.tell(ended(&[1], &sender, None), false);
        assert_eq!(seen.try_recv(), Ok(1), "it is told at once where nothing else waits");
        notifier.tell(ended(&[2, 3], &sender, Some(wait)), true);
        notifier.tell(ended(&[4], &sender, None), true);
        notifier.tell(ended(&[5, 6], &sender, None), false);
        assert!(seen.try_recv().is_err(), "what came before is told first");
        go.send(()).unwrap();
        assert_eq!(received(&seen, 5), [2, 3, 4, 5, 6]);
        while notifier.behind.load(Ordering::Acquire) > 0 {
            std::thread::yield_now();
        }
        notifier.tell(ended(&[7], &sender, None), false);
        assert_eq!(seen.try_recv(), Ok(7), "it is told at once again when nobody is behind");
        drop(notifier);
        end.recv_timeout(Duration::from_secs(20)).expect("the other thread ends with its writer");
        assert!(end.try_recv().is_err(), "one is enough");
    }

    #[test]
    fn without_another_thread_the_writer_tells() {
        let (sender, seen) = mpsc::channel();
        let mut notifier = Notifier::new(&|_| Err(std::io::ErrorKind::OutOfMemory.into()));
        for number in [1, 2] {
            notifier.tell(ended(&[number], &sender, None), true);
            assert_eq!(seen.try_recv(), Ok(number));
        }
    }
}
