//! Owns the delivery of a stream to a callback: in order, one end, then the callback is released.

use std::future::poll_fn;
use std::sync::Arc;

use super::super::fault::{Code, Fault};
use super::callback::{PATIENCE, awaited, within};
use super::engine::Pushing;
use super::stream::{Next, Stream};

/// The host's callback: a result code and its bytes; false when it wants no more.
pub(in crate::ffi) type Listener = Box<dyn FnMut(i32, &[u8]) -> bool + Send>;

/// The codes for a listener.
const BYTES: i32 = 0;
const END: i32 = 1;
const HOST_CALL: i32 = 3;
const HEAD: i32 = 4;

/// A callback that has not received the end. Dropping it delivers the end.
struct Callback {
    listener: Option<Listener>,
    _pushing: Pushing,
}

impl Callback {
    /// False when the callback wants no more.
    fn tell(&mut self, code: i32, bytes: &[u8]) -> bool {
        self.listener.as_mut().is_some_and(|listener| within(|| listener(code, bytes)))
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        let Some(mut listener) = self.listener.take() else { return };
        // A callback that panicked is not called again.
        if !std::thread::panicking() {
            within(|| listener(END, &[]));
        }
        within(|| drop(listener));
    }
}

/// From here on the stream's events go to the callback, which is asked for only when the stream can have one.
pub(in crate::ffi) fn on_event(stream: &Arc<Stream>, listener: impl FnOnce() -> Listener) -> Result<(), Fault> {
    let runtime = stream.engine().runtime()?;
    stream.begin_push()?;
    let callback = Callback { listener: Some(listener()), _pushing: stream.engine().pushing() };
    drop(runtime.spawn(tell_all(Arc::clone(stream), callback)));
    Ok(())
}

async fn tell_all(stream: Arc<Stream>, mut callback: Callback) {
    loop {
        let next = poll_fn(|context| stream.poll_next(context)).await;
        // Callbacks may take their time, so they run where blocking is allowed; each is awaited before the next.
        let called = tokio::task::spawn_blocking(move || {
            let more = tell(&mut callback, next);
            more.then_some(callback)
        });
        match awaited("it is told no more of its stream", PATIENCE, called).await {
            Some(Ok(Some(back))) => callback = back,
            Some(Ok(None) | Err(_)) | None => return stream.let_go(),
        }
    }
}

/// True if there is more to deliver. Otherwise `callback` is dropped here, on a thread that may block.
fn tell(callback: &mut Callback, next: Result<Next, Fault>) -> bool {
    match next {
        Ok(Next::Bytes(bytes)) => callback.tell(BYTES, &bytes),
        Ok(Next::HostCall(call)) => callback.tell(HOST_CALL, &call),
        Ok(Next::Head(head)) => callback.tell(HEAD, &head),
        Ok(Next::TimedOut) => true,
        Ok(Next::Over) => false,
        Err(fault) if fault.code == Code::Closed as i32 => false,
        Err(fault) => {
            callback.tell(fault.code, fault.text().as_bytes());
            false
        }
    }
}
