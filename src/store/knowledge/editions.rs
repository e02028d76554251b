//! Owns the editions of knowledge bases: the embeddings in use, and those that a reindex is building.

use crate::model::Id;
use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;
use crate::store::knowledge::fulltext::Index;
use crate::store::knowledge::readings;

/// How texts become vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedder {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Wanted length of the vectors; none = the model's own.
    pub dimensions: Option<u32>,
}

/// The language of the editions of earlier versions, which the databases themselves looked for words in.
pub const EARLIER: &str = "en";

/// All passages of a base with vectors of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edition {
    /// Its number.
    pub no: i64,
    /// How its vectors are made.
    pub embedder: Embedder,
    /// Whose words it is searched by; none: the database finds them, as in earlier versions.
    pub language: Option<String>,
    /// It is what searches see.
    pub current: bool,
    /// Another one, at random, after each change of what searches see.
    pub changes: i64,
}

impl Edition {
    /// Is it what a base of these embeddings and this language is searched by?
    pub fn serves(&self, embedder: &Embedder, language: &str) -> bool {
        self.embedder == *embedder && self.language.as_deref().unwrap_or(EARLIER) == language
    }

    /// Where its words are found.
    pub const fn index(&self) -> Index {
        Index { edition: self.no, by_database: self.language.is_none() }
    }
}

fn of_row(row: &Row<'_>) -> Result<Edition, StoreError> {
    Ok(Edition {
        no: row.int(0)?,
        embedder: Embedder {
            provider: row.text(1)?.to_owned(),
            model: row.text(2)?.to_owned(),
            dimensions: row.opt_int(3)?.and_then(|length| u32::try_from(length).ok()),
        },
        current: row.text(4)? == "current",
        changes: row.int(5)?,
        language: row.opt_text(6)?.map(str::to_owned),
    })
}

/// The editions of a base that are not gone, the current one first.
pub fn of_base(tx: &mut Tx<'_>, tenant: &str, base: &Id) -> Result<Vec<Edition>, StoreError> {
    tx.query(
        "SELECT no, provider, model, dimensions, state, changes, language FROM #editions \
         WHERE tenant = $1 AND base = $2 AND state IN ('current', 'building') ORDER BY state DESC, no",
        params![tenant, &base.to_string()],
        of_row,
    )
}

/// An edition by its number.
pub fn get(tx: &mut Tx<'_>, no: i64) -> Result<Option<Edition>, StoreError> {
    tx.query_one("SELECT no, provider, model, dimensions, state, changes, language FROM #editions WHERE no = $1", params![no], of_row)
}

fn insert(tx: &mut Tx<'_>, tenant: &str, base: &Id, state: &str, (embedder, language): (&Embedder, &str)) -> Result<Edition, StoreError> {
    let made = tx.query_one(
        "INSERT INTO #editions (tenant, base, state, provider, model, dimensions, language, changes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, {abs(random() / 2)|CAST(random() * 4611686018427387904 AS BIGINT)}) \
         RETURNING no, provider, model, dimensions, state, changes, language",
        params![tenant, &base.to_string(), state, &embedder.provider, &embedder.model, embedder.dimensions, language],
        of_row,
    )?;
    made.ok_or_else(|| StoreError::Fault("an edition was not stored".to_owned()))
}

/// Locks the editions of a base, and new readings into them, until the transaction ends.
pub fn alone(tx: &mut Tx<'_>, base: &Id) -> Result<(), StoreError> {
    tx.alone("editions", &base.to_string())
}

/// The editions that a document is read into: the current one, made when there is none, and the one that is being built. One that was begun for
/// other settings than those of the base is given up.
pub fn for_writing(tx: &mut Tx<'_>, tenant: &str, base: &Id, embedder: &Embedder, language: &str) -> Result<Vec<Edition>, StoreError> {
    alone(tx, base)?;
    let (mut found, unwanted): (Vec<_>, Vec<_>) =
        of_base(tx, tenant, base)?.into_iter().partition(|edition| edition.current || edition.serves(embedder, language));
    for edition in unwanted {
        close(tx, edition.no)?;
    }
    let unused = match found.first() {
        Some(first) if first.current => !first.serves(embedder, language) && !readings::any(tx, first.no)?,
        Some(_) | None => false,
    };
    let before = unused.then(|| found.remove(0));
    if !found.first().is_some_and(|first| first.current) {
        found.insert(0, insert(tx, tenant, base, "current", (embedder, language))?);
    }
    if let Some(before) = before {
        // The errors of that edition stay on its documents.
        tx.execute(
            "UPDATE #readings SET edition = $1 WHERE edition = $2 AND state = 'failed'",
            params![found.first().map(|first| first.no), before.no],
        )?;
        close(tx, before.no)?;
    }
    Ok(found)
}

/// Begins an edition that will replace the current one.
pub fn build(tx: &mut Tx<'_>, tenant: &str, base: &Id, embedder: &Embedder, language: &str) -> Result<Edition, StoreError> {
    insert(tx, tenant, base, "building", (embedder, language))
}

/// What searches see of an edition is not what it was.
pub fn changed(tx: &mut Tx<'_>, edition: i64) -> Result<(), StoreError> {
    tx.execute("UPDATE #editions SET changes = {abs(random() / 2)|CAST(random() * 4611686018427387904 AS BIGINT)} WHERE no = $1", params![edition]).map(drop)
}

/// An edition is of no more use; nor is what was read into it.
pub fn close(tx: &mut Tx<'_>, edition: i64) -> Result<(), StoreError> {
    tx.execute("UPDATE #editions SET state = 'gone' WHERE no = $1", params![edition])?;
    tx.execute("UPDATE #readings SET state = 'gone', owner = NULL WHERE edition = $1", params![edition])?;
    sweep(tx)
}

/// Closes every edition of a base.
pub fn close_all(tx: &mut Tx<'_>, tenant: &str, base: &Id) -> Result<(), StoreError> {
    for edition in of_base(tx, tenant, base)? {
        close(tx, edition.no)?;
    }
    Ok(())
}

/// Puts an edition that is whole in the place of the current one: when nothing is left to read into it, and every document that can
/// be found now can be found then. True when it was done.
pub fn swap_when_whole(tx: &mut Tx<'_>, tenant: &str, base: &Id) -> Result<bool, StoreError> {
    alone(tx, base)?;
    let found = of_base(tx, tenant, base)?;
    let Some(next) = found.iter().find(|edition| !edition.current) else { return Ok(false) };
    let current = found.iter().find(|edition| edition.current);
    if readings::unfinished(tx, next.no)? {
        return Ok(false);
    }
    if let Some(current) = current {
        if readings::missing(tx, current.no, next.no)? {
            return Ok(false);
        }
        close(tx, current.no)?;
    }
    tx.execute("UPDATE #editions SET state = 'current' WHERE no = $1", params![next.no])?;
    changed(tx, next.no).map(|()| true)
}

/// Forgets editions of which nothing is left.
pub fn sweep(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM #editions WHERE state = 'gone' AND NOT EXISTS (SELECT 1 FROM #readings r WHERE r.edition = #editions.no)",
        params![],
    )
    .map(drop)
}
