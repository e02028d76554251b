//! Owns the full-text search for passages: the only place with full-text SQL of each database.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::store::db::{Tx, params};
use crate::store::error::StoreError;

/// Where the words of an edition are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// The edition's number.
    pub edition: i64,
    /// The database itself splits and stems texts, each in its own way, as in earlier versions; else terms are stored as they come.
    pub by_database: bool,
}

impl Index {
    /// The word that its rows are found by. PostgreSQL keeps it among the terms, which have no `_`.
    fn scope(self, is_file: bool) -> String {
        let sign = if is_file || self.by_database { "" } else { "_" };
        format!("e{sign}{}", self.edition)
    }
}

/// Makes a passage findable by its terms: lower-case letters, digits and marks. Where the database splits texts, its text is the only one.
pub fn add(tx: &mut Tx<'_>, index: Index, key: i64, terms: &[String]) -> Result<(), StoreError> {
    let scope = index.scope(tx.is_file());
    if index.by_database {
        return tx.send(
            "{INSERT INTO #passage_words (rowid, scope, content) VALUES ($1, $2, $3)\
             |INSERT INTO #passage_words (key, scope, words) VALUES ($1, $2, to_tsvector('simple', $2) || to_tsvector('english', $3))}",
            params![key, &scope, &terms.join(" ")],
        );
    }
    let content = if tx.is_file() { terms.join(" ") } else { vector(&scope, terms) };
    tx.send(
        "{INSERT INTO #passage_terms (rowid, scope, content) VALUES ($1, $2, $3)\
         |INSERT INTO #passage_words (key, scope, words) VALUES ($1, $2, $3::text::tsvector)}",
        params![key, &scope, &content],
    )
}

/// Terms with their places, as PostgreSQL writes them.
fn vector(scope: &str, terms: &[String]) -> String {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, term) in (1..).zip(terms) {
        places.entry(term).or_default().push(place.min(16_383));
    }
    let mut text = format!("'{scope}'");
    for (term, mut places) in places {
        places.truncate(255);
        let places: Vec<String> = places.iter().map(usize::to_string).collect();
        let _infallible = write!(text, " '{term}':{}", places.join(","));
    }
    text
}

/// Forgets the passages of a range of keys.
pub fn remove(tx: &mut Tx<'_>, first: i64, last: i64) -> Result<(), StoreError> {
    if tx.is_file() {
        tx.send("DELETE FROM #passage_terms WHERE rowid BETWEEN $1 AND $2", params![first, last])?;
    }
    tx.send("DELETE FROM #passage_words WHERE {rowid|key} BETWEEN $1 AND $2", params![first, last])
}

/// Keys of passages of an edition that hold any of these terms, the best first.
pub fn find(tx: &mut Tx<'_>, index: Index, terms: &[String], limit: usize) -> Result<Vec<i64>, StoreError> {
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let quoted = |sign: &str, or: &str| {
        let quoted: Vec<String> = terms.iter().map(|term| format!("{sign}{}{sign}", term.replace(['"', '\''], ""))).collect();
        quoted.join(or)
    };
    let scope = index.scope(tx.is_file());
    let (sql, asked) = match (index.by_database, tx.is_file()) {
        (true, _) => (
            "{SELECT rowid FROM #passage_words WHERE #passage_words MATCH printf('scope:%s AND content:(%s)', $1, $2) \
             ORDER BY bm25(#passage_words, 0.0, 1.0), rowid LIMIT $3\
             |SELECT w.key FROM #passage_words w, websearch_to_tsquery('english', $2) q WHERE w.scope = $1 AND numnode(q) > 0 \
             AND w.words @@ ($1::tsquery && q) ORDER BY ts_rank(w.words, q, 1) DESC, w.key LIMIT $3}",
            quoted("\"", " OR "),
        ),
        (false, is_file) => (
            "{SELECT rowid FROM #passage_terms WHERE #passage_terms MATCH printf('scope:%s AND content:(%s)', $1, $2) \
             ORDER BY bm25(#passage_terms, 0.0, 1.0), rowid LIMIT $3\
             |SELECT w.key FROM #passage_words w, CAST($2::text AS tsquery) q WHERE w.scope = $1 \
             AND w.words @@ ($1::tsquery && q) ORDER BY ts_rank(w.words, q, 1) DESC, w.key LIMIT $3}",
            if is_file { quoted("\"", " OR ") } else { quoted("'", " | ") },
        ),
    };
    tx.query(sql, params![&scope, &asked, limit as u64], |row| row.int(0))
}
