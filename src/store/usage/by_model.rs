//! Owns the usage of calls in a time window: by model, and of one model.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;
use crate::store::runs::{entity_kind, usage_at};
use crate::store::usage::report::{Asked, GroupBy, Of, Totals, UsageQuery, days, figures, is_wanted, scopes};
use crate::store::usage::sums::Sum;
use crate::store::usage::window::Pieces;

/// Sums of calls by provider and model.
type Models = BTreeMap<(String, String), Sum>;

fn add(found: &mut Models, (provider, model): (&str, &str), sum: &Sum) {
    found.entry((provider.to_owned(), model.to_owned())).or_default().add(sum);
}

/// Calls that began in a window, nested ones too, by model; of one model if the query names one.
pub(in crate::store) fn models_in(tx: &mut Tx<'_>, asked: &Asked<'_>) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found = Models::new();
    let query = asked.query;
    let pieces = Pieces::of(asked.window);
    let wanted = scopes(query);
    for (kind, id) in &wanted {
        for (width, piece) in &pieces.sums {
            tx.query_each(
                "SELECT provider, model, n, prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, cost_pico \
                 FROM #usage_models \
                 WHERE tenant = $1 AND entity_type = $2 AND entity_id = $3 AND width = $4 AND start >= $5 AND start < $6 \
                 AND ($7 IS NULL OR model = $7)",
                params![asked.tenant, kind.as_str(), id, *width, piece.from, piece.to, query.model.as_ref()],
                &mut |row| {
                    add(&mut found, (row.text(0)?, row.text(1)?), &Sum::at(row, 2)?);
                    Ok(())
                },
            )?;
        }
        for item in asked.waiting.iter().filter(|item| pieces.sum_up(item.of.start) && item.is_of(*kind, id)) {
            let model = item.of.model.filter(|(_, name)| query.model.as_ref().is_none_or(|wanted| wanted == name));
            model.into_iter().for_each(|model| add(&mut found, model, &item.sum));
        }
    }
    let models = match &query.model {
        _ if pieces.rows.is_empty() => Vec::new(),
        Some(model) => vec![model.clone()],
        None => models(tx, asked.tenant)?,
    };
    for (model, piece) in models.iter().flat_map(|model| pieces.rows.iter().map(move |piece| (model, piece))) {
        tx.query_each(
            "SELECT s.provider, s.model, r.entity_type, r.entity_id, \
             s.prompt, s.completion, s.cached, s.cache_write, s.reasoning, s.cost, s.unpriced \
             FROM #spans s JOIN #runs r ON r.no = s.root \
             WHERE s.tenant = $1 AND s.model = $2 AND s.started_at >= $3 AND s.started_at < $4",
            params![asked.tenant, model, piece.from, piece.to],
            &mut |row| {
                if is_wanted(&wanted, row.text(2)?, row.text(3)?) {
                    add(&mut found, (row.text(0)?, row.text(1)?), &Sum::new(1, &usage_at(row, 4)?));
                }
                Ok(())
            },
        )?;
    }
    let entry = |((provider, model), sum): (_, Sum)| Ok((Of::Model { provider, model }, Totals::of(&sum.uncounted())?));
    found.into_iter().filter(|(_, sum)| sum.0[0] > 0).map(entry).collect()
}

/// The models that ever had a call: one step through the index each.
fn models(tx: &mut Tx<'_>, tenant: &str) -> Result<Vec<String>, StoreError> {
    let next = |row: &Row<'_>| Ok(row.text(0)?.to_owned());
    let mut models = Vec::new();
    let mut found =
        tx.query_one("SELECT model FROM #spans WHERE tenant = $1 ORDER BY model LIMIT 1", params![tenant], next)?;
    while let Some(model) = found {
        found = tx.query_one(
            "SELECT model FROM #spans WHERE tenant = $1 AND model > $2 ORDER BY model LIMIT 1",
            params![tenant, &model],
            next,
        )?;
        models.push(model);
    }
    Ok(models)
}

/// Calls of one model, by what they are grouped.
#[derive(Default)]
struct Groups {
    totals: Totals,
    roots: HashSet<i64>,
    entries: HashMap<Of, Group>,
}

#[derive(Default)]
struct Group {
    totals: Totals,
    roots: HashSet<i64>,
    /// When the first of its top-level runs began, and its number.
    first: (i64, i64),
}

impl Groups {
    fn add(&mut self, of: Option<Of>, run: (i64, i64), call: &Totals) {
        self.totals.add(call);
        self.roots.insert(run.1);
        let Some(of) = of else { return };
        let group = self.entries.entry(of).or_insert_with(|| Group { first: run, ..Group::default() });
        group.totals.add(call);
        group.roots.insert(run.1);
        group.first = group.first.min(run);
    }

    fn into_order(self, group_by: Option<GroupBy>) -> (Totals, Vec<(Of, Totals)>) {
        let count = |totals: Totals, roots: &HashSet<i64>| Totals { run_count: roots.len() as u64, ..totals };
        let counted = group_by != Some(GroupBy::Model);
        let mut entries: Vec<(Of, Group)> = self.entries.into_iter().collect();
        match group_by {
            Some(GroupBy::Thread) => entries.sort_by_key(|(_, group)| group.first),
            Some(GroupBy::Model | GroupBy::Entity | GroupBy::Day) | None => entries.sort_by(|one, other| one.0.cmp(&other.0)),
        }
        let entries =
            entries.into_iter().map(|(of, group)| (of, if counted { count(group.totals, &group.roots) } else { group.totals }));
        (count(self.totals, &self.roots), entries.collect())
    }
}

/// Calls of one model that began in a window, whoever asked it: from sums, and the number of their top-level runs from an index.
fn of_model_summed(tx: &mut Tx<'_>, asked: &Asked<'_>, model: &str) -> Result<(Totals, Vec<(Of, Totals)>), StoreError> {
    let entries = models_in(tx, asked)?;
    let mut totals = Totals::default();
    entries.iter().for_each(|(_, entry)| totals.add(entry));
    let runs = tx.query_one(
        "SELECT COUNT(DISTINCT root) FROM #spans WHERE tenant = $1 AND model = $2 AND started_at >= $3 AND started_at < $4",
        params![asked.tenant, model, asked.window.from, asked.window.to],
        |row| row.count(0),
    )?;
    totals.run_count = runs.unwrap_or(0);
    let breakdown = match asked.query.group_by {
        None | Some(GroupBy::Entity | GroupBy::Thread) => Vec::new(),
        Some(GroupBy::Model) => entries,
        Some(GroupBy::Day) => days_of_model(tx, asked, model)?,
    };
    Ok((totals, breakdown))
}

/// Calls of one model by the day on which they began, whoever asked it.
fn days_of_model(tx: &mut Tx<'_>, asked: &Asked<'_>, model: &str) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found = Vec::new();
    let whole = UsageQuery { group_by: None, ..asked.query.clone() };
    for day in days(&whole) {
        let (totals, _) = of_model_summed(tx, &Asked { query: &whole, ..*asked }.on(day)?, model)?;
        if totals.run_count > 0 {
            found.push((Of::Day { date: day.to_string() }, totals));
        }
    }
    Ok(found)
}

/// Calls of one model that began in a window, nested ones too, credited to their top-level runs.
pub(in crate::store) fn of_model(tx: &mut Tx<'_>, asked: &Asked<'_>, model: &str) -> Result<(Totals, Vec<(Of, Totals)>), StoreError> {
    let query = asked.query;
    let wanted = scopes(query);
    let everybody = wanted.len() == 2 && wanted.iter().all(|(_, id)| id.is_empty());
    if everybody && matches!(query.group_by, None | Some(GroupBy::Model | GroupBy::Day)) {
        return of_model_summed(tx, asked, model);
    }
    let mut groups = Groups::default();
    tx.query_each(
        "SELECT s.provider, s.root, s.started_at, r.entity_type, r.entity_id, r.thread, r.started_at, \
         s.prompt, s.completion, s.cached, s.cache_write, s.reasoning, s.unpriced, s.cost \
         FROM #spans s JOIN #runs r ON r.no = s.root \
         WHERE s.tenant = $1 AND s.model = $2 AND s.started_at >= $3 AND s.started_at < $4",
        params![asked.tenant, model, asked.window.from, asked.window.to],
        &mut |row| {
            if is_wanted(&wanted, row.text(3)?, row.text(4)?) {
                let run = (row.opt_int(6)?.unwrap_or_default(), row.int(1)?);
                groups.add(group_of(query, model, row)?, run, &figures(row, 7, 0)?);
            }
            Ok(())
        },
    )?;
    Ok(groups.into_order(query.group_by))
}

fn group_of(query: &UsageQuery, model: &str, row: &Row<'_>) -> Result<Option<Of>, StoreError> {
    Ok(match query.group_by {
        None => None,
        Some(GroupBy::Model) => Some(Of::Model { provider: row.text(0)?.to_owned(), model: model.to_owned() }),
        Some(GroupBy::Entity) => {
            Some(Of::Entity { entity_type: entity_kind(row.text(3)?)?.as_str(), entity_id: row.text(4)?.to_owned() })
        }
        Some(GroupBy::Day) => {
            let at = jiff::Timestamp::from_millisecond(row.int(2)?).map_err(StoreError::damaged)?;
            Some(Of::Day { date: at.to_zoned(query.zone.clone()).date().to_string() })
        }
        Some(GroupBy::Thread) => Some(Of::Thread { thread_id: row.text(5)?.to_owned() }),
    })
}
