//! Tests of plain connections against servers that say exactly what they are told to, cut anywhere.

use std::sync::Mutex;

use http::StatusCode;
use proptest::prelude::*;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use super::*;

/// A server whose connections answer in turn; what it was sent, and how many connections were made.
struct Server {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

/// Pieces of one answer; the piece `CLOSE` closes the connection.
type Told = Vec<Vec<u8>>;
const CLOSE: &[u8] = b"CLOSE";

impl Server {
    /// Each request, on whichever connection it comes, gets the next answer.
    async fn start(answers: Vec<Told>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1/chat", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let server = Self { url, seen: Arc::clone(&seen), connections: Arc::clone(&connections) };
        let answers = Arc::new(Mutex::new(answers));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *connections.lock().unwrap() += 1;
                tokio::spawn(serve(stream, Arc::clone(&answers), Arc::clone(&seen)));
            }
        });
        server
    }

    fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn serve(mut stream: TcpStream, answers: Arc<Mutex<Vec<Told>>>, seen: Arc<Mutex<Vec<String>>>) {
    stream.set_nodelay(true).unwrap();
    let mut request = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut request).await {
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length: usize = head.rsplit("content-length: ").next().unwrap().parse().unwrap();
        if body.len() < length {
            continue;
        }
        request.clear();
        seen.lock().unwrap().push(text);
        let pieces = answers.lock().unwrap().remove(0);
        for piece in pieces {
            if piece == CLOSE || stream.write_all(&piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

async fn post(plain: &Plain, url: &str) -> io::Result<(Head, Body)> {
    plain.post(plain.target(url).expect("a plain URL"), &[], Bytes::from_static(b"{}")).await
}

async fn whole(plain: &Plain, url: &str) -> io::Result<(u16, String)> {
    let (head, mut body) = post(plain, url).await?;
    let mut text = Vec::new();
    while let Some(piece) = body.next().await? {
        text.extend_from_slice(&piece);
    }
    Ok((head.status, String::from_utf8(text).unwrap()))
}

fn told(text: &str) -> Told {
    vec![text.as_bytes().to_vec()]
}

fn closed(text: &str) -> Told {
    vec![text.as_bytes().to_vec(), CLOSE.to_vec()]
}

const LENGTH: &str = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world";
const CHUNKS: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n\
    5\r\nhello\r\n0001;note=\"x\"\r\n \r\n5\r\nworld\r\n0\r\nX-Trailer: 1\r\n\r\n";
const UNTIL_CLOSED: &str = "HTTP/1.1 200 OK\r\n\r\nhello world";
const OLD: &str = "HTTP/1.0 200 OK\r\ncontent-length: 11\r\n\r\nhello world";
const EARLY: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n\
    HTTP/1.1 200 OK\r\ncontent-length: 11, 11\r\ncontent-length: 11\r\n\r\nhello world";

#[tokio::test]
async fn a_request_is_what_was_asked_and_nothing_more() {
    let server = Server::start(vec![told(LENGTH)]).await;
    let plain = Plain::new(false);
    let headers = [
        (http::header::AUTHORIZATION, HeaderValue::from_static("Bearer k")),
        (http::header::USER_AGENT, HeaderValue::from_static("mine")),
        (http::header::CONTENT_LENGTH, HeaderValue::from_static("7")),
        (http::header::TRANSFER_ENCODING, HeaderValue::from_static("chunked")),
    ];
    let url = format!("{}?api-version=1", server.url);
    let target = plain.target(&url).unwrap();
    let (head, _) = plain.post(target, &headers, Bytes::from_static(b"{\"a\":1}")).await.unwrap();
    assert_eq!(head.status, StatusCode::OK);
    let host = server.url.strip_prefix("http://").unwrap().strip_suffix("/v1/chat").unwrap();
    assert_eq!(
        server.seen.lock().unwrap()[0],
        format!(
            "POST /v1/chat?api-version=1 HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: */*\r\n\
             authorization: Bearer k\r\nuser-agent: mine\r\ncontent-length: 7\r\n\r\n{{\"a\":1}}"
        )
    );
}

#[tokio::test]
async fn a_connection_is_used_again_when_its_answer_came_whole() {
    for (answer, lasts) in [(LENGTH, true), (CHUNKS, true), (EARLY, true), (OLD, false)] {
        let server = Server::start(vec![told(answer), told(answer), told(answer)]).await;
        let plain = Plain::new(false);
        for _ in 0..3 {
            assert_eq!(whole(&plain, &server.url).await.unwrap(), (200, "hello world".into()), "{answer}");
        }
        assert_eq!(server.connections(), if lasts { 1 } else { 3 }, "{answer}");
        assert_eq!(plain.pool.count(), usize::from(lasts), "{answer}");
    }
}

#[tokio::test]
async fn a_reader_that_stops_early_keeps_only_what_came_whole() {
    let marked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n[end]\r\n0\r\n\r\n";
    for (answer, kept) in [(marked, 1), (&marked[..marked.len() - 5], 0), ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n[end]", 0)] {
        let server = Server::start(vec![told(answer)]).await;
        let plain = Plain::new(false);
        let (_, mut body) = post(&plain, &server.url).await.unwrap();
        assert_eq!(body.next().await.unwrap().unwrap(), "[end]");
        drop(body);
        assert_eq!(plain.pool.count(), kept, "{answer}");
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_or_spoke_unasked_is_not_used_again() {
    let close = LENGTH.replace("OK", "OK\r\nConnection: Keep-Alive, Close");
    let unasked = format!("{LENGTH}HTTP/1.1 200 OK\r\n");
    let both = CHUNKS.replace("OK", "OK\r\ncontent-length: 5");
    for answer in [told(&close), told(&unasked), told(&both), closed(LENGTH), vec![LENGTH.into(), b"more".to_vec()]] {
        let server = Server::start(vec![answer, told(LENGTH)]).await;
        let plain = Plain::new(false);
        assert_eq!(whole(&plain, &server.url).await.unwrap().1, "hello world");
        while plain.pool.close_unused(Handle::current().id(), pool::KEPT) {
            tokio::task::yield_now().await;
        }
        assert_eq!(whole(&plain, &server.url).await.unwrap().1, "hello world");
        assert_eq!(server.connections(), 2);
    }
}

#[tokio::test]
async fn an_answer_without_an_end_ends_with_the_connection() {
    let coded = "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\ncontent-length: 3\r\n\r\nhello world";
    let server = Server::start(vec![closed(UNTIL_CLOSED), closed(coded), told("HTTP/1.1 204 No Content\r\n\r\n")]).await;
    let plain = Plain::new(false);
    for _ in 0..2 {
        assert_eq!(whole(&plain, &server.url).await.unwrap(), (200, "hello world".into()));
    }
    assert_eq!(whole(&plain, &server.url).await.unwrap(), (204, String::new()));
    assert_eq!(plain.pool.count(), 1);
}

#[tokio::test]
async fn what_came_before_a_broken_chunk_is_given() {
    let server = Server::start(vec![told("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\nno\r\n")]).await;
    let plain = Plain::new(false);
    let (_, mut body) = post(&plain, &server.url).await.unwrap();
    assert_eq!(body.next().await.unwrap().unwrap(), "hello");
    assert!(body.next().await.unwrap_err().to_string().contains("no length"));
    drop(body);
    assert_eq!(plain.pool.count(), 0);
}

#[tokio::test]
async fn what_is_no_answer_is_refused_and_its_connection_closed() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let chunked = format!("{ok}transfer-encoding: chunked\r\n\r\n");
    for (answer, why) in [
        (String::new(), "before an answer came"),
        ("HTTP/1.1 2".into(), "before an answer came"),
        ("SSH-2.0-OpenSSH\r\n\r\n".into(), "cannot be read"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n".into(), "another protocol"),
        (format!("{ok}a: {}\r\n\r\n", "x".repeat(2 * HEAD_LIMIT)), "too long"),
        (format!("{ok}{}\r\n", "a: b\r\n".repeat(MOST_HEADERS + 1)), "too many headers"),
        (format!("{ok}content-length: 5\r\ncontent-length: 6\r\n\r\nhello"), "its length is none"),
        (format!("{ok}content-length: 5,\r\n\r\nhello"), "its length is none"),
        (format!("{ok}content-length: -5\r\n\r\nhello"), "its length is none"),
        (format!("{ok}content-length: +5\r\n\r\nhello"), "its length is none"),
        (format!("{ok}content-length: 99999999999999999999\r\n\r\nhello"), "its length is none"),
        (format!("{ok}content-length: 6\r\n\r\nhello"), "closed in the middle"),
        ("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".into(), "no chunks"),
        ("HTTP/1.1 100 Continue\r\n\r\n".repeat(8 << 10), "too long"),
        (format!("{chunked}5\r\nhello"), "closed in the middle"),
        (format!("{chunked}5\r\nhello\r\n0\r\n"), "closed in the middle"),
        (format!("{chunked}4\r\nhello\r\n0\r\n\r\n"), "longer than it says"),
        (format!("{chunked}-5\r\nhello\r\n0\r\n\r\n"), "no length"),
        (format!("{chunked}+5\r\nhello\r\n0\r\n\r\n"), "no length"),
        (format!("{chunked}\r\nhello\r\n0\r\n\r\n"), "no length"),
        (format!("{chunked}11111111111111111\r\nhello\r\n"), "no length"),
        (format!("{chunked}5;{}", "x".repeat(17 << 10)), "too long"),
        (format!("{chunked}0\r\n{}", "a: b\r\n".repeat(4 << 10)), "too long"),
    ] {
        let server = Server::start(vec![closed(&answer)]).await;
        let plain = Plain::new(false);
        let problem = whole(&plain, &server.url).await.err().map(|problem| problem.to_string());
        assert!(problem.as_ref().is_some_and(|problem| problem.contains(why)), "{answer:.200}: {problem:?}");
        assert_eq!(plain.pool.count(), 0);
    }
}

#[tokio::test]
async fn a_refusal_is_heard_while_a_long_request_is_still_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig").await.unwrap();
        stream
    });
    let plain = Plain::new(false);
    let target = plain.target(&url).unwrap();
    let (head, mut body) = plain.post(target, &[], Bytes::from(vec![b' '; 64 << 20])).await.unwrap();
    assert_eq!((head.status, body.next().await.unwrap().unwrap()), (413, Bytes::from_static(b"big")));
    assert!(body.next().await.unwrap().is_none());
    assert_eq!(plain.pool.count(), 0, "the rest of the request was never sent");
    drop(server.await.unwrap());
}

#[tokio::test]
async fn nobody_there_is_told_as_the_system_says_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let problem = post(&Plain::new(false), &url).await.err().expect("nobody listens");
    assert_eq!(problem.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn an_answer_that_begins_early_still_gets_the_whole_request() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    const LONG: usize = 16 << 20;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n:\r\n").await.unwrap();
        let (mut seen, mut piece) = (0, vec![0; 64 << 10]);
        while seen < LONG {
            seen += stream.read(&mut piece).await.unwrap();
        }
        stream.write_all(b"3\r\nall\r\n0\r\n\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let plain = Plain::new(false);
    let (_, mut body) = plain.post(plain.target(&url).unwrap(), &[], Bytes::from(vec![b' '; LONG])).await.unwrap();
    let mut text = Vec::new();
    while let Some(piece) = body.next().await.unwrap() {
        text.extend_from_slice(&piece);
    }
    assert_eq!((text.as_slice(), plain.pool.count()), (&b":all"[..], 1));
}

#[tokio::test]
async fn a_server_that_never_stops_does_not_keep_a_caller() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let listener = listener.into_std().unwrap();
        listener.set_nonblocking(false).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
        // Chunks of one letter with much to say about each: next to nothing comes of it.
        let chunks = format!("1;{}\r\nx\r\n", "y".repeat(15 << 10)).repeat(64);
        while io::Write::write_all(&mut stream, chunks.as_bytes()).is_ok() {}
    });
    let plain = Plain::new(false);
    let reading = async {
        let (_, mut body) = post(&plain, &url).await?;
        while body.next().await?.is_some() {}
        io::Result::Ok(())
    };
    assert!(tokio::time::timeout(std::time::Duration::from_millis(300), reading).await.is_err());
}

#[tokio::test]
async fn a_silent_address_does_not_stand_in_the_way_of_the_next() {
    let silent = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    silent.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    silent.listen(0).unwrap();
    let full = silent.local_addr().unwrap().as_socket().unwrap();
    // Whoever is not let in by a full queue hears nothing.
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) = tokio::time::timeout(std::time::Duration::from_millis(50), TcpStream::connect(full)).await {
        waiting.push(stream);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let good = listener.local_addr().unwrap();
    let stream = pool::first_of([full, good].into_iter()).await.unwrap();
    assert_eq!(stream.peer_addr().unwrap(), good);
    drop(listener);
    let problem = pool::first_of([good].into_iter()).await.unwrap_err();
    assert_eq!(problem.kind(), io::ErrorKind::ConnectionRefused);
    assert!(pool::first_of(std::iter::empty()).await.is_err());
}

#[tokio::test]
async fn connections_that_nobody_uses_are_closed() {
    let server = Server::start(vec![told(LENGTH), told(LENGTH)]).await;
    let (plain, here) = (Plain::new(false), Handle::current().id());
    whole(&plain, &server.url).await.unwrap();
    assert!(plain.pool.close_unused(here, pool::KEPT) && plain.pool.count() == 1);
    assert!(!plain.pool.close_unused(here, std::time::Duration::ZERO) && plain.pool.count() == 0);
    whole(&plain, &server.url).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[test]
fn connections_end_with_their_runtime() {
    let plain = Plain::new(false);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(vec![told(LENGTH)]).await;
        whole(&plain, &server.url).await.unwrap();
    });
    assert_eq!(plain.pool.count(), 1);
    drop(runtime);
    assert_eq!(plain.pool.count(), 0);
}

#[tokio::test]
async fn one_task_looks_after_all_that_is_kept() {
    let server = Server::start((0..20).map(|_| told(LENGTH)).collect()).await;
    let plain = Plain::new(false);
    whole(&plain, &server.url).await.unwrap();
    let tasks = Handle::current().metrics().num_alive_tasks();
    for _ in 1..20 {
        whole(&plain, &server.url).await.unwrap();
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}

#[test]
fn only_plain_urls_are_asked_plainly() {
    let plain = Plain::new(false);
    for url in ["http://localhost:11434/v1/chat/completions", "http://[::1]:8080/a?b=c&d", "http://10.0.0.7/x%20y", "HTTP://A.example/"] {
        assert!(plain.target(url).is_some(), "{url}");
    }
    for url in [
        "https://a.example/",
        "http://user:word@a.example/",
        "http://a.example/ü",
        "http://a.example/a/../b",
        "http://a.example/{b}",
        "http://a.example/a#b",
        "http:///a",
        "/a",
        "ftp://a.example/",
        "http://a.example:99999/",
        "http://a.example:80/",
        "http://a.example:/",
        "http://a.example?b=/v1",
        "http://a.example/%2E%2e/b",
    ] {
        assert!(plain.target(url).is_none(), "{url}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However an answer is chunked, and wherever it is cut on the way, the same comes out.
    #[test]
    fn cuts_do_not_matter(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..12), cuts in prop::collection::vec(1..30usize, 1..20)) {
        let mut wire = Vec::new();
        for chunk in &chunks {
            wire.extend(format!("{:x}\r\n", chunk.len()).bytes());
            wire.extend(chunk);
            wire.extend(b"\r\n");
        }
        wire.extend(b"0\r\nt: 1\r\n\r\n!");
        let (mut buffer, mut state, mut found) = (BytesMut::new(), chunks::Chunks::Length, Vec::new());
        let (mut rest, mut cuts) = (wire.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
            rest = later;
            buffer.extend_from_slice(now);
            found.extend(state.take(&mut buffer).unwrap());
        }
        prop_assert_eq!(state, chunks::Chunks::Over);
        prop_assert_eq!(found, chunks.concat());
        prop_assert_eq!(&buffer[..], b"!");
    }
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_is_made_anew() {
    let good = || vec![b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_vec()];
    let server = Server::start(vec![good(), vec![CLOSE.to_vec()], good(), vec![CLOSE.to_vec()], vec![CLOSE.to_vec()]]).await;
    let plain = Plain::new(false);
    for _ in 0..2 {
        assert_eq!(whole(&plain, &server.url).await.expect("an answer"), (200, "ok".to_owned()));
    }
    assert_eq!((server.connections(), server.seen.lock().unwrap().len()), (2, 3));
    whole(&plain, &server.url).await.expect_err("a connection that was just made is not made again");
}
