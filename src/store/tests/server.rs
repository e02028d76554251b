//! Tests of what only a server knows: schemas, locks of rows, several connections. They do nothing where tests run on files.

use std::time::Duration;

use super::*;
use crate::store::db::params;
use crate::store::runs::queue;
use crate::store::threads;
use crate::store::usage::sums::{Hour, Sum};

/// A store on the server, in the schemas of a path.
fn store_at(path: &str) -> Option<Store> {
    Some(store_via(std::env::var("STUDIO_TEST_DATABASE_URL").ok()?, path))
}

fn store_via(url: String, path: &str) -> Store {
    let sign = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{sign}options=-c%20search_path%3D{path}");
    let config = crate::config::Config::with(json!({"database": {"url": url}})).unwrap();
    Store::open(StoreSettings::of(&config).unwrap())
}

#[test]
fn tables_are_those_of_the_schema_that_the_path_names_first() {
    let [one, two, three] = [(); 3].map(|()| format!("test_{}", uuid::Uuid::new_v4().simple()));
    let Some(first) = store_at(&one) else { return };
    with_run(&first);
    let schema = |tx: &mut Tx<'_>| {
        let sql = "SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = '#runs'::regclass";
        tx.query_one(sql, &[], |row| Ok(row.text(0)?.to_owned()))
    };
    let second = store_at(&format!("{two},{one}")).unwrap();
    let refused = write(&second, |_| Ok(())).unwrap_err();
    assert!(matches!(&refused, StoreError::Place(text) if text.contains(&one) && text.contains(&two)), "{refused}");
    let third = store_at(&format!("{three},pg_catalog")).unwrap();
    assert_eq!(write(&third, schema).unwrap(), Some(three), "it is made");
    assert_eq!(read(&first, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3);
}

#[test]
fn a_commit_waits_for_the_disk_unless_the_settings_spare_it() {
    let Some(url) = crate::place::on_server(":memory:") else { return };
    let config = crate::config::Config::with(json!({"database": {"url": url}})).unwrap();
    for (synchronous, told) in [(crate::config::Synchronous::Full, "on"), (crate::config::Synchronous::Normal, "off")] {
        let store = Store::open(StoreSettings { synchronous, ..StoreSettings::of(&config).unwrap() });
        let setting = |tx: &mut Tx<'_>| {
            tx.query_one("SELECT current_setting('synchronous_commit')", &[], |row| Ok(row.text(0)?.to_owned()))
        };
        assert_eq!(write(&store, setting).unwrap().as_deref(), Some(told));
    }
}

#[test]
fn leases_are_renewed_beside_what_runs_store() {
    if crate::place::on_server("").is_none() {
        return;
    }
    let store = fresh();
    let deadlocks = |tx: &mut Tx<'_>| {
        tx.query_one("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", &[], |row| row.int(0))
    };
    write(&store, |tx| (1..=200).try_for_each(|number| runs::insert(tx, &run(number)).map(drop))).unwrap();
    let before = read(&store, deadlocks).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let appends = (1..=200).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                for head in 0..20 {
                    store.write_of(id(number), move |tx| append(tx, &growth(number, head, 1))).await.unwrap();
                }
            })
        });
        let appends: Vec<_> = appends.collect();
        for until in 0..20 {
            let mut left: Vec<Id> = (1..=200).map(id).collect();
            let until: queue::Until = std::sync::Arc::new(move || Timestamp(5000 + until));
            while !left.is_empty() {
                let queue::Renewed { lost, skipped } = queue::hold(&store, &"a".into(), left, &until).await.unwrap();
                assert_eq!(lost, []);
                left = skipped;
            }
        }
        for append in appends {
            append.await.unwrap();
        }
    });
    let after = write(&store, move |tx| {
        tx.execute("SELECT pg_stat_clear_snapshot()", &[])?;
        deadlocks(tx)
    });
    // Other tests share the server.
    assert!(after.unwrap() <= before.map(|count| count + 2), "nobody waits for who waits for him");
}

#[test]
fn leases_are_renewed_while_something_holds_up_all_other_writes() {
    if crate::place::on_server("").is_none() {
        return;
    }
    let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
    let (store, other) = (store_at(&schema).unwrap(), store_at(&schema).unwrap());
    write(&store, |tx| (1..=40).try_for_each(|number| runs::insert(tx, &run(number)).map(drop))).unwrap();
    let ((locks, locked), (free, freed)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    let stranger = std::thread::spawn(move || {
        write(&other, move |tx| {
            tx.execute("LOCK TABLE #usage_waiting IN EXCLUSIVE MODE", &[])?;
            locks.send(()).unwrap();
            let _freed = freed.recv_timeout(std::time::Duration::from_secs(15));
            Ok(())
        })
    });
    locked.recv().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let held_up = (1..=12).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let work = move |tx: &mut Tx<'_>| {
                    append(tx, &growth(number, 0, 1))?;
                    let hour = Hour::of(&"t".into(), (EntityKind::Workflow, id(1)), Timestamp(7));
                    tx.later().counted().run(hour, &Sum::default());
                    Ok(())
                };
                store.write_of(id(number), work).await
            })
        });
        let held_up: Vec<_> = held_up.collect();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let until: queue::Until = std::sync::Arc::new(|| Timestamp(7777));
        let owner: Arc<str> = "a".into();
        let held = queue::hold(&store, &owner, (1..=40).map(id).collect(), &until);
        let held = tokio::time::timeout(std::time::Duration::from_secs(5), held).await.expect("nothing else is waited for").unwrap();
        assert_eq!(held.lost, []);
        assert!(held.skipped.len() <= 12, "what nobody writes is renewed: {held:?}");
        free.send(()).unwrap();
        for write in held_up {
            write.await.unwrap().unwrap();
        }
        // Those that were under way are renewed behind them. Writes that had not begun yet were made with an older lease, and leave the renewed one.
        let held = queue::hold(&store, &owner, held.skipped, &until).await.unwrap();
        assert_eq!(held, queue::Renewed::default());
    });
    stranger.join().unwrap().unwrap();
    let renewed = read(&store, |tx| tx.query_one("SELECT COUNT(*) FROM #runs WHERE lease_until = 7777", &[], |row| row.int(0)));
    assert_eq!(renewed.unwrap(), Some(40));
}

#[test]
fn rows_are_handed_on_as_they_come() {
    if crate::place::on_server("").is_none() {
        return;
    }
    let began = std::time::Instant::now();
    let came = read(&fresh(), move |tx| {
        let mut came = Vec::new();
        // More than a server keeps back before it sends.
        let sql = "SELECT repeat('x', 100000), pg_sleep(CASE WHEN n = 3 THEN 1 ELSE 0 END) FROM generate_series(1, 3) n";
        tx.query_each(sql, &[], &mut |row| {
            came.push((began.elapsed(), row.text(0)?.len()));
            Ok(())
        })?;
        Ok(came)
    });
    let came = came.unwrap();
    assert_eq!(came.iter().map(|(_, length)| *length).collect::<Vec<_>>(), [100_000; 3]);
    assert!(came[2].0 - came[0].0 > std::time::Duration::from_millis(500), "the first row waited for the last: {came:?}");
}

#[test]
fn a_deadlock_of_what_was_only_sent_is_seen_by_a_statement_that_is_new() {
    let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
    let (Some(store), Some(other)) = (store_at(&schema), store_at(&schema)) else { return };
    write(&store, |tx| (1..=2).try_for_each(|number| runs::insert(tx, &run(number)).map(drop))).unwrap();
    let ((holds, held), (begins, begun)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let touch = |tx: &mut Tx<'_>, number| tx.execute("UPDATE #runs SET waiting_ms = waiting_ms + 1 WHERE id = $1", params![&id(number).text()]);
    let stranger = std::thread::spawn(move || {
        write(&other, move |tx| {
            touch(tx, 2)?;
            holds.send(()).unwrap();
            begun.recv().unwrap();
            // Who waits first finds the deadlock, and is the one that is taken back.
            std::thread::sleep(std::time::Duration::from_millis(400));
            touch(tx, 1)
        })
    });
    held.recv().unwrap();
    let mut tries = 0;
    let done = write(&store, move |tx| {
        tries += 1;
        touch(tx, 1)?;
        if tries == 1 {
            begins.send(()).unwrap();
        }
        tx.send("UPDATE #runs SET waiting_ms = waiting_ms + 1 WHERE id = $1", params![&id(2).text()])?;
        tx.query_one("SELECT 'asked for the first time'", &[], |_| Ok(()))?;
        Ok(tries)
    });
    assert_eq!(stranger.join().unwrap(), Ok(1));
    assert!(matches!(done, Ok(tries) if tries > 1), "it is done again: {done:?}");
}

/// A way to the server; what it gives shuts the clients' side of all connections, and the server does not notice.
fn cut_way(url: &str) -> (String, impl Fn() + Send + 'static) {
    use std::net::{Shutdown, TcpListener, TcpStream};
    let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let way = url.replace(&server, &listener.local_addr().unwrap().to_string());
    let open = Arc::new(std::sync::Mutex::new(Vec::<(TcpStream, TcpStream)>::new()));
    let opened = Arc::clone(&open);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            for (from, to) in [(&client, &server), (&server, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            }
            opened.lock().unwrap().push((client, server));
        }
    });
    (way, move || open.lock().unwrap().iter().for_each(|(client, _)| drop(client.shutdown(Shutdown::Both))))
}

#[test]
fn a_connection_that_broke_does_not_hold_up_the_next() {
    let Ok(url) = std::env::var("STUDIO_TEST_DATABASE_URL") else { return };
    let (way, cut) = cut_way(&url);
    let store = store_via(way, &format!("test_{}", uuid::Uuid::new_v4().simple()));
    write(&store, |tx| runs::insert(tx, &run(1)).map(drop)).unwrap();
    let (began, mut tries) = (std::time::Instant::now(), 0);
    let done = write(&store, move |tx| {
        tries += 1;
        tx.execute("UPDATE #runs SET waiting_ms = 7 WHERE id = $1", params![&id(1).text()])?;
        if tries == 1 {
            cut();
        }
        tx.query_one("SELECT waiting_ms FROM #runs WHERE id = $1", params![&id(1).text()], |row| row.int(0))
    });
    assert_eq!(done, Ok(Some(7)));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_statement_that_an_administrator_cancels_is_done_again() {
    let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
    let (Some(store), Some(other)) = (store_at(&schema), store_at(&schema)) else { return };
    let (tells, told) = std::sync::mpsc::channel::<i64>();
    let administrator = std::thread::spawn(move || {
        let process = told.recv().unwrap();
        let cancel = move |tx: &mut Tx<'_>| {
            let sql = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep(9)%'";
            tx.query_one(sql, params![process], |_| Ok(()))
        };
        while write(&other, cancel).unwrap().is_none() {}
    });
    let mut tries = 0;
    let done = write(&store, move |tx| {
        tries += 1;
        if tries == 1 {
            let process = tx.query_one("SELECT pg_backend_pid()", &[], |row| row.int(0))?.unwrap();
            tells.send(process).unwrap();
            tx.query_one("SELECT pg_sleep(9)", &[], |_| Ok(()))?;
        }
        Ok(tries)
    });
    administrator.join().unwrap();
    assert_eq!(done, Ok(2), "what is cancelled early did not take too long");
}

#[test]
fn a_connection_that_became_read_only_is_replaced() {
    if crate::place::on_server("").is_none() {
        return;
    }
    let store = fresh();
    write(&store, |tx| runs::insert(tx, &run(1)).map(drop)).unwrap();
    let mut processes = Vec::new();
    let done = write(&store, move |tx| {
        processes.extend(tx.query_one("SELECT pg_backend_pid()", &[], |row| row.int(0))?);
        if processes.len() == 1 {
            tx.execute("SET TRANSACTION READ ONLY", &[])?;
        }
        tx.execute("UPDATE #runs SET waiting_ms = 7 WHERE id = $1", params![&id(1).text()])?;
        Ok(processes.clone())
    });
    let processes = done.unwrap();
    assert!(processes.len() == 2 && processes[0] != processes[1], "the next try has a connection of its own: {processes:?}");
}

/// A way to the server that is opened later: until then nobody listens at its port.
fn late_way(url: &str, after: Duration) -> String {
    let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let place = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let way = url.replace(&server, &place.to_string());
    std::thread::spawn(move || {
        std::thread::sleep(after);
        forward(&std::net::TcpListener::bind(place).unwrap(), &server, Duration::ZERO);
    });
    way
}

/// Copies between whoever comes and the server; each piece takes so long.
fn forward(listener: &std::net::TcpListener, server: &str, each: Duration) {
    use std::io::{Read as _, Write as _};
    for client in listener.incoming() {
        let (client, server) = (client.unwrap(), std::net::TcpStream::connect(server).unwrap());
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let _no_delay = to.set_nodelay(true);
            std::thread::spawn(move || {
                let mut piece = [0; 65_536];
                while let Ok(some @ 1..) = from.read(&mut piece) {
                    std::thread::sleep(each);
                    if to.write_all(&piece[..some]).is_err() {
                        break;
                    }
                }
                let _closed = to.shutdown(std::net::Shutdown::Write);
            });
        }
    }
}

#[test]
fn a_server_that_is_away_for_a_moment_is_waited_for() {
    let Ok(url) = std::env::var("STUDIO_TEST_DATABASE_URL") else { return };
    let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
    let store = store_via(late_way(&url, Duration::from_millis(400)), &schema);
    write(&store, |tx| runs::insert(tx, &run(1)).map(drop)).unwrap();
    let store = store_via(late_way(&url, Duration::from_millis(400)), &schema);
    assert!(read(&store, |tx| runs::get(tx, "t", &id(1))).unwrap().is_some());
}

#[test]
fn the_time_of_a_server_that_is_far_away_is_what_it_was_in_the_middle_of_the_question() {
    let Ok(url) = std::env::var("STUDIO_TEST_DATABASE_URL") else { return };
    let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
    let near = store_via(url.clone(), &schema);
    with_run(&near);
    let server = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let way = url.replace(&server, &listener.local_addr().unwrap().to_string());
    std::thread::spawn(move || forward(&listener, &server, Duration::from_millis(60)));
    let far = store_via(way, &schema);
    assert!(read(&far, |tx| runs::get(tx, "t", &id(1))).unwrap().is_some());
    let (here, there) = (near.time(Timestamp(0)), far.time(Timestamp(0)));
    assert!((here.0 - there.0).abs() < 45, "{here:?} {there:?}");
}

#[test]
fn a_thread_that_is_being_deleted_stays_with_the_entity_whose_runs_may_go_on() {
    if crate::place::on_server("").is_none() {
        return;
    }
    let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
    let (store, other) = (store_at(&schema).unwrap(), store_at(&schema).unwrap());
    let begin = |tx: &mut Tx<'_>, entity: u64| {
        threads::begin(tx, "t", &id(800), &of((EntityKind::Workflow, &id(entity)), None), Timestamp(60))
    };
    write(&store, move |tx| {
        begin(tx, 900)?;
        runs::insert(tx, &run(1)).map(drop)
    })
    .unwrap();
    let (deletes, deleted) = std::sync::mpsc::channel();
    let deleting = std::thread::spawn(move || {
        write(&other, move |tx| {
            threads::delete(tx, "t", &id(800))?;
            let _told = deletes.send(());
            std::thread::sleep(Duration::from_millis(500));
            Ok(())
        })
    });
    deleted.recv().unwrap();
    let begun = write(&store, move |tx| begin(tx, 901));
    deleting.join().unwrap().unwrap();
    assert!(matches!(begun, Err(StoreError::Conflict(_))), "{begun:?}");
}
