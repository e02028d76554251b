//! Owns the owner name of an engine in leases, and the check whether another owner's process has ended.

use std::sync::{Arc, LazyLock};

use crate::model::Id;

/// The running kernel and the process namespace: where process numbers mean the same. Empty if they cannot be determined.
static PLACE: LazyLock<String> = LazyLock::new(|| place().unwrap_or_default());

/// Makes what is the same for all engines of a process, before any of them is used: a fork would leave it half made.
pub(crate) fn prepare() {
    LazyLock::force(&PLACE);
}

/// A name that is unique among engines: place, process, when the process began, id.
pub(in crate::engine) fn name(id: Id) -> Arc<str> {
    let process = std::process::id();
    let began = began(process).flatten().unwrap_or_default();
    format!("{}/{process}/{began}/{id}", *PLACE).into()
}

/// The process of this owner certainly is gone. False when it lives, or ran where this process cannot look.
pub(in crate::engine) fn is_gone(owner: &str) -> bool {
    let mut fields = owner.split('/');
    let (Some(place), Some(process), Some(then)) = (fields.next(), fields.next(), fields.next()) else { return false };
    let (Ok(process), false) = (process.parse(), place.is_empty() || place != *PLACE || then.is_empty()) else { return false };
    began(process).is_some_and(|found| found.as_deref() != Some(then))
}

fn place() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}.{}", boot.trim(), space.to_string_lossy().trim_matches(|letter: char| !letter.is_ascii_digit())))
}

/// When a process began, in ticks since the system's start; inside: none if there is no such process. None if it cannot be determined.
fn began(process: u32) -> Option<Option<String>> {
    // `/proc` may hide the processes of other users, which must not count as gone.
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return is_nobody(process).then_some(None) };
    let (_, rest) = status.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    // A process whose first thread ended shows as a zombie while others of its threads live.
    if matches!(state, "Z" | "X") && !has_other_threads(process) {
        return Some(None);
    }
    fields.nth(18).map(|began| Some(began.to_owned()))
}

fn has_other_threads(process: u32) -> bool {
    std::fs::read_dir(format!("/proc/{process}/task")).is_ok_and(|threads| threads.count() > 1)
}

/// No process has this number, whoever it belongs to.
#[cfg(unix)]
fn is_nobody(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else { return true };
    // Signal 0 is never sent; the system only says whether there is such a process.
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None) == Err(nix::errno::Errno::ESRCH)
}

#[cfg(not(unix))]
const fn is_nobody(_: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_dead_are_told_from_the_living() {
        let own = name(Id::v7(1, 2, 3));
        assert!(!is_gone(&own), "{own}");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let fields: Vec<&str> = own.split('/').collect();
        let of_child = format!("{}/{}/{}/x", fields[0], child.id(), fields[2]);
        child.wait().unwrap();
        assert!(is_gone(&of_child), "{of_child}");
        let reused = format!("{}/{}/1/x", fields[0], fields[1]);
        assert!(is_gone(&reused), "another process has the number now");
        let elsewhere = format!("other.1/{}/{}/x", fields[1], fields[2]);
        assert!(!is_gone(&elsewhere) && !is_gone("nobody") && !is_gone(""));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_has_ended_is_gone_before_its_parent_asks_for_it() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let status = format!("/proc/{}/stat", child.id());
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !std::fs::read_to_string(&status).unwrap().contains(") Z ") {
            assert!(std::time::Instant::now() < until, "it does not end");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(began(child.id()), Some(None));
        child.wait().unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_may_not_be_looked_at_is_not_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        assert!(!is_nobody(1) && !is_nobody(std::process::id()) && !is_nobody(child.id()));
        child.wait().unwrap();
        assert!(is_nobody(child.id()) && is_nobody(u32::MAX));
    }
}
