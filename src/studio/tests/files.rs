//! Owns the tests of uploaded files.

use bytes::Bytes;
use expect_test::expect;
use serde_json::json;

use super::*;
use crate::engine::{NewRun, Reply};
use crate::model::chat::Attachment;
use crate::model::event::EntityKind;
use crate::store::files::attachments as table;
use crate::studio::Upload;
use crate::studio::runs::requests::RunRequest;
use crate::studio::threads::attachments::known_files;

fn file(name: &str, mime: Option<&str>, kind: Option<&str>, bytes: &'static [u8]) -> Upload {
    Upload { name: Some(name.into()), mime_type: mime.map(Into::into), kind: kind.map(Into::into), bytes: Bytes::from_static(bytes) }
}

#[tokio::test]
async fn files_are_taken_by_what_they_are() {
    let (studio, scope) = (studio_with(&json!({"attachments": {"max_size_kb": 1}})), scope());
    let png = file("../a/b\\c\u{7}.png", Some("text/html"), Some("image"), b"\x89PNG\r\n\x1a\nrest");
    let mut stored = studio.upload(&scope, png).await.expect("stored");
    assert_eq!(text(&stored, "storage_key").len(), 43);
    stored["storage_key"] = "…".into();
    expect![[r#"{"storage_key":"…","mime_type":"image/png","name":"c.png","type":"image","size_bytes":12}"#]].assert_eq(&stored.to_string());
    static BIG: [u8; 1025] = [b'a'; 1025];
    let mut told = Vec::new();
    for upload in [
        file("a", None, None, b""),
        file("a", None, None, &BIG),
        file("a.svg", Some("image/png"), None, b"<svg onload=x>"),
        file("a", Some("application/zip"), None, b"PK\x03\x04"),
        file("a.txt", None, Some("image"), b"hello"),
    ] {
        told.push(refusal(studio.upload(&scope, upload).await));
    }
    expect![[r#"
        validation_failed file
        attachment_too_large
        unsupported_media_type
        unsupported_media_type
        validation_failed type"#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn bytes_are_kept_in_the_folder_or_in_the_database() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name).to_string_lossy().into_owned();
    for name in ["a", "b", "c"] {
        std::fs::create_dir(home.path().join(name)).expect("a folder");
    }
    let beside = studio_with(&json!({"database": {"path": at("a/s.sqlite")}}));
    let chosen = studio_with(&json!({"database": {"path": at("b/s.sqlite")}, "attachments": {"path": at("room")}}));
    let inside = studio_with(&json!({"database": {"path": at("c/s.sqlite")}, "attachments": {"path": ""}}));
    // On a server they are always inside.
    let in_folder = |name: &str| crate::place::on_server("").is_none().then(|| at(name));
    for (studio, folder) in [(&beside, in_folder("a/attachments")), (&chosen, in_folder("room")), (&inside, None)] {
        let scope = scope();
        let stored = studio.upload(&scope, file("a.md", None, None, b"# Hi")).await.expect("stored");
        let key = text(&stored, "storage_key");
        let read = studio.attachment(&scope, key).await.expect("there");
        assert_eq!((read.bytes, read.mime_type.as_str(), read.name.as_deref()), (Bytes::from_static(b"# Hi"), "text/markdown", Some("a.md")));
        if let Some(folder) = &folder {
            let away = format!("{folder}-away");
            std::fs::rename(folder, &away).expect("moved");
            assert_eq!(refusal(studio.attachment(&scope, key).await), "not_found");
            std::fs::rename(&away, folder).expect("moved back");
        }
        let count = |folder: &Option<String>| folder.as_ref().map(|folder| walk(folder.as_ref()));
        assert_eq!(count(&folder), folder.as_ref().map(|_| 1));
        studio.delete_attachment(&scope, key).await.expect("deleted");
        assert_eq!(count(&folder), folder.as_ref().map(|_| 0));
        assert_eq!(refusal(studio.attachment(&scope, key).await), "not_found");
    }
    assert!(!home.path().join("c/attachments").exists());
}

fn walk(folder: &std::path::Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[tokio::test]
async fn a_file_is_its_uploaders_until_a_run_refers_to_it() {
    let (studio, ann, ben) = (studio(), user("ann"), user("ben"));
    let key = text(&studio.upload(&ann, file("a.txt", None, None, b"hello")).await.expect("stored"), "storage_key").to_owned();
    assert_eq!(refusal(studio.attachment(&ben, &key).await), "not_found");
    assert_eq!(refusal(studio.delete_attachment(&ben, &key).await), "not_found");
    studio.attachment(&ann, &key).await.expect("the uploader reads it");
    studio.attachment(&scope(), &key).await.expect("a host without users reads everything");

    let body = json!({"attachments": [{"type": "image", "storage_key": key, "name": "b.txt"}, {"type": "image", "storage_key": "none"}]});
    let mut given = RunRequest::parse(&body, EntityKind::Agent).expect("a request").attachments;
    let look = |scope: Scope, given: Vec<_>| async {
        studio.world().store.read(move |tx| known_files(tx, &scope, &given)).await.expect("looked up")
    };
    assert_eq!(refusal(look(ann.clone(), given.clone()).await), "validation_failed attachments.1.storage_key");
    given.truncate(1);
    assert_eq!(refusal(look(ben.clone(), given.clone()).await), "validation_failed attachments.0.storage_key");
    let known = look(ann.clone(), given).await.expect("known");
    assert_eq!((known[0].kind.as_str(), known[0].mime_type.as_str(), known[0].name.as_deref()), ("document", "text/plain", Some("b.txt")));

    let used = key.clone();
    studio.world().store.write(move |tx| table::refer(tx, "", &used, "run", "r")).await.expect("used");
    studio.attachment(&ben, &key).await.expect("everyone of the tenant reads it");
    let refused = studio.delete_attachment(&ann, &key).await.expect_err("in use");
    assert_eq!((refused.kind, &refused.members["used_by"]), (Kind::InUse, &json!([{"kind": "run", "id": "r", "name": null}])));
}

#[tokio::test]
async fn a_request_whose_file_was_removed_since_it_was_looked_up_is_refused_and_changes_nothing() {
    let (studio, scope) = (studio(), scope());
    let workflow = make(&studio, Resource::Workflow, json!({"name": "W", "graph": super::graphs::graph_of("human", &json!({}))})).await;
    let body = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a request");
    let gone = Attachment { kind: "document".into(), mime_type: "text/plain".into(), storage_key: "gone".into(), name: None, size: None };
    let (source, _) = studio.source(&scope, EntityKind::Workflow, text(&workflow, "id"), &body).await.expect("a workflow");
    let new = |attachments, queued| NewRun {
        tenant: Arc::clone(&scope.tenant),
        user: None,
        entity: EntityKind::Workflow,
        entity_id: source.id,
        entity_name: source.name.clone(),
        revision: source.revision,
        pinned: source.pinned.clone(),
        message: "hi".into(),
        state: serde_json::Map::new(),
        attachments,
        thread: None,
        queued,
        cancel_on_disconnect: false,
        instructions: None,
        context: None,
        parameters: None,
        key: None,
        replaces: None,
        trace: None,
    };
    let told = "the file `gone` was removed since it was uploaded; nothing was changed; upload it again and send the request with its new key";
    for queued in [false, true] {
        let begun = crate::engine::create(studio.world(), new(vec![gone.clone()], queued)).await;
        let refused = match begun {
            Ok(begun) => begun.stored().await.expect_err("refused"),
            Err(refused) => refused,
        };
        assert_eq!((refused.kind, refused.message.as_str()), (Kind::ValidationFailed, told));
        assert_eq!(refused.members["errors"]["attachments"][0], told);
    }
    let count = |tx: &mut crate::store::Tx<'_>| {
        let sql = "SELECT (SELECT COUNT(*) FROM #runs) + (SELECT COUNT(*) FROM #threads) + (SELECT COUNT(*) FROM #attachment_uses)";
        tx.query_one(sql, &[], |row| row.int(0))
    };
    assert_eq!(studio.world().store.read(count).await, Ok(Some(0)));

    let started = studio.start(&scope, EntityKind::Workflow, text(&workflow, "id"), body, false).await.expect("started");
    let run = started.run.to_string();
    let id = started.run;
    let status = || async {
        let row = studio.world().store.read(move |tx| crate::store::runs::get(tx, "", &id)).await;
        row.expect("read").expect("a run").status
    };
    while status().await != "awaiting_input" {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let reply = |attachments| Reply { message: Some("go on".into()), attachments, ..Reply::default() };
    let refused = crate::engine::resume(studio.world(), &scope.tenant, &run, &reply(vec![gone]), false).await.expect_err("refused");
    assert_eq!((refused.kind, refused.message.as_str()), (Kind::ValidationFailed, told));
    assert_eq!(status().await, "awaiting_input");
    crate::engine::resume(studio.world(), &scope.tenant, &run, &reply(Vec::new()), false).await.expect("answered");
}

/// A file that answers nobody until it is let go.
#[cfg(unix)]
struct Stuck(std::path::PathBuf);

#[cfg(unix)]
impl Stuck {
    /// In place of the only file in a folder.
    fn in_place_of(folder: &std::path::Path) -> Self {
        let only = |folder: &std::path::Path| std::fs::read_dir(folder).expect("a folder").next().expect("an entry").expect("an entry").path();
        let path = only(&only(folder));
        std::fs::rename(&path, path.with_extension("away")).expect("moved");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("a program").success());
        Self(path)
    }

    /// Opened to write, without waiting for a reader.
    fn writer(&self) -> std::fs::File {
        std::fs::OpenOptions::new().read(true).write(true).open(&self.0).expect("opened")
    }

    /// Whoever waits reads its end, and whoever comes later the file.
    fn let_go(&self) {
        let pipe = self.writer();
        std::fs::rename(self.0.with_extension("away"), &self.0).expect("moved back");
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(pipe);
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_stands_still_holds_up_files_alone() {
    if crate::place::on_server("").is_some() {
        return; // The database keeps them.
    }
    let home = tempfile::tempdir().expect("a folder");
    let studio = studio_with(&json!({"database": {"path": home.path().join("s.sqlite")}, "attachments": {"path": home.path().join("room")}}));
    let key = text(&studio.upload(&scope(), file("a.txt", None, None, b"hello")).await.expect("stored"), "storage_key").to_owned();
    let stuck = Stuck::in_place_of(&home.path().join("room"));
    let read = || {
        let (studio, key) = (studio.clone(), key.clone());
        tokio::spawn(async move { studio.attachment(&scope(), &key).await.map(|file| file.bytes) })
    };
    let reads: Vec<_> = (0..12).map(|_| read()).collect();
    let of_run = {
        let (studio, key) = (studio.clone(), key.clone());
        tokio::spawn(async move { studio.world().file("", None, &key).await.is_ok() })
    };
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    // Whoever waits for the disk waits until it is let go, below.
    let soon = std::time::Duration::from_secs(30);
    let others = tokio::time::timeout(soon, async {
        for _ in 0..20 {
            studio.list(&scope(), Resource::Agent, crate::studio::ListQuery::default()).await.expect("a list");
        }
    });
    let others = others.await;
    let asker = scope();
    let known = studio.attachment_part(&asker, &key, |_| crate::studio::Section::None);
    let known = tokio::time::timeout(soon, known).await.ok().map(|file| file.expect("the row").size);
    let waits = reads.iter().filter(|read| !read.is_finished()).count();
    stuck.let_go();
    assert!(others.is_ok(), "other reads wait for the disk");
    assert_eq!((known, waits), (Some(5), 12));
    for read in reads {
        read.await.expect("no panic").expect("read");
    }
    assert!(of_run.await.expect("no panic"));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_file_is_read_without_the_rest() {
    use std::io::Write as _;
    if crate::place::on_server("").is_some() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let studio = studio_with(&json!({"database": {"path": home.path().join("s.sqlite")}, "attachments": {"path": home.path().join("room")}}));
    let key = text(&studio.upload(&scope(), file("a.txt", None, None, b"0123456789")).await.expect("stored"), "storage_key").to_owned();
    let part = |skipped, count| {
        let (studio, key) = (studio.clone(), key.clone());
        async move { studio.attachment_part(&scope(), &key, move |_| crate::studio::Section::Part { skipped, count }).await.map(|file| file.bytes) }
    };
    assert_eq!(part(4, 3).await.expect("read"), "456");
    assert_eq!(refusal(part(8, 3).await), "store_unavailable");
    let stuck = Stuck::in_place_of(&home.path().join("room"));
    // It never ends: who reads more than was asked for waits.
    let mut writer = stuck.writer();
    writer.write_all(b"0123456789").expect("written");
    let read = tokio::time::timeout(std::time::Duration::from_secs(30), part(0, 4)).await;
    stuck.let_go();
    drop(writer);
    assert_eq!(read.expect("it reads no more than that").expect("read"), "0123");
}
