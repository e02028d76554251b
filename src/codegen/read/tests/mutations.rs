//! Files with random faults never end in a panic, and never take long.

use super::super::{decode, list, read};
use super::*;

const PIECES: [&str; 40] = [
    "'",
    "\"",
    "\"\"\"",
    "`",
    "\\",
    "\n",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<<~X",
    "<<<X\n",
    "X\n",
    "#{",
    "${",
    "\\(",
    "/*",
    "*/",
    "//",
    "#",
    "=>",
    ":",
    ",",
    " to ",
    "as ",
    "class ",
    "end\n",
    "def ",
    "return ",
    "é",
    "😀",
    "\u{0}",
    "r#\"",
    "\"#",
    "?>",
    "<?php ",
    "\r\n",
    "definition",
];

#[test]
fn random_faults_are_read_or_refused() {
    let mut random = Random(7);
    for target in Target::ALL {
        let plain = class(target, &super::round_trips::written(target, &super::round_trips::object(&mut random, 3)));
        for _ in 0..1500 {
            let mut bytes = plain.as_bytes().to_vec();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(5) {
                    0 => drop(bytes.drain(at..(at + random.below(9)).min(bytes.len()))),
                    1 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
                    2 => bytes.truncate(at),
                    3 => {
                        let (from, to) = (random.below(bytes.len()), random.below(20));
                        let piece = bytes[from..(from + to).min(bytes.len())].to_vec();
                        drop(bytes.splice(at..at, piece));
                    }
                    _ => bytes[at] = (random.next() & 0xFF) as u8,
                }
                if bytes.is_empty() {
                    bytes.push(b' ');
                }
            }
            if let Ok(text) = decode(&bytes) {
                drop((read(target, text, None), read(target, text, Some("A")), list(target, text)));
            }
            let lossy = String::from_utf8_lossy(&bytes);
            drop((read(target, &lossy, None), list(target, &lossy)));
        }
    }
}
