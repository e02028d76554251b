//! Owns the pauses that are open at the end of a stream. A run tells all of its open pauses each time that it rests, one after the other.

use super::event::PublishedEvent;

/// The pauses of the last rest, in the order in which they were told.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    open: Vec<PublishedEvent>,
    /// The run went on since.
    went_on: bool,
    /// The number of the event before.
    last: u64,
}

impl Pauses {
    /// Takes note of the next event: what is told between two rests says that the run went on. So does a number that is left out: the end of a
    /// rest has it, and no frame may follow before the next rest.
    pub(super) fn hear(&mut self, next: &PublishedEvent) {
        let skips = next.number > self.last.saturating_add(1);
        self.last = next.number;
        self.went_on |= match next.event {
            "run_terminal" => false,
            "parallel_interrupt" | "human_input_required" | "tool_approval_required" => skips,
            _ => true,
        };
    }

    /// One more that is open. The first one after the run went on begins the list anew.
    pub(super) fn add(&mut self, pause: PublishedEvent) {
        if std::mem::take(&mut self.went_on) {
            self.open.clear();
        }
        self.close(pause.text("pause_id"));
        self.open.push(pause);
    }

    /// A pause was answered.
    pub(super) fn close(&mut self, id: &str) {
        self.open.retain(|open| open.text("pause_id") != id);
    }

    /// Those that are open at the end of the stream; none when the run went on and the stream broke off.
    pub(super) fn take(&mut self) -> Vec<PublishedEvent> {
        let open = std::mem::take(&mut self.open);
        if self.went_on { Vec::new() } else { open }
    }
}
