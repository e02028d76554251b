//! Owns definitions. Stand-in.
#![expect(missing_docs, reason = "a stand-in")]
use serde_json::{Map, Value};
use super::db::{Row, Tx, params, to_json};
use super::error::StoreError;
use crate::model::{Id, Timestamp};
#[derive(Clone, Debug, PartialEq)]
pub struct DefinitionRow { pub id: Id, pub slug: String, pub name: String, pub revision: i64, pub source: String, pub created_at: Timestamp, pub updated_at: Timestamp, pub body: Map<String, Value> }
#[derive(Clone, Debug, PartialEq)]
pub struct DraftRow { pub revision: i64, pub based_on: Option<i64>, pub updated_at: Timestamp, pub graph: Value }
#[derive(Clone, Debug, PartialEq)]
pub struct RevisionRow { pub revision: i64, pub created_at: Timestamp, pub user_id: Option<String>, pub node_count: u64, pub body: Map<String, Value> }
fn of(row: &Row<'_>) -> Result<DefinitionRow, StoreError> {
    Ok(DefinitionRow { id: row.id(0)?, slug: row.text(1)?.into(), name: row.text(2)?.into(), revision: row.int(3)?, source: row.text(4)?.into(), created_at: Timestamp(row.int(5)?), updated_at: Timestamp(row.int(6)?), body: row.json(7)? })
}
pub fn find(tx: &mut Tx<'_>, tenant: &str, kind: &str, name: &str) -> Result<Option<DefinitionRow>, StoreError> {
    tx.query_one("SELECT id, slug, name, revision, source, created_at, updated_at, body FROM #definitions WHERE tenant = $1 AND kind = $2 AND (id = $3 OR slug = $3) ORDER BY id = $3 DESC LIMIT 1", params![tenant, kind, name], of)
}
pub fn insert(tx: &mut Tx<'_>, tenant: &str, kind: &str, row: &DefinitionRow) -> Result<(), StoreError> {
    tx.execute("INSERT INTO #definitions (id, tenant, kind, slug, name, revision, source, created_at, updated_at, body) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)", params![&row.id.to_string(), tenant, kind, &row.slug, &row.name, row.revision, &row.source, row.created_at.0, row.updated_at.0, &to_json(&row.body)?]).map(|_| ())
}
pub fn update(tx: &mut Tx<'_>, tenant: &str, kind: &str, row: &DefinitionRow, expected: i64) -> Result<bool, StoreError> {
    Ok(tx.execute("UPDATE #definitions SET slug=$4, name=$5, revision=$6, updated_at=$7, body=$8 WHERE tenant=$1 AND kind=$2 AND id=$3 AND revision=$9", params![tenant, kind, &row.id.to_string(), &row.slug, &row.name, row.revision, row.updated_at.0, &to_json(&row.body)?, expected])? > 0)
}
pub fn delete(tx: &mut Tx<'_>, tenant: &str, kind: &str, id: Id) -> Result<(), StoreError> {
    let id = id.to_string();
    tx.execute("DELETE FROM #definitions WHERE tenant=$1 AND kind=$2 AND id=$3", params![tenant, kind, &id])?;
    tx.execute("DELETE FROM #drafts WHERE tenant=$1 AND definition=$2", params![tenant, &id])?;
    tx.execute("DELETE FROM #revisions WHERE tenant=$1 AND definition=$2", params![tenant, &id]).map(|_| ())
}
pub fn each(tx: &mut Tx<'_>, tenant: &str, kind: &str, take: &mut dyn FnMut(DefinitionRow) -> Result<(), StoreError>) -> Result<(), StoreError> {
    tx.query_each("SELECT id, slug, name, revision, source, created_at, updated_at, body FROM #definitions WHERE tenant=$1 AND kind=$2 ORDER BY no", params![tenant, kind], &mut |row| take(of(row)?))
}
pub fn list(tx: &mut Tx<'_>, tenant: &str, kind: &str, q: Option<&str>, before: i64, limit: usize) -> Result<Vec<(i64, DefinitionRow)>, StoreError> {
    let q = q.map(super::run_list::pattern);
    tx.query("SELECT id, slug, name, revision, source, created_at, updated_at, body, no FROM #definitions WHERE tenant=$1 AND kind=$2 AND no<$3 AND ($4 IS NULL OR lower(name) LIKE $4 ESCAPE '\\') ORDER BY no DESC LIMIT $5", params![tenant, kind, before, q.as_ref(), limit as u64], |row| Ok((row.int(8)?, of(row)?)))
}
#[expect(clippy::too_many_arguments, reason = "a stand-in")]
pub fn keep_revision(tx: &mut Tx<'_>, tenant: &str, id: Id, revision: i64, now: Timestamp, user: Option<&str>, count: u64, body: &Map<String, Value>) -> Result<(), StoreError> {
    tx.execute("INSERT INTO #revisions (tenant, definition, revision, created_at, user_id, node_count, body) VALUES ($1,$2,$3,$4,$5,$6,$7)", params![tenant, &id.to_string(), revision, now.0, user, count, &to_json(body)?]).map(|_| ())
}
fn rev(row: &Row<'_>) -> Result<RevisionRow, StoreError> { Ok(RevisionRow { revision: row.int(0)?, created_at: Timestamp(row.int(1)?), user_id: row.opt_text(2)?.map(str::to_owned), node_count: row.count(3)?, body: row.json(4)? }) }
pub fn revisions(tx: &mut Tx<'_>, tenant: &str, id: Id, before: i64, limit: usize) -> Result<Vec<RevisionRow>, StoreError> {
    tx.query("SELECT revision, created_at, user_id, node_count, body FROM #revisions WHERE tenant=$1 AND definition=$2 AND revision<$3 ORDER BY revision DESC LIMIT $4", params![tenant, &id.to_string(), before, limit as u64], rev)
}
pub fn revision(tx: &mut Tx<'_>, tenant: &str, id: Id, number: i64) -> Result<Option<RevisionRow>, StoreError> {
    tx.query_one("SELECT revision, created_at, user_id, node_count, body FROM #revisions WHERE tenant=$1 AND definition=$2 AND revision=$3", params![tenant, &id.to_string(), number], rev)
}
pub fn draft(tx: &mut Tx<'_>, tenant: &str, id: Id) -> Result<Option<DraftRow>, StoreError> {
    tx.query_one("SELECT revision, based_on, updated_at, graph FROM #drafts WHERE tenant=$1 AND definition=$2", params![tenant, &id.to_string()], |row| Ok(DraftRow { revision: row.int(0)?, based_on: row.opt_int(1)?, updated_at: Timestamp(row.int(2)?), graph: row.json(3)? }))
}
pub fn put_draft(tx: &mut Tx<'_>, tenant: &str, id: Id, draft: &DraftRow) -> Result<(), StoreError> {
    tx.execute("INSERT INTO #drafts (tenant, definition, revision, based_on, updated_at, graph) VALUES ($1,$2,$3,$4,$5,$6) ON CONFLICT (tenant, definition) DO UPDATE SET revision=excluded.revision, based_on=excluded.based_on, updated_at=excluded.updated_at, graph=excluded.graph", params![tenant, &id.to_string(), draft.revision, draft.based_on, draft.updated_at.0, &draft.graph.to_string()]).map(|_| ())
}
pub fn delete_draft(tx: &mut Tx<'_>, tenant: &str, id: Id) -> Result<(), StoreError> {
    tx.execute("DELETE FROM #drafts WHERE tenant=$1 AND definition=$2", params![tenant, &id.to_string()]).map(|_| ())
}
