//! Every order of events of the contract, as whole streams; each is read again and compared with its trace.

mod agents;
mod approvals;
mod cancel;
mod chat;
mod cuts;
mod checkpoints;
mod doubts;
mod endings;
mod failures;
mod forks;
mod hosts;
mod humans;
mod linear;
mod live_order;
mod loops;
mod nested;
mod queued;
mod retry;
mod rewinds;
mod random;
mod readers;
mod refused;
mod trace;
mod transitions;
