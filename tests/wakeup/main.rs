//! Plays the wake-up of streams (`src/ffi/door`) in every order of its threads: `scripts/test-wakeup.sh`.
//!
//! The files of the product are compiled as they are; only `crate::sync` is made of loom's locks. A wake-up that is lost leaves a thread that
//! waits for ever, which loom reports with the steps that lead there.

// Each file has more than what is played here.
#![allow(dead_code)]

mod sync;

#[path = "../../src/ffi"]
mod ffi {
    pub(crate) mod fault {
        //! The faults that the files name, without their texts.

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code {
            Internal,
            Closed,
        }

        #[derive(Debug)]
        pub(crate) struct Fault(pub(crate) Code);

        impl Fault {
            pub(crate) fn new(code: Code, _: &str) -> Self {
                Self(code)
            }

            pub(crate) fn closed() -> Self {
                Self(Code::Closed)
            }
        }
    }

    pub(crate) mod door {
        mod deadline;
        mod descriptor;
        mod ready_streams;
        mod wakeup;

        #[path = "../../../tests/wakeup/models.rs"]
        pub(crate) mod models;
    }
}

fn main() {
    let only = std::env::args().nth(1).unwrap_or_default();
    let chosen = ffi::door::models::ALL.iter().filter(|(name, _)| name.contains(&only));
    let played = chosen.map(|(name, model)| {
        let begun = std::time::Instant::now();
        println!("{name}: {} orders in {:.1} s", model(), begun.elapsed().as_secs_f32());
    });
    let count = played.count();
    assert!(count > 0, "there is no model of that name");
    println!("test result: ok. {count} passed");
}
