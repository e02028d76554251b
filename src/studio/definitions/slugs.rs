//! Owns the slugs of definitions: makes one from a name, checks that it is free, adds a number on a collision.

use super::catalog::Catalog;
use super::resource::{Resource, Written};
use crate::error::{Error, Kind};
use crate::model::Id;
use crate::model::ids::LONGEST_SLUG;
use crate::store::definitions as table;
use crate::store::{StoreError, Tx};
use crate::studio::reach::Refusal;

/// Words that follow `/workflows/` in paths of the studio's own: no workflow may be named by them.
pub(crate) const WORDS_OF_PATHS: [&str; 3] = ["preview", "runs", "traces"];

/// The slug of a name; `otherwise` when nothing of it can be kept.
pub fn from_name(name: &str, otherwise: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for letter in name.chars().flat_map(char::to_lowercase) {
        match plain(letter) {
            Some(text) => slug.push_str(text),
            None if letter.is_ascii_alphanumeric() => slug.push(letter),
            None if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            None => {}
        }
    }
    slug.truncate(LONGEST_SLUG);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { otherwise.to_owned() } else { slug.to_owned() }
}

/// Numbers that are tried one after another.
const NEAR: u64 = 16;

/// The first free one of `slug`, `slug-1`, `slug-2`, …; behind the first numbers one that follows a taken one, found in a few steps
/// however many there are.
pub fn first_free<E>(slug: &str, mut taken: impl FnMut(&str) -> Result<bool, E>) -> Result<String, E> {
    let numbered = |number: u64| {
        let end = format!("-{number}");
        let kept = slug.get(..LONGEST_SLUG - end.len()).unwrap_or(slug).trim_end_matches('-');
        format!("{kept}{end}")
    };
    if !taken(slug)? {
        return Ok(slug.to_owned());
    }
    for number in 1..=NEAR {
        if !taken(&numbered(number))? {
            return Ok(numbered(number));
        }
    }
    let (mut used, mut free) = (NEAR, NEAR * 2);
    while taken(&numbered(free))? {
        (used, free) = (free, free * 2);
    }
    while free - used > 1 {
        let middle = used.midpoint(free);
        if taken(&numbered(middle))? {
            used = middle;
        } else {
            free = middle;
        }
    }
    Ok(numbered(free))
}

/// Is a slug in use, by the configuration, by a path of the studio's or by a definition other than `own`?
fn taken(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, resource: Resource, slug: &str, own: Option<Id>) -> Result<bool, StoreError> {
    if catalog.find(resource, slug).or_else(|| catalog.of_class(resource, slug)).is_some_and(|found| Some(found.id) != own) {
        return Ok(true);
    }
    let found = table::by_slug(tx, tenant, resource.kind(), slug)?;
    let word_of_a_path = resource == Resource::Workflow && WORDS_OF_PATHS.contains(&slug);
    Ok(found.map_or(word_of_a_path, |row| Some(row.id) != own))
}

/// The slug that was asked for when it is free, else the first free one of the name.
pub(in crate::studio) fn of_written(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    resource: Resource,
    written: &Written,
    own: Option<Id>,
) -> Result<String, Refusal> {
    table::hold(tx, tenant)?;
    if let Some(slug) = &written.slug {
        if taken(tx, tenant, catalog, resource, slug, own)? {
            return Err(in_use(slug).into());
        }
        return Ok(slug.clone());
    }
    Ok(first_free(&written.usual_slug(resource), |slug| taken(tx, tenant, catalog, resource, slug, own))?)
}

/// The slug, or the first one after it that is free.
pub(in crate::studio) fn free(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, resource: Resource, slug: &str) -> Result<String, Refusal> {
    table::hold(tx, tenant)?;
    Ok(first_free(slug, |slug| taken(tx, tenant, catalog, resource, slug, None))?)
}

/// The refusal of a slug that another definition has.
pub(in crate::studio) fn in_use(slug: &str) -> Error {
    Error::new(Kind::SlugTaken, format!("the slug `{slug}` is in use; choose another one"))
}

/// Letters with marks, without them.
const fn plain(letter: char) -> Option<&'static str> {
    Some(match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => "a",
        'æ' => "ae",
        'ç' | 'ć' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ę' | 'ě' => "e",
        'ğ' => "g",
        'ì'..='ï' | 'ī' | 'ı' => "i",
        'ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => "o",
        'œ' => "oe",
        'ř' => "r",
        'ś' | 'š' | 'ş' => "s",
        'ß' => "ss",
        'ť' | 'ţ' => "t",
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => "u",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        '\u{300}'..='\u{36f}' | '\'' | '’' => "",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::is_slug;
    use std::convert::Infallible;

    #[test]
    fn names_become_slugs() {
        for (name, slug) in [
            ("Support assistant", "support-assistant"),
            ("  Triagem & Reembolsos — ação!  ", "triagem-reembolsos-acao"),
            ("lookup_order", "lookup-order"),
            ("Müller's Straße 7", "mullers-strasse-7"),
            ("日本語", "agent"),
            ("---", "agent"),
        ] {
            assert_eq!(from_name(name, "agent"), slug);
            assert!(is_slug(slug));
        }
        let long = from_name(&"ab ".repeat(60), "agent");
        assert!(is_slug(&long) && long.len() >= 79);
    }

    #[test]
    fn wrong_slugs_are_seen() {
        for bad in ["", "-a", "a-", "a--b", "A", "a_b", "é", &"a".repeat(81)] {
            assert!(!is_slug(bad), "{bad}");
        }
    }

    #[test]
    fn collisions_count_up_and_stay_slugs() {
        let free = |slug: &str, taken: &[&str]| first_free(slug, |tried| Ok::<_, Infallible>(taken.contains(&tried)));
        assert_eq!(free("a", &[]), Ok("a".into()));
        assert_eq!(free("a", &["a", "a-1"]), Ok("a-2".into()));
        let long = "a".repeat(80);
        let next = free(&long, &[&long]).expect("a slug");
        assert!(is_slug(&next) && next.ends_with("a-1"));
        let asked = std::cell::Cell::new(0);
        let many = |slug: &str| {
            asked.set(asked.get() + 1);
            Ok::<_, Infallible>(slug == "a" || slug[2..].parse::<u64>().is_ok_and(|number| number <= 5000))
        };
        assert_eq!(first_free("a", many), Ok("a-5001".into()));
        assert!(asked.get() < 50, "{}", asked.get());
    }
}
