//! Owns lists of runs: each combination of filters uses an index that is already in order.

use std::str::FromStr;

use crate::model::event::EntityKind;
use crate::model::usage::Picos;
use crate::model::{Id, Timestamp};
use crate::store::db::{Param, Row, Tx, params, to_json};
use crate::store::error::StoreError;
use crate::store::runs::line::{RunLine, line_columns};
use crate::store::runs::{RunRow, of_row, run_columns};

/// The number of runs that a page searches for a text, a model, a version or a cost; then it returns a cursor.
const SEARCHED: u64 = if cfg!(test) { 20 } else { 20_000 };
/// What many runs have fills a page from so many of them, and the others are not even counted.
const SEARCHED_FIRST: u64 = if cfg!(test) { 8 } else { 500 };

/// Every status that a run can have.
const STATUSES: [&str; 7] =
    ["queued", "running", "awaiting_input", "awaiting_tool_approval", "completed", "failed", "cancelled"];

/// Which runs are wanted; what is absent does not matter.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// One of these; empty = any.
    pub status: Vec<String>,
    /// Runs of agents or of workflows.
    pub entity_type: Option<EntityKind>,
    /// Runs of this agent or workflow.
    pub entity_id: Option<Id>,
    /// Runs on this thread.
    pub thread: Option<Id>,
    /// Child runs of this run; none = top-level runs.
    pub parent: Option<Id>,
    /// Made at or after.
    pub from: Option<Timestamp>,
    /// Made at or before.
    pub to: Option<Timestamp>,
    /// Part of the input, the reply or the error, whatever the case.
    pub q: Option<String>,
    /// Of this version of its workflow.
    pub revision: Option<i64>,
    /// That cost at least this, with their child runs.
    pub min_cost: Option<Picos>,
    /// That asked this model, in a child run too.
    pub model: Option<String>,
}

/// A place in a list, newest first: right behind the run that was shown last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunCursor {
    created_at: i64,
    no: i64,
}

impl RunCursor {
    /// The place right behind a run.
    pub(in crate::store) const fn after(created_at: Timestamp, no: i64) -> Self {
        Self { created_at: created_at.0, no }
    }
}

impl std::fmt::Display for RunCursor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}", self.created_at, self.no)
    }
}

impl FromStr for RunCursor {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (created_at, no) = text.split_once('.').unwrap_or((text, ""));
        Ok(Self { created_at: created_at.parse()?, no: no.parse()? })
    }
}

/// The conditions that every list has; `$1` to `$11`. The calls of a run are its own and those of its child runs, which have none.
/// `LIKE` on a file and the pattern of a server do not distinguish small letters from capitals. A NUL inside JSON, which ends a text in one database and is
/// refused by the other, stands as the letter that `pattern` has for it.
macro_rules! bounds {
    () => {
        "tenant = $1 AND created_at >= $2 AND created_at <= $3 AND (created_at < $3 OR no < $4) \
         AND ($5 IS NULL OR entity_type = $5) AND ($6 IS NULL OR thread = $6) AND ($7 IS NULL OR status = $7) \
         AND ($8 IS NULL OR input_preview {LIKE $8 ESCAPE '\\'|~ $8} \
              OR {json_extract(replace(error, '\\u0000', '\\ufffd'), '$.message')\
                  |lower(CAST(replace(error, '\\u0000', '\\ufffd') AS JSON) ->> 'message')} {LIKE $8 ESCAPE '\\'|~ $8} \
              OR EXISTS (SELECT 1 FROM #run_replies t WHERE t.run = no AND {t.reply|lower(t.reply)} {LIKE $8 ESCAPE '\\'|~ $8}) \
              OR (length(input_preview) >= 120 AND EXISTS (SELECT 1 FROM #log l WHERE l.key = no * 67108864 + 1 \
                  AND {json_extract(replace(substr(l.body, 1, instr(concat(l.body, char(10)), char(10)) - 1), '\\u0000', '\\ufffd'), '$.created.message')\
                       |lower(CAST(replace(split_part(l.body, chr(10), 1), '\\u0000', '\\ufffd') AS JSON) -> 'created' ->> 'message')} {LIKE $8 ESCAPE '\\'|~ $8}))) \
         AND ($9 IS NULL OR revision = $9) AND ($10 IS NULL OR total_cost >= $10) \
         AND ($11 IS NULL OR EXISTS (SELECT 1 FROM #spans s WHERE s.run = r.no AND s.model = $11) \
              OR EXISTS (SELECT 1 FROM #runs c, #spans s WHERE c.parent = r.id AND s.run = c.no AND s.model = $11))"
    };
}

/// The statement of each index that lists are read from; `$12` is an entity, `$13` a parent, then come limit and offset.
macro_rules! statements {
    ($($columns:tt)*) => {
        [
            concat!(
                "SELECT ", $($columns)*, " FROM #runs r WHERE parent = $13 AND ", bounds!(),
                " AND ($12 IS NULL OR entity_id = $12) ORDER BY created_at DESC, no DESC LIMIT $14 OFFSET $15"
            ),
            concat!(
                "SELECT ", $($columns)*, " FROM #runs AS r {INDEXED BY #runs_thread|} WHERE parent IS NULL AND thread = $6 AND ", bounds!(),
                " AND ($12 IS NULL OR entity_id = $12) AND ($13 IS NULL) ORDER BY created_at DESC, no DESC LIMIT $14 OFFSET $15"
            ),
            concat!(
                "SELECT ", $($columns)*, " FROM #runs AS r {INDEXED BY #runs_entity|} WHERE parent IS NULL AND entity_id = $12 AND status = $7 AND ",
                bounds!(), " AND ($13 IS NULL) ORDER BY created_at DESC, no DESC LIMIT $14 OFFSET $15"
            ),
            concat!(
                "SELECT ", $($columns)*, " FROM #runs AS r {INDEXED BY #runs_status|} WHERE parent IS NULL AND entity_type = $5 AND status = $7 AND ",
                bounds!(), " AND ($12 IS NULL) AND ($13 IS NULL) ORDER BY created_at DESC, no DESC LIMIT $14 OFFSET $15"
            ),
            concat!(
                "SELECT ", $($columns)*, " FROM #runs AS r {INDEXED BY #runs_newest|} WHERE parent IS NULL AND ", bounds!(),
                " AND ($12 IS NULL) AND ($13 IS NULL) ORDER BY created_at DESC, no DESC LIMIT $14 OFFSET $15"
            ),
        ]
    };
}

static PLACES: [&str; 5] = statements!("created_at, no");
static LINES: [&str; 5] = statements!(line_columns!());

/// What a way into the table fixes, beside the bounds.
struct IndexPrefix<'a> {
    entity_type: Option<&'a str>,
    status: Option<&'a str>,
}

/// Bounds with their texts, so that parameters can borrow them.
#[derive(Clone)]
struct Bounds<'a> {
    tenant: &'a str,
    from: i64,
    to: i64,
    below: i64,
    entity_id: Option<String>,
    thread: Option<String>,
    parent: Option<String>,
    q: Option<String>,
    revision: Option<i64>,
    min_cost: Option<i64>,
    model: Option<&'a str>,
    filter: &'a RunFilter,
}

impl<'a> Bounds<'a> {
    fn new(file: bool, tenant: &'a str, filter: &'a RunFilter, cursor: Option<RunCursor>) -> Self {
        let to = filter.to.map_or(i64::MAX, |to| to.0);
        let (to, below) = match cursor {
            Some(cursor) if cursor.created_at <= to => (cursor.created_at, cursor.no),
            Some(_) | None => (to, i64::MAX),
        };
        Self {
            tenant,
            from: filter.from.map_or(i64::MIN, |from| from.0),
            to,
            below,
            entity_id: filter.entity_id.map(|id| id.to_string()),
            thread: filter.thread.map(|id| id.to_string()),
            parent: filter.parent.map(|id| id.to_string()),
            q: filter.q.as_deref().map(|q| pattern(file, q)),
            revision: filter.revision,
            min_cost: filter.min_cost.map(|cost| cost.0),
            model: filter.model.as_deref(),
            filter,
        }
    }

    fn params<'s>(&'s self, prefix: &IndexPrefix<'s>, limit: usize, skipped: u64) -> Vec<Param<'s>> {
        vec![
            self.tenant.into(),
            self.from.into(),
            self.to.into(),
            self.below.into(),
            prefix.entity_type.into(),
            self.thread.as_ref().into(),
            prefix.status.into(),
            self.q.as_ref().into(),
            self.revision.into(),
            self.min_cost.into(),
            self.model.into(),
            self.entity_id.as_ref().into(),
            self.parent.as_ref().into(),
            (limit as u64).into(),
            skipped.into(),
        ]
    }

    /// Which of the statements is the way's.
    const fn statement(&self, prefix: &IndexPrefix<'_>) -> usize {
        match (&self.parent, &self.thread, &self.entity_id, prefix.status) {
            (Some(_), ..) => 0,
            (None, Some(_), ..) => 1,
            (None, None, Some(_), _) => 2,
            (None, None, None, Some(_)) => 3,
            (None, None, None, None) => 4,
        }
    }

    /// Something is wanted that no index leads to.
    const fn searches(&self) -> bool {
        self.q.is_some() || self.revision.is_some() || self.min_cost.is_some() || self.model.is_some()
    }

    /// The last of so many runs that are looked at, when there are more.
    fn end_of_search(&self, tx: &mut Tx<'_>, looked_at: u64) -> Result<Option<RunCursor>, StoreError> {
        let any = Self { q: None, revision: None, min_cost: None, model: None, ..self.clone() };
        let mut end = None;
        for prefix in any.prefixes() {
            let places = places_of(tx, &any, &prefix, 2, looked_at - 1)?;
            end = end.max(places.first().copied().filter(|_| places.len() == 2));
        }
        Ok(end)
    }

    /// The ways that together lead to every wanted run, each in order.
    fn prefixes(&self) -> Vec<IndexPrefix<'_>> {
        let kind = self.filter.entity_type.map(EntityKind::as_str);
        let wanted = |status: &&str| self.filter.status.is_empty() || self.filter.status.iter().any(|one| one == status);
        let statuses = STATUSES.into_iter().filter(wanted);
        if self.by_status() && self.entity_id.is_none() {
            let kinds = kind.map_or_else(|| vec!["agent", "workflow"], |kind| vec![kind]);
            statuses
                .flat_map(|status| kinds.iter().map(move |kind| IndexPrefix { entity_type: Some(kind), status: Some(status) }))
                .collect()
        } else if self.by_status() || !self.filter.status.is_empty() {
            statuses.map(|status| IndexPrefix { entity_type: kind, status: Some(status) }).collect()
        } else {
            vec![IndexPrefix { entity_type: kind, status: None }]
        }
    }

    /// The one agent or workflow whose runs are wanted, if nothing but their status matters.
    fn counted(&self) -> Option<&str> {
        let whole = self.from == i64::MIN && self.to == i64::MAX && self.thread.is_none() && self.parent.is_none();
        self.entity_id.as_deref().filter(|_| whole && !self.searches())
    }

    /// An index with the status in it is used.
    fn by_status(&self) -> bool {
        self.parent.is_none()
            && self.thread.is_none()
            && (self.entity_id.is_some() || self.filter.entity_type.is_some() || !self.filter.status.is_empty())
    }
}

/// A pattern for a part of a text, whatever the case: for `LIKE` on a file, a regular expression for a server, whose `lower` may know the
/// case of ASCII letters only. A NUL would end it for SQLite; PostgreSQL keeps the same letter for it.
pub(in crate::store) fn pattern(file: bool, text: &str) -> String {
    let text = text.to_lowercase().replace('\0', "\u{fffd}");
    if !file {
        return text.chars().map(either_case).collect();
    }
    let mut pattern = String::from("%");
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// A regular expression for a letter, small or large.
fn either_case(letter: char) -> String {
    let mut large = letter.to_uppercase();
    match (letter, large.next(), large.next()) {
        ('σ' | 'ς', ..) => "[σςΣ]".to_owned(),
        (letter, Some(large), None) if large != letter => format!("[{letter}{large}]"),
        (letter, ..) if letter.is_ascii_punctuation() => format!("\\{letter}"),
        (letter, ..) => letter.to_string(),
    }
}

/// Shows runs, newest first, after `cursor`, at most `limit`; gives the place behind which there may be more.
pub fn list(
    tx: &mut Tx<'_>,
    tenant: &str,
    filter: &RunFilter,
    cursor: Option<RunCursor>,
    limit: usize,
    show: &mut dyn FnMut(&RunLine<'_>) -> Result<(), StoreError>,
) -> Result<Option<RunCursor>, StoreError> {
    let bounds = Bounds::new(tx.is_file(), tenant, filter, cursor);
    if !bounds.searches() {
        return Ok(show_part(tx, &bounds, None, limit, show)?.next);
    }
    let (mut left, mut behind) = (limit, cursor);
    for looked_at in [SEARCHED_FIRST, SEARCHED - SEARCHED_FIRST] {
        let mut bounds = Bounds::new(tx.is_file(), tenant, filter, behind);
        let end = bounds.end_of_search(tx, looked_at)?;
        bounds.from = end.map_or(bounds.from, |end| end.created_at);
        let part = show_part(tx, &bounds, end, left, show)?;
        left -= part.shown;
        if left == 0 || part.next.is_some() || end.is_none() {
            return Ok(part.next.or(end));
        }
        behind = end;
    }
    Ok(behind)
}

/// What was shown of a list.
#[derive(Default)]
struct Part {
    shown: usize,
    last: Option<RunCursor>,
    /// The last of these, when there are more.
    next: Option<RunCursor>,
}

/// Shows wanted runs, at most `limit`, up to and with the one at `end`.
fn show_part(
    tx: &mut Tx<'_>,
    bounds: &Bounds<'_>,
    end: Option<RunCursor>,
    limit: usize,
    show: &mut dyn FnMut(&RunLine<'_>) -> Result<(), StoreError>,
) -> Result<Part, StoreError> {
    let mut part = Part::default();
    let mut take = |line: &RunLine<'_>| {
        if end.is_some_and(|end| line.cursor() < end) {
            return Ok(());
        }
        if part.shown == limit {
            part.next = part.last;
            return Ok(());
        }
        part.shown += 1;
        part.last = Some(line.cursor());
        show(line)
    };
    if let [prefix] = bounds.prefixes().as_slice() {
        let values = bounds.params(prefix, limit.saturating_add(1), 0);
        tx.query_each(LINES[bounds.statement(prefix)], &values, &mut |row| take(&RunLine::of_row(row)?))?;
    } else {
        let places = places(tx, bounds, limit.saturating_add(1))?;
        lines(tx, &places, &mut take)?;
    }
    Ok(part)
}

/// The places of wanted runs, newest first, merged from every way.
fn places(tx: &mut Tx<'_>, bounds: &Bounds<'_>, limit: usize) -> Result<Vec<RunCursor>, StoreError> {
    let mut found = Vec::new();
    for prefix in bounds.prefixes() {
        found.extend(places_of(tx, bounds, &prefix, limit, 0)?);
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.truncate(limit);
    Ok(found)
}

fn places_of(
    tx: &mut Tx<'_>,
    bounds: &Bounds<'_>,
    prefix: &IndexPrefix<'_>,
    limit: usize,
    skipped: u64,
) -> Result<Vec<RunCursor>, StoreError> {
    let place = |row: &Row<'_>| Ok(RunCursor { created_at: row.int(0)?, no: row.int(1)? });
    tx.query(PLACES[bounds.statement(prefix)], &bounds.params(prefix, limit, skipped), place)
}

/// Shows the runs of places.
fn lines(
    tx: &mut Tx<'_>,
    places: &[RunCursor],
    show: &mut dyn FnMut(&RunLine<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    if places.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i64> = places.iter().map(|place| place.no).collect();
    tx.query_each(
        concat!(
            "SELECT ",
            line_columns!(),
            " FROM (SELECT {key AS place, value AS wanted FROM json_each($1)|\
             place, CAST(value AS BIGINT) AS wanted FROM jsonb_array_elements_text(CAST($1 AS JSONB)) WITH ORDINALITY AS w(value, place)}) w \
             {CROSS JOIN|JOIN} #runs ON no = wanted ORDER BY place"
        ),
        params![&to_json(&numbers)?],
        &mut |row| show(&RunLine::of_row(row)?),
    )
}

/// Shows one page by number, from 1; gives the number of all wanted runs.
pub fn page(
    tx: &mut Tx<'_>,
    tenant: &str,
    filter: &RunFilter,
    page: usize,
    per_page: usize,
    show: &mut dyn FnMut(&RunLine<'_>) -> Result<(), StoreError>,
) -> Result<u64, StoreError> {
    let bounds = Bounds::new(tx.is_file(), tenant, filter, None);
    let skipped = page.saturating_sub(1).saturating_mul(per_page);
    let found = match bounds.counted() {
        Some(entity) => Some(count(tx, tenant, entity, &filter.status)?),
        None => None,
    };
    // Without a count from an index every place has to be looked at.
    let most = found.map_or(usize::MAX, |_| skipped.saturating_add(per_page)).min(usize::try_from(i64::MAX).unwrap_or(usize::MAX));
    let places = places(tx, &bounds, most)?;
    let wanted: Vec<_> = places.iter().skip(skipped).take(per_page).copied().collect();
    lines(tx, &wanted, show)?;
    Ok(found.unwrap_or(places.len() as u64))
}

/// How many top-level runs an agent or a workflow has.
fn count(tx: &mut Tx<'_>, tenant: &str, entity: &str, status: &[String]) -> Result<u64, StoreError> {
    let mut found = 0;
    for status in STATUSES.iter().filter(|one| status.is_empty() || status.iter().any(|wanted| wanted == *one)) {
        let some = tx.query_one(
            "SELECT COUNT(*) FROM #runs {INDEXED BY #runs_entity|} WHERE parent IS NULL AND tenant = $1 AND entity_id = $2 AND status = $3",
            params![tenant, entity, *status],
            |row| row.count(0),
        )?;
        found += some.unwrap_or(0);
    }
    Ok(found)
}

/// The child runs of a run, oldest first.
pub fn children(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<Vec<RunRow>, StoreError> {
    tx.query(
        concat!("SELECT ", run_columns!(), " FROM #runs WHERE parent = $1 AND tenant = $2 ORDER BY no"),
        params![&run.to_string(), tenant],
        of_row,
    )
}

/// How many top-level runs are not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[expect(missing_docs, reason = "the fields are statuses")]
pub struct RunCounts {
    pub queued: u64,
    pub running: u64,
    pub awaiting_input: u64,
    pub awaiting_tool_approval: u64,
}

/// How many top-level runs are not over.
pub fn counts(tx: &mut Tx<'_>, tenant: &str) -> Result<RunCounts, StoreError> {
    let mut counts = RunCounts::default();
    for (status, count) in [
        ("queued", &mut counts.queued),
        ("running", &mut counts.running),
        ("awaiting_input", &mut counts.awaiting_input),
        ("awaiting_tool_approval", &mut counts.awaiting_tool_approval),
    ] {
        let found = tx.query_one(
            "SELECT COUNT(*) FROM #runs WHERE parent IS NULL AND tenant = $1 AND entity_type IN ('agent', 'workflow') AND status = $2",
            params![tenant, status],
            |row| row.count(0),
        )?;
        *count = found.unwrap_or(0);
    }
    Ok(counts)
}
