//! Tests of the HTTP interface as hosts use it: requests in, answers out.

mod chain;
mod description;
mod drafts;
mod facade;
mod files;
mod ignored;
mod mounted;
mod pages;
mod refusals;
mod support;
mod walk;
