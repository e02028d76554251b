//! Owns XML parts of archives as a stream of elements and texts. Custom entities are not expanded.

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesStart, Event};

use super::zip::{Archive, Part, beside};

/// Elements inside each other.
const DEPTH: usize = 512;

/// A piece of a part; names are without their prefix.
pub(super) enum Piece<'a> {
    Open(&'a str, &'a Element<'a>),
    Text(&'a str),
    Close(&'a str),
}

/// The attributes of an element.
pub(super) struct Element<'a>(&'a BytesStart<'a>);

impl Element<'_> {
    /// The attribute of a name without its prefix.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.find(|found| found.rsplit(':').next() == Some(name))
    }

    /// The attribute of a name as it is written.
    pub(super) fn get_exact(&self, name: &str) -> Option<String> {
        self.find(|found| found == name)
    }

    fn find(&self, fits: impl Fn(&str) -> bool) -> Option<String> {
        let mut attributes = self.0.attributes();
        let found = attributes.with_checks(false).flatten().find(|attribute| fits(attribute.key.as_ref()))?;
        Some(unescape(&found.value).map_or_else(|_| found.value.to_string(), std::borrow::Cow::into_owned))
    }
}

/// Hands the pieces of a part to `take`, in order.
pub(super) fn each(part: Part<'_>, take: &mut dyn FnMut(Piece<'_>) -> Result<(), String>) -> Result<(), String> {
    let archive = part.archive();
    let mut reader = Reader::from_reader(part);
    let settings = reader.config_mut();
    settings.expand_empty_elements = true;
    settings.allow_dangling_amp = true;
    settings.check_comments = false;
    let (mut buffer, mut depth) = (Vec::new(), 0_usize);
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|_| archive.failed())?;
        match &event {
            Event::Start(start) => {
                depth += 1;
                if depth > DEPTH {
                    return Err(archive.bounds().too_much());
                }
                take(Piece::Open(start.local_name().as_ref(), &Element(start)))?;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                take(Piece::Close(end.local_name().as_ref()))?;
            }
            Event::Text(text) => take(Piece::Text(&text.xml10_content()))?,
            Event::CData(text) => take(Piece::Text(&text.xml10_content()))?,
            Event::GeneralRef(name) => {
                if let Some(letter) = referred(name) {
                    take(Piece::Text(letter.encode_utf8(&mut [0; 4])))?;
                }
            }
            Event::Eof => return Ok(()),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
        drop(event);
        reader.get_mut().got_on();
    }
}

/// The letter of `&name;`, of those that XML itself knows.
fn referred(name: &str) -> Option<char> {
    let code = name.strip_prefix('#');
    let code = code.and_then(|code| code.strip_prefix('x').map_or_else(|| code.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok()));
    code.and_then(char::from_u32).or_else(|| resolve_predefined_entity(name)?.chars().next())
}

/// What a part is bound to.
pub(super) struct Relation {
    pub(super) id: String,
    /// The last word of its type, such as `slide`.
    pub(super) kind: String,
    /// The name of the other part.
    pub(super) part: String,
}

/// The most bindings of a part.
const RELATIONS: usize = 20_000;

/// What a part is bound to; nothing when that is not said.
pub(super) fn relations(archive: &Archive<'_>, part: &str) -> Result<Vec<Relation>, String> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let Some(found) = archive.part(&beside("", &format!("{folder}/_rels/{name}.rels")))? else { return Ok(Vec::new()) };
    let mut relations = Vec::new();
    each(found, &mut |piece| {
        if let Piece::Open("Relationship", element) = piece
            && relations.len() < RELATIONS
            && element.get("TargetMode").as_deref() != Some("External")
        {
            let (kind, target) = (element.get("Type").unwrap_or_default(), element.get("Target").unwrap_or_default());
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            relations.push(Relation { id: element.get("Id").unwrap_or_default(), kind, part: beside(part, &target) });
        }
        Ok(())
    })?;
    Ok(relations)
}

/// The part that an office file is about.
pub(super) fn main_part(archive: &Archive<'_>, usual: &str) -> Result<String, String> {
    let found = relations(archive, "")?.into_iter().find(|relation| relation.kind == "officeDocument");
    Ok(found.map_or_else(|| usual.to_owned(), |relation| relation.part))
}
