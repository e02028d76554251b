//! Owns the tables of definitions: agents, workflows, tools, MCP servers, knowledge bases; their revisions and drafts.

use serde_json::Value;

use super::db::{Row, Tx, params, to_json};
use super::error::StoreError;
use crate::model::{Id, Timestamp};
use crate::store::runs::list::pattern;

named! {
    /// Kinds of definitions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "the names say it")]
    pub enum DefinitionKind {
        Agent = "agent",
        Workflow = "workflow",
        Tool = "tool",
        McpServer = "mcp_server",
        KnowledgeBase = "knowledge_base",
    }
}

/// A definition.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DefinitionRow {
    pub id: Id,
    /// Unique in its tenant and kind.
    pub slug: String,
    pub name: String,
    /// From 1, grows with each change.
    pub revision: i64,
    /// `studio`, `template`, `code` or `host`.
    pub source: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The rest, as JSON.
    pub body: Value,
    /// Its place in lists; 0 before it is stored.
    pub no: i64,
}

macro_rules! columns {
    () => {
        "SELECT no, id, slug, name, revision, source, created_at, updated_at, body FROM #definitions "
    };
}

fn of_row(row: &Row<'_>) -> Result<DefinitionRow, StoreError> {
    Ok(DefinitionRow {
        no: row.int(0)?,
        id: row.id(1)?,
        slug: row.text(2)?.to_owned(),
        name: row.text(3)?.to_owned(),
        revision: row.int(4)?,
        source: row.text(5)?.to_owned(),
        created_at: Timestamp(row.int(6)?),
        updated_at: Timestamp(row.int(7)?),
        body: row.json(8)?,
    })
}

/// Locks the definitions of this tenant against inserts and renames until the transaction ends.
pub fn hold(tx: &mut Tx<'_>, tenant: &str) -> Result<(), StoreError> {
    tx.alone("definitions", tenant)
}

/// Stores a definition; `Conflict` when its slug is taken.
pub fn insert(tx: &mut Tx<'_>, tenant: &str, kind: DefinitionKind, row: &DefinitionRow) -> Result<(), StoreError> {
    hold(tx, tenant)?;
    let added = tx.execute(
        "INSERT INTO #definitions (id, tenant, kind, slug, name, revision, source, created_at, updated_at, body) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
        params![
            &row.id.to_string(),
            tenant,
            kind.as_str(),
            &row.slug,
            &row.name,
            row.revision,
            &row.source,
            row.created_at.0,
            row.updated_at.0,
            &to_json(&row.body)?,
        ],
    )?;
    if added == 0 { Err(taken(&row.slug)) } else { count_change(tx) }
}

/// Counts the changes of all definitions: what was read at one count is true as long as the count stays.
pub fn epoch(tx: &mut Tx<'_>) -> Result<String, StoreError> {
    let found = tx.query_one("SELECT value FROM #meta WHERE key = 'definitions'", params![], |row| Ok(row.text(0)?.to_owned()))?;
    Ok(found.unwrap_or_default())
}

fn count_change(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO #meta AS m (key, value) VALUES ('definitions', '1') \
         ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(m.value AS BIGINT) + 1 AS TEXT)",
        params![],
    )?;
    Ok(())
}

fn taken(slug: &str) -> StoreError {
    StoreError::Conflict(format!("the slug `{slug}` is taken"))
}

/// How a change of a definition ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Changed {
    /// It was made.
    Done,
    /// The slug belongs to another.
    SlugTaken,
    /// The definition is not there any more, or has another revision.
    Stale(Option<Box<DefinitionRow>>),
}

/// Replaces the definition of revision `expected`; `row` carries the new revision.
pub fn update(
    tx: &mut Tx<'_>,
    tenant: &str,
    kind: DefinitionKind,
    expected: i64,
    row: &DefinitionRow,
) -> Result<Changed, StoreError> {
    let id = row.id.to_string();
    hold(tx, tenant)?;
    if by_slug(tx, tenant, kind, &row.slug)?.is_some_and(|other| other.id != row.id) {
        return Ok(Changed::SlugTaken);
    }
    let changed = tx.execute(
        "UPDATE #definitions SET slug = $1, name = $2, revision = $3, source = $4, updated_at = $5, body = $6 \
         WHERE tenant = $7 AND kind = $8 AND id = $9 AND revision = $10",
        params![
            &row.slug,
            &row.name,
            row.revision,
            &row.source,
            row.updated_at.0,
            &to_json(&row.body)?,
            tenant,
            kind.as_str(),
            &id,
            expected,
        ],
    )?;
    if changed == 0 {
        return get(tx, tenant, kind, &row.id).map(|row| Changed::Stale(row.map(Box::new)));
    }
    count_change(tx)?;
    Ok(Changed::Done)
}

/// A definition by id.
pub fn get(tx: &mut Tx<'_>, tenant: &str, kind: DefinitionKind, id: &Id) -> Result<Option<DefinitionRow>, StoreError> {
    tx.query_one(
        concat!(columns!(), "WHERE tenant = $1 AND kind = $2 AND id = $3"),
        params![tenant, kind.as_str(), &id.to_string()],
        of_row,
    )
}

/// A definition by slug.
pub fn by_slug(tx: &mut Tx<'_>, tenant: &str, kind: DefinitionKind, slug: &str) -> Result<Option<DefinitionRow>, StoreError> {
    tx.query_one(
        concat!(columns!(), "WHERE tenant = $1 AND kind = $2 AND slug = $3"),
        params![tenant, kind.as_str(), slug],
        of_row,
    )
}

/// A definition by id or slug.
pub fn find(tx: &mut Tx<'_>, tenant: &str, kind: DefinitionKind, name: &str) -> Result<Option<DefinitionRow>, StoreError> {
    if let Ok(id) = name.parse() && let Some(found) = get(tx, tenant, kind, &id)? {
        return Ok(Some(found));
    }
    by_slug(tx, tenant, kind, name)
}

/// Is there a definition of this id or slug?
pub fn is_there(tx: &mut Tx<'_>, tenant: &str, kind: DefinitionKind, name: &str) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "SELECT 1 FROM #definitions WHERE tenant = $1 AND kind = $2 AND (id = $3 OR slug = $4) LIMIT 1",
        params![tenant, kind.as_str(), &name.parse::<Id>().map_or_else(|_| name.to_owned(), |id| id.to_string()), name],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Definitions, newest first, after the place `after`, at most `limit`; `q` is a part of name or slug.
pub fn list(
    tx: &mut Tx<'_>,
    tenant: &str,
    kind: DefinitionKind,
    q: Option<&str>,
    after: Option<i64>,
    limit: usize,
) -> Result<Vec<DefinitionRow>, StoreError> {
    let q = q.map(|q| pattern(tx.is_file(), q));
    tx.query(
        concat!(
            columns!(),
            "WHERE tenant = $1 AND kind = $2 AND no < $3 AND ($4 IS NULL OR lower(name) {LIKE $4 ESCAPE '\\'|~ $4} OR slug {LIKE $4 ESCAPE '\\'|~ $4}) \
             ORDER BY no DESC LIMIT $5"
        ),
        params![tenant, kind.as_str(), after.unwrap_or(i64::MAX), q.as_ref(), limit as u64],
        of_row,
    )
}

/// Removes a definition with its revisions and its draft; of `expected` revision when one is given. False = not there.
pub fn delete(
    tx: &mut Tx<'_>,
    tenant: &str,
    kind: DefinitionKind,
    id: &Id,
    expected: Option<i64>,
) -> Result<bool, StoreError> {
    let id = id.to_string();
    hold(tx, tenant)?;
    let removed = tx.execute(
        "DELETE FROM #definitions WHERE tenant = $1 AND kind = $2 AND id = $3 AND ($4 IS NULL OR revision = $4)",
        params![tenant, kind.as_str(), &id, expected],
    )?;
    if removed > 0 {
        count_change(tx)?;
        tx.execute("DELETE FROM #revisions WHERE tenant = $1 AND definition = $2", params![tenant, &id])?;
        tx.execute("DELETE FROM #drafts WHERE tenant = $1 AND definition = $2", params![tenant, &id])?;
    }
    Ok(removed > 0)
}

/// A workflow as it was saved.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the list of revisions")]
pub struct RevisionRow {
    pub revision: i64,
    pub created_at: Timestamp,
    pub user_id: Option<String>,
    pub node_count: u64,
}

/// Keeps a saved revision, whole.
pub fn keep_revision(
    tx: &mut Tx<'_>,
    tenant: &str,
    definition: &Id,
    row: &RevisionRow,
    body: &Value,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO #revisions (tenant, definition, revision, created_at, user_id, node_count, body) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        params![
            tenant,
            &definition.to_string(),
            row.revision,
            row.created_at.0,
            row.user_id.as_ref(),
            row.node_count,
            &to_json(body)?,
        ],
    )?;
    Ok(())
}

/// Revisions before `before`, newest first, at most `limit`.
pub fn revisions(
    tx: &mut Tx<'_>,
    tenant: &str,
    definition: &Id,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<RevisionRow>, StoreError> {
    tx.query(
        "SELECT revision, created_at, user_id, node_count FROM #revisions \
         WHERE tenant = $1 AND definition = $2 AND revision < $3 ORDER BY revision DESC LIMIT $4",
        params![tenant, &definition.to_string(), before.unwrap_or(i64::MAX), limit as u64],
        |row| {
            Ok(RevisionRow {
                revision: row.int(0)?,
                created_at: Timestamp(row.int(1)?),
                user_id: row.opt_text(2)?.map(str::to_owned),
                node_count: row.count(3)?,
            })
        },
    )
}

/// A revision, whole.
pub fn revision(tx: &mut Tx<'_>, tenant: &str, definition: &Id, number: i64) -> Result<Option<Value>, StoreError> {
    tx.query_one(
        "SELECT body FROM #revisions WHERE tenant = $1 AND definition = $2 AND revision = $3",
        params![tenant, &definition.to_string(), number],
        |row| row.json(0),
    )
}

/// A draft.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the draft")]
pub struct DraftRow {
    pub graph: Value,
    pub draft_revision: i64,
    pub based_on_revision: Option<i64>,
    pub updated_at: Timestamp,
}

/// The draft of a workflow.
pub fn draft(tx: &mut Tx<'_>, tenant: &str, definition: &Id) -> Result<Option<DraftRow>, StoreError> {
    tx.query_one(
        "SELECT graph, revision, based_on, updated_at FROM #drafts WHERE tenant = $1 AND definition = $2 AND graph <> ''",
        params![tenant, &definition.to_string()],
        |row| {
            Ok(DraftRow {
                graph: row.json(0)?,
                draft_revision: row.int(1)?,
                based_on_revision: row.opt_int(2)?,
                updated_at: Timestamp(row.int(3)?),
            })
        },
    )
}

/// Stores a draft over the one of `expected` revision (none = whatever is there); gives its new revision, or none when stale.
/// Revisions of a workflow's drafts never come again: who knows one of a draft that is gone cannot take a later one for it.
pub fn put_draft(
    tx: &mut Tx<'_>,
    tenant: &str,
    definition: &Id,
    graph: &Value,
    expected: Option<i64>,
    based_on: Option<i64>,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    tx.alone("draft", &definition.to_string())?;
    let found = draft(tx, tenant, definition)?.map(|draft| draft.draft_revision);
    if expected.is_some_and(|expected| expected != found.unwrap_or(0)) {
        return Ok(None);
    }
    tx.query_one(
        "INSERT INTO #drafts AS d (tenant, definition, revision, based_on, updated_at, graph) VALUES ($1, $2, 1, $3, $4, $5) \
         ON CONFLICT (tenant, definition) DO UPDATE SET revision = d.revision + 1, updated_at = excluded.updated_at, graph = excluded.graph, \
         based_on = CASE WHEN d.graph = '' THEN excluded.based_on ELSE d.based_on END RETURNING revision",
        params![tenant, &definition.to_string(), based_on, now.0, &to_json(graph)?],
        |row| row.int(0),
    )
}

/// Removes a draft, not the count of its revisions; false when there is none, or not of `expected` revision.
pub fn delete_draft(tx: &mut Tx<'_>, tenant: &str, definition: &Id, expected: Option<i64>) -> Result<bool, StoreError> {
    let removed = tx.execute(
        "UPDATE #drafts SET graph = '' WHERE tenant = $1 AND definition = $2 AND graph <> '' AND ($3 IS NULL OR revision = $3)",
        params![tenant, &definition.to_string(), expected],
    )?;
    Ok(removed > 0)
}
