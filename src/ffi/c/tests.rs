//! The C functions as a C program sees them, without a C program: fit for Miri and sanitizers.

use std::ptr::{null, null_mut};

use super::buffer::{studio_buf, studio_buf_free};
use super::engine::*;
use super::host::*;
use super::stream::*;
use super::*;

struct Call {
    code: i32,
    text: String,
}

fn taken(code: i32, mut out: studio_buf) -> Call {
    let bytes = if out.data.is_null() { Vec::new() } else { unsafe { std::slice::from_raw_parts(out.data, out.len + 1).to_vec() } };
    unsafe { studio_buf_free(&mut out) };
    unsafe { studio_buf_free(&mut out) };
    assert!(out.data.is_null() && out.len == 0);
    assert!(bytes.last().is_none_or(|last| *last == 0), "a NUL follows the bytes");
    Call { code, text: String::from_utf8_lossy(bytes.get(..bytes.len().saturating_sub(1)).unwrap_or_default()).into_owned() }
}

fn open() -> *mut studio_engine {
    let config = br#"{"environment":"local","database":{"path":":memory:"}}"#;
    let mut engine = null_mut();
    let mut err = studio_buf::EMPTY;
    let code = unsafe { studio_engine_open(config.as_ptr(), config.len(), &mut engine, &mut err) };
    let call = taken(code, err);
    assert_eq!((call.code, call.text.as_str()), (STUDIO_OK, ""));
    engine
}

fn call(engine: *mut studio_engine, op: &std::ffi::CStr, request: &[u8]) -> Call {
    let mut out = studio_buf::EMPTY;
    let code = unsafe { studio_call(engine, op.as_ptr(), request.as_ptr(), request.len(), &mut out) };
    taken(code, out)
}

#[test]
fn a_closed_handle_is_closed_and_a_handle_of_another_kind_is_none() {
    let engine = open();
    assert_eq!(call(engine, c"ops", b"").code, STUDIO_OK);
    let mut out = studio_buf::EMPTY;
    assert_eq!(unsafe { studio_stream_next(engine.cast(), 0, &mut out) }, STUDIO_BAD_HANDLE);
    taken(0, out);
    assert_eq!(unsafe { studio_engine_close(engine, 1000) }, STUDIO_OK);
    assert_eq!(unsafe { studio_engine_close(engine, 1000) }, STUDIO_CLOSED);
    assert_eq!(call(engine, c"ops", b"").code, STUDIO_CLOSED);
}

#[test]
fn wrong_arguments_are_told_and_do_not_crash() {
    let engine = open();
    let mut out = studio_buf::EMPTY;
    unsafe {
        assert_eq!(studio_engine_open(null(), 0, null_mut(), null_mut()), STUDIO_INVALID);
        assert_eq!(studio_engine_open(null(), 7, &mut null_mut(), null_mut()), STUDIO_INVALID);
        assert_eq!(studio_engine_open(b"\xff".as_ptr(), 1, &mut null_mut(), null_mut()), STUDIO_INVALID);
        assert_eq!(studio_call(engine, null(), null(), 0, &mut out), STUDIO_INVALID);
        assert!(taken(0, out).text.contains("the name is NULL"));
        assert_eq!(studio_call(engine, c"ops".as_ptr(), null(), 0, null_mut()), STUDIO_INVALID);
        assert_eq!(studio_call(engine, c"ops".as_ptr(), b"{".as_ptr(), usize::MAX, null_mut()), STUDIO_INVALID);
        assert_eq!(studio_stream_on_event(null_mut(), None, null_mut(), None), STUDIO_INVALID);
        assert_eq!(studio_host_complete(engine, 1, 3, null(), 0), STUDIO_INVALID);
        assert_eq!(studio_host_complete(engine, u64::MAX, 1, null(), 0), STUDIO_NOT_FOUND);
        studio_buf_free(null_mut());
    }
    assert_eq!(call(engine, c"no.such", b"").code, STUDIO_NOT_FOUND);
    assert_eq!(call(engine, c"ops", b"[]").code, STUDIO_INVALID);
    let long = [b'a'; 5000];
    let mut out = studio_buf::EMPTY;
    assert_eq!(unsafe { studio_call(engine, long.as_ptr().cast(), null(), 0, &mut out) }, STUDIO_INVALID);
    assert!(taken(0, out).text.contains("4095"));
    unsafe { studio_engine_close(engine, 1000) };
}

#[test]
fn a_panic_is_a_code() {
    let mut out = studio_buf::EMPTY;
    let code = unsafe { entry::Entry::to(&mut out) }.run(|| std::panic::resume_unwind(Box::new("no hook")));
    let call = taken(code, out);
    assert_eq!(call.code, STUDIO_PANIC);
    assert!(call.text.contains(r#""code":"panic""#), "{}", call.text);
}

#[test]
fn shared_engines_are_one_until_closed() {
    let shared = || {
        let mut engine = null_mut();
        let config = br#"{"database":{"path":":memory:"}}"#;
        let code = unsafe { studio_engine_shared(c"a test".as_ptr(), config.as_ptr(), config.len(), &mut engine, null_mut()) };
        assert_eq!(code, STUDIO_OK);
        engine
    };
    let first = shared();
    assert_eq!(first, shared());
    assert_eq!(unsafe { studio_engine_close(first, 1000) }, STUDIO_OK);
    let second = shared();
    assert_ne!(first, second);
    let named = |config: &[u8]| {
        let (mut engine, mut problem) = (null_mut(), studio_buf::EMPTY);
        let code = unsafe { studio_engine_shared(c"a test".as_ptr(), config.as_ptr(), config.len(), &mut engine, &mut problem) };
        unsafe { studio_buf_free(&mut problem) };
        (code, engine)
    };
    assert_eq!(named(b""), (STUDIO_OK, second), "the engine as it is");
    assert_eq!(named(br#"{ "database": {"path": ":memory:"} }"#), (STUDIO_OK, second));
    assert_eq!(named(br#"{"database":{"path":":memory:"},"locale":"pt_BR"}"#), (STUDIO_CONFLICT, null_mut()));
    assert_eq!(unsafe { studio_engine_close(second, 1000) }, STUDIO_OK);
}

unsafe extern "C-unwind" fn count(user_data: *mut std::ffi::c_void) {
    let counted = unsafe { &*user_data.cast::<std::sync::atomic::AtomicU32>() };
    counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
}

unsafe extern "C-unwind" fn refuse(_: *mut std::ffi::c_void, _: *const u8, _: usize) -> i32 {
    1
}

#[test]
fn user_data_is_let_go_once_when_another_host_takes_its_place_and_never_on_an_error() {
    static GONE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let gone = || GONE.load(std::sync::atomic::Ordering::SeqCst);
    let data = std::ptr::from_ref(&GONE).cast_mut().cast();
    let engine = open();
    let set = |ops: &[u8]| unsafe { studio_host_set(engine, ops.as_ptr(), ops.len(), Some(refuse), data, Some(count)) };
    assert_eq!((set(br#"{"ops":["no.such"]}"#), gone()), (STUDIO_INVALID, 0));
    assert_eq!((set(br#"{"ops":["gate"]}"#), gone()), (STUDIO_OK, 0));
    assert_eq!((set(br#"{"ops":["gate"]}"#), gone()), (STUDIO_OK, 1));
    assert_eq!((unsafe { studio_engine_close(engine, 1000) }, gone()), (STUDIO_OK, 2));
}

#[cfg(feature = "header")]
#[test]
fn the_committed_headers_are_those_that_the_functions_make() {
    let same = |made: &str, kept: &str| assert!(made == kept, "run `make generate` and commit include/");
    same(include_str!(concat!(env!("OUT_DIR"), "/wfstudio.h")), include_str!("../../../include/wfstudio.h"));
    same(include_str!(concat!(env!("OUT_DIR"), "/wfstudio.ffi.h")), include_str!("../../../include/wfstudio.ffi.h"));
}

#[test]
fn usage_is_one_through_its_function_and_its_operations() {
    let engine = open();
    let used = |query: &[u8]| {
        let mut out = studio_buf::EMPTY;
        let code = unsafe { studio_usage(engine, query.as_ptr(), query.len(), &mut out) };
        taken(code, out)
    };
    let window = br#"{"from":"2026-11-01","to":"2026-11-30","group_by":"day","tenant":"a"}"#;
    let told = used(window);
    assert!(told.code == STUDIO_OK && told.text.contains("\"run_count\":0"), "{}", told.text);
    assert_eq!(call(engine, c"usage.query", window).text, told.text);
    for (query, code) in [
        (&b"{}"[..], STUDIO_INVALID),
        (br#"{"from":"2026-11-02","to":"2026-11-01"}"#, STUDIO_INVALID),
        (br#"{"from":1,"to":2}"#, STUDIO_INVALID),
        (br#"{"run":"none"}"#, STUDIO_NOT_FOUND),
        (br#"{"run":7}"#, STUDIO_INVALID),
    ] {
        assert_eq!(used(query).code, code, "{query:?}");
    }
    assert_eq!(call(engine, c"usage.run", br#"{"run":"none"}"#).text, used(br#"{"run":"none"}"#).text);
    assert_eq!(call(engine, c"usage.run", b"{}").code, STUDIO_INVALID);
    assert_eq!(unsafe { studio_engine_close(engine, 1000) }, STUDIO_OK);
}
