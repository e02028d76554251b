//! Scripts of builder tools: what the engine does without looking at the time, and what it makes of its memory.

use std::time::{Duration, Instant};

use wfstudio::fuzzing::script;

use crate::trial::{STACK, each, trial, trials};

/// Runs a script with a second of time; how long it took, with a check that it could be stored.
fn ran(code: &str) -> (Duration, String) {
    let begun = Instant::now();
    let (given, _problem) = script(code, "{}", Duration::from_secs(1));
    (begun.elapsed(), given.chars().take(80).collect())
}

#[test]
fn results_of_very_many_values_are_not_read() {
    trial("scripts::results_of_very_many_values_are_not_read", STACK, || {
        for code in [
            "return '0'.repeat(4e6).split('').map(Number)",
            "const a = []; for (let n = 0; n < 9e5; n++) a.push(0); return a",
            "return JSON.parse('[' + '[],'.repeat(8e5) + '0]')",
            "return {toJSON() { return Array(1e6).fill(0) }}",
            "const o = {}; for (let n = 0; n < 2e5; n++) o[n] = {}; return o",
            "const a = [0]; const b = Array(1000).fill(a); return Array(1000).fill(b)",
        ] {
            let (took, given) = ran(code);
            assert!(took < Duration::from_secs(10), "{code}: {took:?} {given}");
        }
    });
}

#[test]
fn what_the_engine_does_without_a_look_at_the_time_is_short() {
    trial("scripts::what_the_engine_does_without_a_look_at_the_time_is_short", STACK, || {
        for code in [
            "const a = new Float64Array(6e6); for (let i = 0; i < a.length; i += 999) a[i] = -i; return a.sort()[0]",
            "return new Uint8Array(6e7).fill(1).indexOf(2)",
            "return new Uint8Array(3e6).join().length",
            "return new RegExp('[^a]'.repeat(5e4), 'iu').test('b')",
            "return new RegExp('(?:[^a]|\\\\w)'.repeat(3e4), 'iu').test('b')",
            "return new RegExp('\\\\p{L}'.repeat(3e3), 'iu').test('b')",
            "return new RegExp('(?:'.repeat(200) + 'a' + '{9}){9}'.repeat(1) + '){9}'.repeat(199)).test('a')",
            "return new RegExp('(a?){' + 1e4 + '}a{' + 1e4 + '}').test('a'.repeat(1e4))",
            "return 'a'.repeat(1e6).replace(/a*?$/g, 'b').length",
            "return 'ab'.repeat(1e6).split('a').length",
            "return 'x'.repeat(2e7).toUpperCase().toLowerCase().length",
            "return '\\u0130'.repeat(5e6).toLowerCase().length",
            "let s = ''; for (let i = 0; i < 3e5; i++) s += i; return s.length",
            "return encodeURIComponent('\\u00e9'.repeat(4e6)).length",
            "return parseInt('1'.repeat(1e7), 36)",
            "return Number('1'.repeat(1e7))",
            "return BigInt('0x' + 'f'.repeat(2e5)).toString(10).length",
            "return Object.keys(new Uint8Array(3e5)).length",
            "return structuredClone",
            "return JSON.stringify('\\u0001'.repeat(1e6)).length",
            "return eval('1' + '+1'.repeat(1e5))",
            "return eval('[' + '1,'.repeat(3e5) + ']').length",
            "return new Function('a' + ',a'.repeat(6e4), '')",
            "return `${'x'.repeat(1e7)}`.localeCompare('x'.repeat(1e7))",
            "return 'e\\u0301'.repeat(1e6).normalize('NFC').length",
            "return Array.from({length: 1e7}).length",
            "return [...'x'.repeat(1e7)].length",
            "return new Map(Array.from({length: 3e5}, (_, n) => [n, n])).size",
        ] {
            let (took, given) = ran(code);
            println!("{took:?} {given} <- {}", code.chars().take(70).collect::<String>());
            // Within one operation on large numbers it does not look at the time; the caller has its answer meanwhile.
            assert!(took < Duration::from_secs(12), "{code}: {took:?} {given}");
        }
    });
}

/// The longest code that is stored: 256 KiB. It is parsed while a request waits.
#[test]
fn code_of_any_shape_is_parsed_soon() {
    const NAME: &str = "scripts::code_of_any_shape_is_parsed_soon";
    trials(NAME, STACK, || {
        for piece in [
            "/[^a]/iu;", "/\\p{L}/iu;", "/[\\p{L}--a]/v;", "/(?<a>b)|(?<a>c)/;", "(", "[", "{", "((a)=>", "`${", "a=>", "a?", "a?.[", "1n**", "function a(){", "class A{static{",
            "var a;", "let a1;", "a:", "for(;;)", "if(a)", "try{", "async()=>await ", "yield*", "...a,", "\"\\u{1}\"+", "//", "/*", "<!--", "switch(a){case 1:", "({a:", "new ",
            "delete ", "!", "x=", "[a]=", "({a}=", "do ", "label:", "()=>{", "/(?:/", "/((((((((((/;", "/a{1,9}{1,9}/;", "/(?=a)/;", "9999999999999999999999n,",
        ] {
            let code = piece.repeat((256 << 10) / piece.len());
            each(NAME, || {
                let begun = Instant::now();
                let (_given, problem) = script(&code, "{}", Duration::from_secs(1));
                let took = begun.elapsed();
                println!("{took:?} {piece} {:?}", problem.map(|problem| problem.chars().take(60).collect::<String>()));
                assert!(took < Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 4 }), "{piece}: {took:?}");
            });
        }
    });
}
