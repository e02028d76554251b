//! Tests of definitions, threads, files, passages, keys and the outbox.

use serde_json::json;

use super::*;
use crate::store::definitions::{self as defs, Changed, DefinitionKind, DefinitionRow, RevisionRow};
use crate::store::files::attachments::AttachmentRow;
use crate::store::files::attachments;
use crate::store::log::checkpoints::{CheckpointRow, Kept};
use crate::store::log::checkpoints;
use crate::store::knowledge::passages::{self, Passage};
use crate::store::log;
use crate::store::threads::{self, MessageRow, ThreadFilter, remembered};
use crate::store::upkeep::request_keys::{RequestKey, Seen};
use crate::store::upkeep::{outbox, request_keys};

fn memory() -> Store {
    fresh()
}

fn definition(number: u64, slug: &str) -> DefinitionRow {
    DefinitionRow {
        id: id(number),
        slug: slug.into(),
        name: format!("Name {number}"),
        revision: 1,
        source: "studio".into(),
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
        body: json!({"n": number}),
        no: 0,
    }
}

#[test]
fn definitions_are_found_changed_and_listed() {
    let kind = DefinitionKind::Workflow;
    write(&memory(), move |tx| {
        for (number, slug) in [(1, "triage"), (2, "triage-2"), (3, "triagex")] {
            defs::insert(tx, "t", kind, &definition(number, slug))?;
        }
        defs::insert(tx, "other", kind, &definition(1, "triage"))?;
        defs::insert(tx, "t", DefinitionKind::Agent, &definition(1, "triage"))?;
        assert!(matches!(defs::insert(tx, "t", kind, &definition(9, "triage")), Err(StoreError::Conflict(_))));
        assert_eq!(defs::find(tx, "t", kind, "triage-2")?.unwrap().id, id(2));
        assert_eq!(defs::find(tx, "t", kind, &id(3).to_string())?.unwrap().slug, "triagex");
        assert_eq!(defs::find(tx, "t", DefinitionKind::Tool, "triage")?, None);
        let next = DefinitionRow { revision: 2, ..definition(1, "fresh") };
        assert_eq!(defs::update(tx, "t", kind, 1, &next)?, Changed::Done);
        assert!(matches!(defs::update(tx, "t", kind, 1, &next)?, Changed::Stale(Some(now)) if now.slug == "fresh"));
        assert_eq!(defs::update(tx, "t", kind, 2, &DefinitionRow { slug: "triagex".into(), ..next })?, Changed::SlugTaken);
        let listed = |tx: &mut Tx<'_>, q, after| -> Result<Vec<i64>, StoreError> {
            Ok(defs::list(tx, "t", kind, q, after, 2)?.iter().map(|row| row.no).collect())
        };
        assert_eq!((listed(tx, None, None)?, listed(tx, None, Some(2))?), (vec![3, 2], vec![1]));
        assert_eq!(listed(tx, Some("TRIAGEX"), None)?, [3]);
        assert!(!defs::delete(tx, "t", kind, &id(1), Some(1))?);
        assert!(defs::delete(tx, "t", kind, &id(1), Some(2))?);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_deleted_definition_leaves_no_revision_and_no_draft() {
    let kind = DefinitionKind::Workflow;
    write(&memory(), move |tx| {
        defs::insert(tx, "t", kind, &definition(1, "triage"))?;
        let row = RevisionRow { revision: 1, created_at: Timestamp(1), user_id: None, node_count: 2 };
        defs::keep_revision(tx, "t", &id(1), &row, &json!({}))?;
        defs::put_draft(tx, "t", &id(1), &json!({}), None, Some(1), Timestamp(5))?;
        let before = defs::epoch(tx)?;
        let stands = |tx: &mut Tx<'_>| -> Result<[bool; 3], StoreError> {
            Ok([defs::epoch(tx)? == before, defs::revision(tx, "t", &id(1), 1)?.is_some(), defs::draft(tx, "t", &id(1))?.is_some()])
        };
        assert!(!defs::delete(tx, "t", kind, &id(1), Some(7))?);
        assert_eq!(stands(tx)?, [true; 3], "another revision was meant");
        assert!(defs::delete(tx, "t", kind, &id(1), None)?);
        assert_eq!(stands(tx)?, [false; 3], "what was read before is read again");
        Ok(())
    })
    .unwrap();
}

#[test]
fn revisions_stay_and_drafts_guard_their_revision() {
    write(&memory(), |tx| {
        for number in 1..=3 {
            let row = RevisionRow { revision: number, created_at: Timestamp(number), user_id: None, node_count: 2 };
            defs::keep_revision(tx, "t", &id(1), &row, &json!({"r": number}))?;
        }
        let numbers: Vec<i64> = defs::revisions(tx, "t", &id(1), Some(3), 9)?.iter().map(|row| row.revision).collect();
        assert_eq!(numbers, [2, 1]);
        assert_eq!(defs::revision(tx, "t", &id(1), 2)?, Some(json!({"r": 2})));
        assert_eq!(defs::revision(tx, "other", &id(1), 2)?, None);
        let put = |tx: &mut Tx<'_>, expected| defs::put_draft(tx, "t", &id(1), &json!({}), expected, Some(3), Timestamp(5));
        assert_eq!((put(tx, None)?, put(tx, Some(1))?, put(tx, Some(1))?), (Some(1), Some(2), None));
        assert_eq!(defs::draft(tx, "t", &id(1))?.unwrap().based_on_revision, Some(3));
        assert!(!defs::delete_draft(tx, "t", &id(1), Some(1))?);
        assert!(defs::delete_draft(tx, "t", &id(1), None)?);
        assert!(!defs::delete_draft(tx, "t", &id(1), None)? && defs::draft(tx, "t", &id(1))?.is_none());
        assert_eq!((put(tx, Some(2))?, put(tx, Some(0))?, put(tx, Some(2))?), (None, Some(3), None), "a later draft is another");
        Ok(())
    })
    .unwrap();
}

fn message(number: u64, history: &str, shown: bool) -> MessageRow {
    MessageRow {
        id: id(number),
        thread: id(800),
        history: history.into(),
        shown,
        summarized: false,
        role: "user".into(),
        run: Some(id(1)),
        created_at: Timestamp(100),
        body: json!({"role": "user", "content": format!("hello {number} {}", "x".repeat(90))}).to_string().into(),
        meta: None,
        covers: Vec::new(),
        files: vec![],
        no: 0,
    }
}

#[test]
fn threads_keep_messages_for_people_and_for_models() {
    write(&memory(), |tx| {
        let entity = (EntityKind::Workflow, &id(900));
        threads::begin(tx, "t", &id(800), &of(entity, Some("u")), Timestamp(50))?;
        threads::begin(tx, "t", &id(800), &of(entity, None), Timestamp(60))?;
        let foreign = threads::begin(tx, "t", &id(800), &of((EntityKind::Workflow, &id(901)), None), Timestamp(60));
        assert!(matches!(foreign, Err(StoreError::Conflict(_))));
        runs::insert(tx, &run(1))?;
        let messages = vec![message(1, "own", true), message(2, "own", false), message(3, "", true)];
        append(tx, &Append { messages, ..growth(1, 0, 1) })?;
        let summary = MessageRow { meta: Some(json!({"studio_kind": "summary"})), covers: vec![id(1), id(2)], ..message(4, "own", true) };
        let second = MessageRow { covers: vec![id(2)], ..MessageRow { id: id(5), ..summary.clone() } };
        append(tx, &Append { messages: vec![summary, second], ..growth(1, 1, 0) })?;
        let ids = |rows: Vec<MessageRow>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
        assert_eq!(ids(threads::history(tx, "t", &id(800), "own")?), [id(4)]);
        let shown = threads::shown(tx, "t", &id(800), 0, 2)?;
        assert!(shown[0].summarized);
        assert_eq!(ids(threads::shown(tx, "t", &id(800), shown[1].no, 9)?), [id(4)]);
        let thread = threads::get(tx, "t", &id(800))?.unwrap();
        assert_eq!((thread.message_count, thread.run_count, thread.updated_at, thread.user_id.as_deref()), (3, 2, Timestamp(100), Some("u")));
        assert_eq!(thread.preview.as_ref().map(|text| text.chars().count()), Some(80));
        assert_eq!(threads::busy_with(tx, "t", &id(800))?, Some(id(1)));
        let paused = RunUpdate { awaiting_pause: Some(id(55)), ..update("awaiting_input") };
        append(tx, &Append { row: paused, ..growth(1, 1, 1) })?;
        assert_eq!(threads::open_pause(tx, "t", &id(800))?.unwrap().pause, id(55));
        assert_eq!(threads::busy_with(tx, "t", &id(800))?, None);
        threads::delete(tx, "t", &id(800))?;
        assert_eq!(threads::get(tx, "t", &id(800))?, None);
        assert_eq!(threads::shown(tx, "t", &id(800), 0, 9)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_deleted_thread_stays_with_the_entity_whose_runs_may_go_on() {
    write(&memory(), |tx| {
        let begin = |tx: &mut Tx<'_>, tenant: &str, entity: u64| {
            threads::begin(tx, tenant, &id(800), &of((EntityKind::Workflow, &id(entity)), None), Timestamp(60))
        };
        begin(tx, "t", 900)?;
        runs::insert(tx, &run(1))?;
        threads::delete(tx, "t", &id(800))?;
        assert!(matches!(begin(tx, "t", 901), Err(StoreError::Conflict(_))));
        assert_eq!(threads::get(tx, "t", &id(800))?, None, "a refusal makes no thread");
        begin(tx, "u", 901)?;
        begin(tx, "t", 900)?;
        threads::delete(tx, "t", &id(800))?;
        runs::delete(tx, "t", &id(1))?;
        begin(tx, "t", 901)
    })
    .unwrap();
}

#[test]
fn a_memory_is_read_from_its_newest_message_backwards() {
    write(&memory(), |tx| {
        threads::begin(tx, "t", &id(800), &of((EntityKind::Workflow, &id(900)), None), Timestamp(50))?;
        runs::insert(tx, &run(1))?;
        let summary = MessageRow { role: "system".into(), covers: vec![id(1)], ..message(3, "own", false) };
        let others = vec![message(4, "own", true), message(5, "other", true), message(6, "own", true)];
        append(tx, &Append { messages: vec![message(1, "own", true), message(2, "own", true)], ..growth(1, 0, 1) })?;
        append(tx, &Append { messages: vec![summary], ..growth(1, 1, 0) })?;
        append(tx, &Append { messages: others, ..growth(1, 1, 0) })?;
        let ids = |rows: &[MessageRow]| rows.iter().map(|row| row.id).collect::<Vec<_>>();
        let first = remembered::newest(tx, "t", &id(800), "own", i64::MAX, 2)?;
        assert_eq!(ids(&first), [id(6), id(4)]);
        let rest = remembered::newest(tx, "t", &id(800), "own", first[1].no, 9)?;
        assert_eq!(ids(&rest), [id(3), id(2)], "a summary stands for the first one");
        assert_eq!(remembered::count(tx, "t", &id(800), "own", first[1].no)?, 2);
        assert_eq!(ids(&remembered::summaries(tx, "t", &id(800), "own", first[1].no)?), [id(3)]);
        assert_eq!(remembered::summaries(tx, "t", &id(800), "own", rest[0].no)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_run_replaces_a_turn_with_its_own_or_not_at_all() {
    let store = memory();
    write(&store, |tx| {
        threads::begin(tx, "t", &id(800), &of((EntityKind::Workflow, &id(900)), None), Timestamp(50))?;
        runs::insert(tx, &run(1))?;
        runs::insert(tx, &run(2))?;
        let summary = MessageRow { role: "system".into(), covers: vec![id(7)], run: Some(id(1)), ..message(4, "own", true) };
        let older = MessageRow { run: Some(id(9)), ..message(7, "own", true) };
        let answer = MessageRow { role: "assistant".into(), ..message(2, "own", true) };
        append(tx, &Append { messages: vec![older, summary, message(1, "own", true), answer], ..growth(1, 0, 1) })
    })
    .unwrap();
    let left = || {
        let ids = |rows: Vec<MessageRow>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
        let found = read(&store, move |tx| {
            let count = threads::get(tx, "t", &id(800))?.map(|thread| thread.message_count);
            Ok((ids(threads::history(tx, "t", &id(800), "own")?), ids(threads::shown(tx, "t", &id(800), 0, 9)?), count))
        });
        found.unwrap()
    };
    let before = left();
    write(&store, |tx| log::append(tx, &Append { replaced: Some(id(1)), ..growth(2, 0, 1) })).unwrap();
    assert_eq!(left(), before, "a run that adds nothing replaces nothing");
    let again = MessageRow { run: Some(id(2)), ..message(5, "own", true) };
    let turn = Append { replaced: Some(id(1)), messages: vec![again], ..growth(2, 1, 1) };
    write(&store, move |tx| log::append(tx, &turn)).unwrap();
    let all = (vec![id(4), id(5)], vec![id(7), id(4), id(5)], Some(3));
    assert_eq!(left(), all, "what was said before stays, and so does its summary");
}

#[test]
fn threads_are_listed_by_latest_activity() {
    write(&memory(), |tx| {
        for number in 1..=9 {
            let entity = id(900 + number % 2);
            threads::begin(tx, "t", &id(number), &of((EntityKind::Agent, &entity), None), Timestamp(100 - i64::try_from(number / 2).unwrap()))?;
        }
        let mut listed = Vec::new();
        let mut after = None;
        while let Some(last) = {
            let rows = threads::list(tx, "t", &ThreadFilter::default(), after, 2)?;
            listed.extend(rows.iter().map(|row| row.no));
            rows.last().map(|row| (row.updated_at, row.no))
        } {
            after = Some(last);
        }
        assert_eq!(listed, [1, 3, 2, 5, 4, 7, 6, 9, 8]);
        let odd = ThreadFilter { entity_id: Some(id(901)), ..ThreadFilter::default() };
        assert_eq!(threads::list(tx, "t", &odd, None, 9)?.len(), 5);
        let workflows = ThreadFilter { entity_type: Some(EntityKind::Workflow), ..ThreadFilter::default() };
        assert_eq!(threads::list(tx, "t", &workflows, None, 9)?, []);
        Ok(())
    })
    .unwrap();
}

pub(super) fn file(key: &str) -> AttachmentRow {
    AttachmentRow {
        storage_key: key.into(),
        user_id: Some("u".into()),
        kind: "image".into(),
        mime_type: "image/png".into(),
        name: None,
        size: 3,
        created_at: Timestamp(1000),
        used: false,
    }
}

#[test]
fn bytes_in_a_folder_are_noted_until_they_are_removed_from_there() {
    write(&memory(), |tx| {
        attachments::insert(tx, "t", &file("in a folder"), None)?;
        attachments::insert(tx, "t", &file("in its row"), Some(b"abc"))?;
        assert!(attachments::delete(tx, "t", "in a folder")? && attachments::delete(tx, "t", "in its row")?);
        assert!(!attachments::delete(tx, "t", "in a folder")?, "it is gone");
        let noted = |tx: &mut Tx<'_>| attachments::due_to_remove(tx, ("", ""), Timestamp(9), 9);
        assert_eq!(noted(tx)?, [("t".to_owned(), "in a folder".to_owned())]);
        attachments::removed(tx, "t", "in a folder")?;
        assert_eq!(noted(tx)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_file_lives_as_long_as_something_refers_to_it() {
    write(&memory(), |tx| {
        for key in ["run", "both", "unused"] {
            attachments::insert(tx, "t", &file(key), Some(b"abc"))?;
        }
        threads::begin(tx, "t", &id(800), &of((EntityKind::Workflow, &id(900)), None), Timestamp(1))?;
        runs::insert(tx, &run(1))?;
        let messages = vec![MessageRow { files: vec!["both".into()], ..message(1, "", true) }];
        append(tx, &Append { messages, files: vec!["run".into(), "both".into()], ..growth(1, 0, 1) })?;
        assert!(attachments::in_use(tx, "t", "run")? && !attachments::in_use(tx, "t", "unused")?);
        assert!(attachments::get(tx, "t", "run")?.unwrap().used);
        assert_eq!(attachments::content(tx, "other", "run")?, None);
        assert_eq!(attachments::content(tx, "t", "run")?.as_deref(), Some(&b"abc"[..]));
        assert_eq!(runs::delete(tx, "t", &id(1))?, ["run"]);
        assert_eq!(attachments::get(tx, "t", "run")?, None);
        assert_eq!(threads::delete(tx, "t", &id(800))?, ["both"]);
        assert_eq!(attachments::old(tx, Timestamp(1000), None, 9)?, []);
        assert_eq!(attachments::old(tx, Timestamp(1001), None, 9)?, [("t".to_owned(), "unused".to_owned(), false)]);
        assert!(attachments::delete_free(tx, "t", "unused", false)? && !attachments::delete_free(tx, "t", "unused", false)?);
        assert_eq!((attachments::get(tx, "t", "unused")?, attachments::content(tx, "t", "unused")?), (None, None));
        Ok(())
    })
    .unwrap();
}

#[test]
fn passages_of_a_reading_go_in_parts_and_those_of_the_next_stay() {
    write(&memory(), |tx| {
        let texts = |tx: &mut Tx<'_>, reading| passages::texts(tx, reading, 0, 9);
        for reading in [6, 7, 8] {
            let some: Vec<Passage> =
                (0..3).map(|at| Passage { text: format!("{reading}.{at}"), place: passages::Place::default() }).collect();
            passages::insert(tx, reading, &some)?;
        }
        assert!(passages::remove_some(tx, 7, 2)?);
        assert_eq!(texts(tx, 7)?, ["7.2"], "no more than two at once");
        assert!(passages::remove_some(tx, 7, u64::MAX)? && !passages::remove_some(tx, 7, u64::MAX)?);
        assert_eq!((texts(tx, 6)?.len(), texts(tx, 7)?.len(), texts(tx, 8)?.len()), (3, 0, 3));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_key_is_answered_once() {
    write(&memory(), |tx| {
        let key = |request: &str| RequestKey { route: "run", key: "k".into(), request: request.into() };
        let keep = |tx: &mut Tx<'_>, request: &str, now| request_keys::keep(tx, "t", &key(request), &json!({"at": now}), Timestamp(now));
        let find = |tx: &mut Tx<'_>, tenant: &str, request: &str, now| request_keys::find(tx, tenant, &key(request), Timestamp(now));
        assert_eq!(find(tx, "t", "a", 0)?, None);
        keep(tx, "a", 1)?;
        assert_eq!(keep(tx, "a", 2), Err(StoreError::KeyTaken));
        assert_eq!(keep(tx, "b", 2), Err(StoreError::KeyTaken));
        assert_eq!(find(tx, "t", "a", 3)?, Some(Seen::Answered(json!({"at": 1}))));
        assert_eq!(find(tx, "t", "b", 3)?, Some(Seen::Reused));
        assert_eq!(find(tx, "other", "a", 3)?, None);
        let later = 1 + request_keys::LIFE_MS;
        assert_eq!(find(tx, "t", "a", later)?, None);
        keep(tx, "b", later)?;
        assert_eq!(find(tx, "t", "b", later)?, Some(Seen::Answered(json!({"at": later}))));
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_host_is_told_again_until_it_answers() {
    write(&memory(), |tx| {
        runs::insert(tx, &run(1))?;
        append(tx, &Append { outbox: vec![json!({"event": 1})], ..growth(1, 0, 1) })?;
        let mut tries = Vec::new();
        let mut now = 10;
        while let Some(due) = outbox::next_due(tx)? {
            now = due.0.max(now);
            for event in outbox::take_due(tx, Timestamp(now), 9)? {
                assert_eq!((event.tenant.as_str(), &event.body), ("t", &json!({"event": 1})));
                assert_eq!(outbox::take_due(tx, Timestamp(now), 9)?, [], "it was taken");
                tries.push(now - 10);
                outbox::failed(tx, &event, Timestamp(now))?;
            }
        }
        assert_eq!(&tries[..6], [0, 1000, 11_000, 71_000, 671_000, 1_271_000]);
        assert_eq!(tries.last(), Some(&(71_000 + 86_400_000)));
        append(tx, &Append { outbox: vec![json!(2)], ..growth(1, 1, 1) })?;
        assert_eq!(outbox::take_due(tx, Timestamp(now), 9)?.len(), 1, "and its taker dies");
        let due = outbox::next_due(tx)?.expect("it is due again");
        let event = outbox::take_due(tx, due, 9)?.remove(0);
        assert_eq!(event.tries, 2);
        outbox::done(tx, &event)?;
        assert_eq!(outbox::next_due(tx)?, None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_checkpoint_is_found_until_it_expires() {
    write(&memory(), |tx| {
        let row = |key: &str, expires_at| CheckpointRow {
            key: key.into(),
            run: id(1),
            node_id: "n".into(),
            iteration_path: String::new(),
            input_hash: "h".into(),
            handle: "default".into(),
            change: "{\"a\":1}".into(),
            turn: Some("{\"history\":\"h\"}".into()),
            created_at: Timestamp(1),
            expires_at,
        };
        runs::insert(tx, &run(1))?;
        append(tx, &Append { checkpoints: vec![row("a", Some(Timestamp(10))), row("b", None)], ..growth(1, 0, 1) })?;
        let found = |tx: &mut Tx<'_>, tenant: &str, key: &str, now| -> Result<Option<Kept>, StoreError> {
            checkpoints::find(tx, tenant, key, Timestamp(now))
        };
        let kept = Kept { handle: "default".into(), change: json!({"a": 1}), turn: Some(json!({"history": "h"})) };
        assert_eq!(found(tx, "t", "a", 9)?, Some(kept));
        assert_eq!((found(tx, "t", "a", 10)?, found(tx, "other", "b", 9)?), (None, None));
        assert_eq!(checkpoints::list(tx, "t", Some(&id(1)), 9)?.len(), 2);
        for (key, at, wanted) in [("a", 9, "default"), ("a", 10, "other"), ("b", 10, "default")] {
            let later = CheckpointRow { handle: "other".into(), created_at: Timestamp(at), ..row(key, Some(Timestamp(20))) };
            checkpoints::store(tx, "t", &later)?;
            assert_eq!(found(tx, "t", key, 9)?.map(|kept| kept.handle).as_deref(), Some(wanted), "{key} at {at}");
        }
        assert_eq!(checkpoints::delete_expired(tx, Timestamp(20), 9)?, 1);
        assert!(found(tx, "t", "b", i64::MAX)?.is_some());
        checkpoints::store(tx, "t", &row("c", None))?;
        checkpoints::store(tx, "t", &row("d", None))?;
        assert_eq!((checkpoints::delete_any(tx, 2)?, checkpoints::list(tx, "t", None, 9)?.len()), (2, 1), "as many as are asked for");
        runs::delete(tx, "t", &id(1))?;
        assert_eq!(checkpoints::list(tx, "t", None, 9)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn letters_of_any_language_are_found_whatever_their_case() {
    write(&fresh(), |tx| {
        for (number, name) in [(1, "Übersetzer Поддержка"), (2, "a.b 100%_[x]"), (3, "ΟΔΟΣ")] {
            let text = format!("agent-{number}");
            let row = DefinitionRow {
                id: id(number),
                slug: text,
                name: name.to_owned(),
                revision: 1,
                source: "studio".into(),
                created_at: Timestamp(1),
                updated_at: Timestamp(1),
                body: json!({}),
                no: 0,
            };
            defs::insert(tx, "t", DefinitionKind::Agent, &row)?;
            runs::insert(tx, &RunRow { input_preview: name.to_owned(), ..run(number) })?;
        }
        for (q, wanted) in [
            ("übersetzer", 1),
            ("Übersetzer", 1),
            ("ÜBERSETZER ПОДДЕРЖКА", 1),
            ("поддержка", 1),
            ("A.B", 2),
            ("100%_[X]", 2),
            ("οδος", 3),
            ("ΟΔΟ", 3),
        ] {
            let found = defs::list(tx, "t", DefinitionKind::Agent, Some(q), None, 9)?;
            assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), [id(wanted)], "{q}");
            let (filter, mut listed) = (runs::RunFilter { q: Some(q.to_owned()), ..Default::default() }, Vec::new());
            runs::list(tx, "t", &filter, None, 9, &mut |line| {
                listed.push(line.id.to_string());
                Ok(())
            })?;
            assert_eq!(listed, [id(wanted).to_string()], "{q}");
        }
        assert_eq!(defs::list(tx, "t", DefinitionKind::Agent, Some("axb"), None, 9)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_file_brings_no_news_of_other_processes_so_that_workers_look_often() {
    if std::env::var_os("STUDIO_TEST_DATABASE_URL").is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(!store_in(&folder).has_notifications() && !memory().has_notifications());
}
