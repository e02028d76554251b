use std::time::Duration;

use super::*;

fn limit(millis: u64) -> Limit {
    Limit { until: Instant::now() + Duration::from_millis(millis), unwanted: Arc::default() }
}

/// Scripts run on a thread with a stack as large as in the studio.
fn ran(code: &str, input: &str, millis: u64) -> String {
    let (code, input) = (code.to_owned(), input.to_owned());
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK);
    let thread = thread.spawn(move || run(&code, &input, &limit(millis))).expect("a thread");
    match thread.join().expect("no panic") {
        Ok(json) => json,
        Err(Failed::Late) => "(late)".into(),
        Err(Failed::Threw(text)) => format!("threw {text}"),
    }
}

#[test]
fn scripts_give_what_they_return_as_json() {
    let table = [
        ("return input.a + 1", r#"{"a":1}"#, "2"),
        ("return {sum: input.list.reduce((a, b) => a + b, 0), text: `é ${input.list}`}", r#"{"list":[1,2]}"#, r#"{"sum":3,"text":"é 1,2"}"#),
        ("", "{}", "null"),
        ("return null", "{}", "null"),
        ("return await Promise.resolve(7)", "{}", "7"),
        ("return new Promise((done) => Promise.resolve().then(() => done('later')))", "{}", "\"later\""),
        ("return [new Map([[1, 2]]).size, /b+/.exec('abbc')[0], [3, 1, 2].sort(), 2n ** 3n === 8n]", "{}", r#"[1,"bb",[1,2,3],true]"#),
        ("return [[1, [2, [3]]].flat(Infinity), [1].concat([2], 3), 'a-b'.split('-').join('+'), Array.prototype.slice.call({0: 5, length: 1})]", "{}", r#"[[1,2,3],[1,2,3],"a+b",[5]]"#),
        ("return [new Date('2026-01-02T03:04:05Z').toISOString(), new Date(0) instanceof Date, Date.UTC(2026, 0)]", "{}", r#"["2026-01-02T03:04:05.000Z",true,1767225600000]"#),
        ("// a comment at the end", "{}", "null"),
        ("return input.__proto__ === Object.prototype", r#"{"__proto__":5}"#, "false"),
    ];
    for (code, input, wanted) in table {
        assert_eq!(ran(code, input, 2000), wanted, "{code}");
    }
}

#[test]
fn failures_say_what_was_thrown() {
    let table = [
        ("throw new TypeError('no order')", "threw TypeError: no order"),
        ("throw 'text'", "threw text"),
        ("return x", "threw ReferenceError: x is not defined"),
        ("return 1n", "threw TypeError: BigInt are forbidden in JSON.stringify"),
        ("return () => 1", "threw TypeError: the result cannot be written as JSON"),
        ("const a = []; a.push(a); return a", "threw TypeError: circular reference"),
        ("return new Promise(() => {})", "threw the result is a promise that nothing keeps"),
        ("return await Promise.reject(new Error('later'))", "threw Error: later"),
        ("return Math.random()", "threw Error: there is no randomness here: pass it in the input"),
        ("return new Date()", "threw Error: there is no clock here: pass it in the input"),
        ("return new Date(0).constructor.now()", "threw Error: there is no clock here: pass it in the input"),
        ("throw {toString() { throw 1 }}", "threw "),
        ("return 'x'.repeat(9000000)", "threw RangeError: the result is larger than 8 MiB"),
    ];
    for (code, wanted) in table {
        let told = ran(code, "{}", 2000);
        assert!(told.starts_with(wanted), "{code}: {told}");
    }
}

#[test]
fn a_script_sees_nothing_of_the_world() {
    let names = "return ['require', 'process', 'fetch', 'std', 'os', 'print', 'console', 'Deno', 'setTimeout', 'Worker', 'WebAssembly', 'Proxy', \
        'Atomics', 'SharedArrayBuffer', 'navigator', 'performance', 'WeakRef', 'gc'].filter((name) => name in globalThis)";
    assert_eq!(ran(names, "{}", 2000), "[]");
    assert!(ran("return await import('fs')", "{}", 2000).starts_with("threw "));
}

#[test]
fn scripts_that_do_not_end_are_stopped() {
    let scripts = [
        "for (;;);",
        "try { for (;;); } catch { return 1 } finally { for (;;); }",
        "return /(a+)+b/.test('a'.repeat(40))",
        "return {toJSON() { for (;;); }}",
        "return {get a() { for (;;); }}",
        "throw {toString() { for (;;); }}",
        "(function flood() { Promise.resolve().then(flood); Promise.resolve().then(flood) })(); await new Promise(() => {})",
        "return new Promise((done) => { (function again() { Promise.resolve().then(again) })() })",
        "return [].indexOf.call({length: 1e6, get 0() { for (;;); }}, 1)",
        "return new Set(Array.prototype.values.call({length: 2 ** 53 - 1}))",
        "return {then() { for (;;); }}",
        "const more = {}; more[Symbol.iterator] = function* () { for (;;) yield 1 }; for (const one of more);",
        "[1, 2].sort(() => { for (;;); })",
        "'a'.replace(/a/, () => { for (;;); })",
        "class A { static { for (;;); } }",
        "return JSON.parse('[1]', () => { for (;;); })",
    ];
    for script in scripts {
        let began = Instant::now();
        assert_eq!(ran(script, "{}", 150), "(late)", "{script}");
        assert!(began.elapsed() < Duration::from_secs(20), "{script}: {:?}", began.elapsed());
    }
}

#[test]
fn scripts_that_want_too_much_fail() {
    let scripts = [
        "return new Array(1e9) + ''",
        "return [new Array(1e9)].flat()",
        "return [].concat(new Array(4e9))",
        "return new Array(1e9).sort()",
        "return new Array(1e9).reverse()",
        "return Array.prototype.join.call({get length() { return 2 ** 53 - 1 }})",
        "return 'a'.repeat(3e7).indexOf('a'.repeat(1.5e7) + 'b')",
        "const s = 'ab'.repeat(1e7); return s.replaceAll('a', s)",
        "return 'x'.repeat(2 ** 30 - 2)",
        "return new Uint8Array(2 ** 30)",
        "(function deep() { deep() })()",
        "const a = []; for (let i = 0; i < 1e6; i++) a.push('x'.repeat(1000)); return a",
        "let q = null; for (let i = 0; i < 1e7; i++) q = {q}; return q",
        "return JSON.parse('['.repeat(1e6))",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
        "return eval('('.repeat(1e6))",
        "return new RegExp('('.repeat(1e6))",
    ];
    for script in scripts {
        let began = Instant::now();
        let told = ran(script, "{}", 40_000);
        assert!(told.starts_with("threw "), "{script}: {}", told.chars().take(100).collect::<String>());
        assert!(began.elapsed() < Duration::from_secs(30), "{script}: {:?}", began.elapsed());
    }
}

/// The engine does not look at the time within one operation on numbers; how large they may be bounds how long each takes.
#[test]
fn work_on_huge_numbers_is_bounded() {
    assert_eq!(ran("return 2n ** 100000000n", "{}", 10_000), "threw RangeError: BigInt is too large");
    for script in [
        "return (2n ** 1048543n).toString().length",
        "return BigInt('9'.repeat(310000)) > 0n",
        "const a = 2n ** 524000n; return a * a > a",
        "return (2n ** 1048000n - 1n) % (2n ** 524000n - 1n) >= 0n",
    ] {
        let began = Instant::now();
        let told = ran(script, "{}", 120_000);
        assert!(!told.starts_with("threw ") && told != "(late)", "{script}: {told}");
        eprintln!("{script}: {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(60), "{script}: {:?}", began.elapsed());
    }
}

#[test]
fn code_that_does_not_parse_is_seen_and_never_run() {
    let said = |code: &str| problem(code, limit(60_000));
    for code in ["return 1", "", "// only this", "const a = await 5; return a", "if (input.a) { return 1 } return 2", "let x = 1; { let x = 2; } return x"] {
        assert_eq!(said(code), None, "{code}");
    }
    for code in ["return (", "}", "const a = 1; const a = 2", "}); for (;;); (async function () {", "} for (;;); {", "return 1 }); throw 1; ({ a() {", "import x from 'y'"] {
        let began = Instant::now();
        let problem = said(code);
        assert!(problem.as_ref().is_some_and(|problem| !problem.contains("interrupted")), "{code}: {problem:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{code}");
    }
}
