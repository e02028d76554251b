//! What only HTTP/2 can do wrong: streams that are reset, connections that end or die under a call, rooms that never open, floods.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::carriers::Carrier;
use super::frames::{
    CALM, CANCEL, CONTINUATION, DATA, END, END_HEADERS, HEAD, HEADERS, INTERNAL_ERROR, Link, NO_ERROR, PING, REFUSED_STREAM, Raw, SETTINGS,
};
use super::speech::{Family, everywhere};
use super::{AGES, End, IMPATIENT, LESS_IMPATIENT, PATIENT, Patience, end_of, ended, llm, run, run_in, studio};

/// Several connections and streams are the point here, not the wire families.
fn family() -> Family {
    everywhere().find(|family| family.provider == "openai" && family.carrier == Carrier::Tls2).expect("one")
}

async fn end(server: &Raw, stream: bool, patience: Patience) -> End {
    let ran = timeout(AGES, run(family(), &server.address, &llm(family(), stream, ""), patience)).await;
    let trace = ran.expect("no call hangs");
    end_of(&trace, server.asked())
}

/// Milliseconds before an answer is broken off: what arrives together with that is lost with it, so on a busy machine it comes later the second time.
const PAUSES: [u64; 2] = [200, 4000];

/// Answers whatever is asked, as it should be.
async fn serve_well(mut link: Link) -> std::io::Result<()> {
    loop {
        let stream = link.request().await?;
        link.head(stream).await?;
        link.say(stream, &family().good(true), END).await?;
    }
}

#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_stream_that_is_reset_in_the_middle_is_a_cut_answer() {
    for stream in [true, false] {
        for reason in [NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, CALM] {
            let (wanted, mut found) = (ended("provider_protocol", family().reported(stream, 1), 1), None);
            for pause in PAUSES {
                if found.as_ref() == Some(&wanted) {
                    break;
                }
                let server = Raw::start(&[], move |_, mut link| async move {
                    let asked = link.request().await?;
                    link.head(asked).await?;
                    link.say(asked, &family().good(stream)[..1], 0).await?;
                    sleep(Duration::from_millis(pause)).await;
                    link.reset(asked, reason).await?;
                    link.listen().await
                });
                found = Some(end(&server.await, stream, PATIENT).await);
            }
            assert_eq!(found, Some(wanted), "{stream} {reason}");
        }
    }
}

#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn what_comes_behind_a_whole_answer_changes_nothing() {
    for reason in [NO_ERROR, INTERNAL_ERROR, CANCEL] {
        let (wanted, mut found) = (ended("completed", (5, 2), 1), None);
        for pause in PAUSES {
            if found.as_ref() == Some(&wanted) {
                break;
            }
            let server = Raw::start(&[], move |_, mut link| async move {
                let asked = link.request().await?;
                link.head(asked).await?;
                link.say(asked, &family().good(true), 0).await?;
                sleep(Duration::from_millis(pause)).await;
                link.reset(asked, reason).await?;
                link.go_away(asked, reason).await?;
                link.listen().await
            });
            found = Some(end(&server.await, true, PATIENT).await);
        }
        assert_eq!(found, Some(wanted), "{reason}");
    }
}

#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_stream_that_was_refused_is_opened_again() {
    for reason in [REFUSED_STREAM, INTERNAL_ERROR, CALM] {
        let server = Raw::start(&[], move |_, mut link| async move {
            let asked = link.request().await?;
            if asked == 1 {
                link.reset(asked, reason).await?;
                return serve_well(link).await;
            }
            Ok(())
        });
        assert_eq!(end(&server.await, true, PATIENT).await, ended("completed", (5, 2), 2), "{reason}");
    }
}

#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_connection_that_goes_away_before_the_call_is_replaced() {
    for reason in [NO_ERROR, CALM] {
        let server = Raw::start(&[], move |number, mut link| async move {
            if number == 0 {
                link.request().await?;
                link.go_away(0, reason).await?;
                return link.listen().await;
            }
            serve_well(link).await
        });
        let server = server.await;
        assert_eq!(end(&server, true, PATIENT).await, ended("completed", (5, 2), 2), "{reason}");
        assert_eq!(server.opened(), 2, "{reason}");
    }
}

/// The call that is under way is served to its end, and the next one goes elsewhere.
#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_connection_that_goes_away_under_a_call_ends_it_first() {
    let server = Raw::start(&[], |_, mut link| async move {
        let (asked, good) = (link.request().await?, family().good(true));
        link.head(asked).await?;
        link.say(asked, &good[..1], 0).await?;
        link.go_away(asked, NO_ERROR).await?;
        sleep(Duration::from_millis(200)).await;
        link.say(asked, &good[1..], END).await?;
        link.listen().await
    });
    let server = server.await;
    let studio = studio("openai", &server.address, true, PATIENT);
    for calls in 1..=2 {
        let trace = timeout(AGES, run_in(&studio, &llm(family(), true, ""))).await.expect("no call hangs");
        assert_eq!(end_of(&trace, server.asked()), ended("completed", (5, 2), calls));
        assert_eq!(server.opened(), calls);
    }
}

#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_connection_that_goes_away_for_good_in_the_middle_cuts_the_answer() {
    for (last, reason) in [(1, INTERNAL_ERROR), (1, NO_ERROR), (0, NO_ERROR), (0, CALM)] {
        let (wanted, mut found) = (ended("provider_protocol", (5, 1), 1), None);
        for pause in PAUSES {
            if found.as_ref() == Some(&wanted) {
                break;
            }
            let server = Raw::start(&[], move |_, mut link| async move {
                let asked = link.request().await?;
                link.head(asked).await?;
                link.say(asked, &family().good(true)[..1], 0).await?;
                sleep(Duration::from_millis(pause)).await;
                link.go_away(last, reason).await?;
                sleep(Duration::from_millis(50)).await;
                Ok(())
            });
            found = Some(end(&server.await, true, PATIENT).await);
        }
        assert_eq!(found, Some(wanted), "{last} {reason}");
    }
}

/// Each of these says nothing of an answer, however lively it is.
#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn lively_silence_is_silence() {
    let empty = |stream| (DATA, 0, stream, Vec::new());
    let ping = |_| (PING, 0, 0, vec![7; 8]);
    let early = |stream| (HEADERS, END_HEADERS, stream, b"\x08\x03103".to_vec());
    type Made = fn(u32) -> (u8, u8, u32, Vec<u8>);
    let table: [(&str, bool, Made); 4] =
        [("empty pieces", true, empty), ("pings in an answer", true, ping), ("pings", false, ping), ("early hints", false, early)];
    join_all(table.map(async |(what, head, make)| {
        let server = Raw::start(&[], move |_, mut link| async move {
            let asked = link.request().await?;
            if head {
                link.head(asked).await?;
            }
            loop {
                let (kind, flags, stream, payload) = make(asked);
                link.frame(kind, flags, stream, &payload).await?;
                sleep(Duration::from_millis(20)).await;
            }
        });
        let (server, began) = (server.await, Instant::now());
        let found = end(&server, true, IMPATIENT).await;
        // A client may also end such a connection as an attack; then it has failed to be reached, within its attempts.
        let fits = found == ended("provider_timeout", (0, 0), 1) || found.code == "provider_unavailable";
        assert!(fits && began.elapsed() < AGES, "{what}: {found:?} after {:?}", began.elapsed());
    }))
    .await;
}

/// The server takes the head of the request and gives no room for its body; or it stops in its own answer.
#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_stall_ends_with_the_patience() {
    let server = Raw::start(&[], |_, mut link| async move {
        let asked = link.request().await?;
        link.frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]).await?;
        link.head(asked).await?;
        link.say(asked, &family().good(true), END).await?;
        link.request().await.map(|_| ())
    });
    let server = server.await;
    let studio = studio("openai", &server.address, true, LESS_IMPATIENT);
    for code in ["completed", "provider_timeout"] {
        let trace = timeout(AGES, run_in(&studio, &llm(family(), true, ""))).await.expect("no call hangs");
        assert_eq!((end_of(&trace, 1).code.as_str(), server.asked()), (code, 1), "the second request never came whole");
    }

    let server = Raw::start(&[], |_, mut link| async move {
        let asked = link.request().await?;
        link.head(asked).await?;
        link.say(asked, &family().good(true)[..1], 0).await?;
        link.listen().await
    });
    assert_eq!(end(&server.await, true, LESS_IMPATIENT).await, ended("provider_timeout", (5, 1), 1));
}

/// The server is there, but nothing is read or said on the connection any more, as behind a gateway that hangs.
#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_dead_connection_is_noticed_and_no_call_is_made_on_it_again() {
    let server = Raw::start(&[], |number, mut link| async move {
        if number > 0 {
            return serve_well(link).await;
        }
        let asked = link.request().await?;
        link.head(asked).await?;
        link.say(asked, &family().good(true), END).await?;
        std::future::pending().await
    });
    let server = server.await;
    let studio = studio("openai", &server.address, true, (300_000, 300_000));
    for calls in 1..=2 {
        let began = Instant::now();
        let trace = timeout(AGES, run_in(&studio, &llm(family(), true, ""))).await.expect("the dead connection is noticed");
        // The second call's first attempt was never read.
        assert_eq!(end_of(&trace, server.asked()), ended("completed", (5, 2), calls), "after {:?}", began.elapsed());
    }
    assert_eq!(server.opened(), 2);
}

#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn a_connection_that_was_closed_meanwhile_is_replaced() {
    let server = Raw::start(&[], |_, mut link| async move {
        let asked = link.request().await?;
        link.head(asked).await?;
        link.say(asked, &family().good(true), END).await?;
        // What was said is lost where a connection is closed with something unread.
        let _heard = timeout(Duration::from_millis(1000), link.listen()).await;
        Ok(())
    });
    let server = server.await;
    let studio = studio("openai", &server.address, true, PATIENT);
    for calls in 1..=3 {
        let trace = timeout(AGES, run_in(&studio, &llm(family(), true, ""))).await.expect("no call hangs");
        assert_eq!(end_of(&trace, server.asked()), ended("completed", (5, 2), calls));
    }
}

/// A server answers a hundred streams of a connection at once, as most do, and nobody before two hundred have asked.
#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn more_calls_than_a_connection_takes_are_made_at_once() {
    const CALLS: usize = 200;
    const A_HUNDRED: &[(u16, u32)] = &[(3, 100)];
    let (came, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let server = Raw::start(A_HUNDRED, move |_, mut link| {
        let (came, all) = (Arc::clone(&came), Arc::clone(&all));
        async move {
            let mut asked = Vec::new();
            loop {
                let gathered = all.notified();
                tokio::pin!(gathered);
                gathered.as_mut().enable();
                if came.load(Ordering::SeqCst) == CALLS {
                    break;
                }
                tokio::select! {
                    next = link.request() => {
                        asked.push(next?);
                        if came.fetch_add(1, Ordering::SeqCst) + 1 == CALLS {
                            all.notify_waiters();
                        }
                    }
                    () = gathered => {}
                }
            }
            for stream in asked {
                link.head(stream).await?;
                link.say(stream, &family().good(true), END).await?;
            }
            // A frame may have been read by half.
            std::future::pending().await
        }
    });
    let server = server.await;
    let studio = studio("openai", &server.address, true, PATIENT);
    let node = llm(family(), true, "");
    let traces = timeout(AGES, join_all((0..CALLS).map(|_| run_in(&studio, &node)))).await.expect("no call waits for another");
    assert!(traces.iter().all(|trace| end_of(trace, 1) == ended("completed", (5, 2), 1)), "{:#}", traces[0]);
    assert_eq!(server.asked(), CALLS);
}

#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn calls_wait_for_a_server_that_takes_one_at_a_time() {
    const ONE: &[(u16, u32)] = &[(3, 1)];
    let server = Raw::start(ONE, |_, link| serve_well(link)).await;
    let (studio, node) = (studio("openai", &server.address, true, PATIENT), llm(family(), true, ""));
    let traces = timeout(AGES, join_all((0..8).map(|_| run_in(&studio, &node)))).await.expect("no call hangs");
    assert!(traces.iter().all(|trace| end_of(trace, 1) == ended("completed", (5, 2), 1)), "{:#}", traces[0]);
    assert_eq!(server.asked(), 8);
}

/// Heads that are larger than any, and heads that never end.
#[tokio::test]
#[ignore = "frames at their times: run by `make test-providers`"]
async fn floods_of_headers_are_refused() {
    let field = || [b"\x00\x07x-flood\x7f\x81\x01".as_slice(), &[b'x'; 256]].concat();
    for endless in [false, true] {
        let server = Raw::start(&[], move |_, mut link| async move {
            let asked = link.request().await?;
            link.frame(HEADERS, 0, asked, HEAD).await?;
            let fields = field().repeat(32);
            for _ in 0..16 {
                link.frame(CONTINUATION, 0, asked, &fields).await?;
            }
            while endless {
                link.frame(CONTINUATION, 0, asked, &fields).await?;
            }
            link.frame(CONTINUATION, END_HEADERS, asked, &[]).await?;
            link.say(asked, &family().good(true), END).await?;
            link.listen().await
        });
        let (server, began) = (server.await, Instant::now());
        let found = end(&server, true, PATIENT).await;
        assert_eq!((found.code.as_str(), found.tokens), ("provider_unavailable", (0, 0)), "{endless}");
        assert!(found.asked <= 3 && began.elapsed() < AGES, "{endless}: {found:?}");
    }
}
