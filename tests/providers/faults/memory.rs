//! Answers without an end: they are cut off early, and the process stays as small as it was.

use super::server::{Act, Then};
use super::speech::{Family, everywhere};
use super::{end, ended};

/// What a run may add to the process while it reads as much as it ever reads: the answer, what is made of it, and slack.
const MOST_KB: u64 = 96 << 10;

/// Memory of the process, in KiB: now, or the most since it was last forgotten.
fn resident(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a figure");
    line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").trim().parse().expect("a number")
}

fn endless(family: Family, stream: bool) -> Vec<(&'static str, Act)> {
    let forever = |said: Vec<String>, bytes: String| Act::Say(200, Vec::new(), said, Then::Forever(bytes));
    let filler = "x".repeat(64 << 10);
    if !stream {
        return vec![("an endless body", forever(family.good(false)[..1].to_vec(), filler))];
    }
    let little = family.little();
    vec![
        ("a line without end", forever(vec![family.endless_frame()], filler.clone())),
        ("an answer without end", forever(Vec::new(), little.repeat((32 << 10) / little.len()))),
        ("comments without end", forever(Vec::new(), if family.provider == "ollama" { "\n".repeat(32 << 10) } else { ": wait\n\n".repeat(4 << 10) })),
        ("a huge refusal", Act::Say(400, Vec::new(), Vec::new(), Then::Forever(filler))),
    ]
}

#[tokio::test]
#[ignore = "it measures the whole process, which other tests would disturb: scripts/test-providers.sh"]
async fn endless_answers_are_cut_off_in_bounded_memory() {
    for family in everywhere() {
        for stream in [true, false] {
            for (what, act) in endless(family, stream) {
                std::fs::write("/proc/self/clear_refs", "5").expect("the peak is forgotten");
                let before = resident("VmRSS");
                let found = end(family, stream, vec![act], "").await;
                let more = resident("VmHWM").saturating_sub(before);
                assert!(more < MOST_KB, "{} {stream}: {what} took {more} KiB", family);
                assert_eq!(found.asked, 1, "{} {stream}: {what}", family);
                let code = if what == "a huge refusal" { "provider_bad_request" } else { "provider_protocol" };
                assert_eq!(found.code, code, "{} {stream}: {what}", family);
            }
        }
    }
}

#[tokio::test]
async fn endless_answers_fail() {
    for family in everywhere() {
        let little = family.little();
        let act = Act::Say(200, Vec::new(), Vec::new(), Then::Forever(little.repeat((32 << 10) / little.len())));
        assert_eq!(end(family, true, vec![act], "").await.code, "provider_protocol", "{}", family);
        let line = Act::Say(200, Vec::new(), vec![family.endless_frame()], Then::Forever("x".repeat(64 << 10)));
        assert_eq!(end(family, true, vec![line], "").await, ended("provider_protocol", (0, 0), 1), "{}", family);
    }
}
