//! Owns a started program: its process group, and the end of the whole group.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::server::Program;
use crate::sync::Mutex;

/// How long a program may take to end by itself once its input is closed, and again once it was asked to.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether it ended.
const LOOK: Duration = Duration::from_millis(10);

/// The pipes of a program.
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
    pub(super) errors: ChildStderr,
}

/// A running program and all that it started. Dropped, the whole group is killed.
#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Option<Child>>,
    group: Pid,
    /// The process that started it: a forked child has it too, and must leave it alone.
    starter: u32,
}

impl Process {
    /// Starts a program without a shell, with these variables and no others, in a group of its own.
    pub(super) fn start(program: &Program) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(found(&program.command));
        command.args(&program.arguments).env_clear().envs(&program.env).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let process = Self { child: Mutex::new(Some(child)), group, starter: std::process::id() };
        match (input, output, errors) {
            (Some(input), Some(output), Some(errors)) => Ok((process, Pipes { input, output, errors })),
            _ => Err(io::Error::other("the program has no pipes")),
        }
    }

    /// Kills the group. Its leader is waited for on a thread of its own if it is not gone at once: one that runs as another user cannot be
    /// killed, and one in an uninterruptible wait takes its time. May be called again.
    pub(super) fn kill(&self) {
        let Some(mut child) = self.child.lock().take() else { return };
        if std::process::id() != self.starter {
            return;
        }
        // The leader was not waited for, so its group's number is still its own.
        if self.state() != State::Unknown && killpg(self.group, Signal::SIGKILL) == Err(Errno::EPERM) {
            tracing::warn!(process = self.group.as_raw(), "the program of an MCP server runs as another user and cannot be killed; it is left running");
        }
        if matches!(child.try_wait(), Ok(None)) {
            drop(std::thread::Builder::new().name("studio-reaper".into()).spawn(move || child.wait()));
        }
    }

    /// Ends it: its input is closed by now; it is waited for, then asked, then killed with all that it started.
    pub(super) async fn end(&self) {
        if !self.ended_within(PATIENCE).await {
            self.ask();
            self.ended_within(PATIENCE).await;
        }
        self.kill();
    }

    fn ask(&self) {
        let child = self.child.lock();
        if child.is_some() && std::process::id() == self.starter {
            let _gone_already = killpg(self.group, Signal::SIGTERM);
        }
    }

    async fn ended_within(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while Instant::now() < until {
            if self.child.lock().is_none() || self.state() != State::Running {
                return true;
            }
            tokio::time::sleep(LOOK).await;
        }
        false
    }

    /// Looks without waiting for it, so that its number stays taken.
    fn state(&self) -> State {
        match waitid(Id::Pid(self.group), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) {
            Ok(WaitStatus::StillAlive) => State::Running,
            Ok(_) => State::Ended,
            Err(_) => State::Unknown,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Ended,
    /// Somebody else in this process waited for it.
    Unknown,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The command in this process's own `PATH`: the one of the started program is empty unless it is given one.
fn found(command: &str) -> std::path::PathBuf {
    let named = std::path::Path::new(command);
    if command.contains('/') {
        return named.to_owned();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).filter(|folder| folder.is_absolute()).map(|folder| folder.join(command));
    places.find(|place| place.is_file()).unwrap_or_else(|| named.to_owned())
}
