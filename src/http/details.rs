//! Owns the Portuguese sentences of problems: a pattern for each English sentence.

use std::sync::LazyLock;

/// English patterns with their translations; the first that fits holds. Gaps are numbered: `{0}`.
/// What is said of code may begin with its place, `file:line: `: those patterns begin with a gap for it.
static SENTENCES: LazyLock<Vec<(String, String)>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../lang/details.pt_BR.json")).unwrap_or_default());

/// Reads the sentences now rather than with the first problem.
pub(super) fn prepare() {
    LazyLock::force(&SENTENCES);
}

/// A sentence in Portuguese; one that is not known stays as it is.
pub(super) fn portuguese(sentence: &str) -> String {
    let fitting = SENTENCES.iter().find_map(|(english, portuguese)| Some((gaps(english, sentence)?, portuguese)));
    fitting.map_or_else(|| sentence.to_owned(), |(gaps, portuguese)| filled(portuguese, &gaps))
}

/// What stands in the gaps of a pattern when it is this sentence.
fn gaps<'s>(pattern: &str, sentence: &'s str) -> Option<Vec<&'s str>> {
    let mut literals = pattern.split('{').enumerate().map(|(at, part)| if at == 0 { part } else { part.split_once('}').map_or("", |(_, after)| after) });
    let mut rest = sentence.strip_prefix(literals.next()?)?;
    let mut found = Vec::new();
    let mut literals = literals.peekable();
    while let Some(literal) = literals.next() {
        let end = if literals.peek().is_none() { rest.len().checked_sub(literal.len())? } else { rest.find(literal)? };
        found.push(rest.get(..end)?);
        rest = rest.get(end..)?.strip_prefix(literal)?;
    }
    rest.is_empty().then_some(found)
}

fn filled(pattern: &str, gaps: &[&str]) -> String {
    let mut parts = pattern.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, after) = part.split_once('}').unwrap_or(("", part));
        out.push_str(number.parse::<usize>().ok().and_then(|number| gaps.get(number)).copied().unwrap_or_default());
        out.push_str(after);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn numbers(pattern: &str) -> BTreeSet<&str> {
        pattern.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0)).collect()
    }

    #[test]
    fn every_translation_keeps_what_was_said_and_can_be_reached() {
        assert!(SENTENCES.len() > 100);
        for (at, (english, portuguese)) in SENTENCES.iter().enumerate() {
            assert_eq!(numbers(english), numbers(portuguese), "{english}");
            let said = filled(english, &["x", "y", "z"]);
            let first = SENTENCES.iter().position(|(pattern, _)| gaps(pattern, &said).is_some());
            assert_eq!(first, Some(at), "{english} is hidden by an earlier one");
        }
    }

    /// What refusals are made with.
    const MAKERS: [&str; 8] =
        ["Error::field(", "Error::new(", "Error::internal(", ".wrong(", "Fault::invalid(", "Fault::new(", "let text = ", "let told = "];
    /// Sentences made of others, each of which has a pattern as a whole.
    const COMPOSED: [&str; 10] = [
        "{path} {text}",
        "{told}; nothing was stored",
        "trial.{field} names the node `{node}`, {why}",
        "{field}: {text}",
        "resume.{at}.{name} {text}",
        "{at} must be {}",
        "a list",
        "an object",
        "`{path}` {why}",
        "{}:{}: {first}",
    ];

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.file_name().and_then(|name| name.to_str()) {
                Some("tests" | "tests.rs" | "doctor" | "details.rs") => {}
                _ if path.is_dir() => sources(&path, found),
                _ => found.push(path),
            }
        }
    }

    /// The texts of one expression, as far as its bracket or its statement goes.
    fn texts(code: &str) -> Vec<String> {
        let (mut found, mut deep, mut rest) = (Vec::new(), 1_usize, code.chars());
        while let Some(letter) = rest.next() {
            match letter {
                '(' | '[' | '{' => deep += 1,
                ')' | ']' | '}' => deep -= 1,
                ';' if deep == 1 => break,
                '"' => {
                    let mut text = String::new();
                    while let Some(letter) = rest.next().filter(|letter| *letter != '"') {
                        text.push(if letter == '\\' { rest.next().unwrap_or(letter) } else { letter });
                    }
                    found.push(text);
                }
                _ => {}
            }
            if deep == 0 {
                break;
            }
        }
        found
    }

    /// A text of the code as it is said, with something in its gaps.
    fn said(text: &str) -> String {
        let mut parts = text.split('{');
        let begin = parts.next().unwrap_or_default().to_owned();
        parts.fold(begin, |said, part| said + "x" + part.split_once('}').map_or(part, |(_, after)| after))
    }

    #[test]
    fn every_refusal_has_a_translation() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        for folder in ["http", "studio", "ffi"] {
            sources(&root.join(folder), &mut files);
        }
        files.extend(["engine/runs/answer.rs", "engine/runs/create.rs", "engine/runs/load.rs", "engine/drive/question/mod.rs"].map(|file| root.join(file)));
        let (mut seen, mut missing) = (0, Vec::new());
        for file in files {
            let code = std::fs::read_to_string(&file).expect("a source");
            let code = code.split("#[cfg(test)]").next().unwrap_or_default();
            let made = MAKERS.iter().flat_map(|maker| code.match_indices(maker).map(|(at, _)| texts(&code[at + maker.len()..])));
            for text in made.flatten().filter(|text| text.trim().contains(' ') && !COMPOSED.contains(&text.as_str())) {
                seen += 1;
                let said = said(&text);
                if [said.clone(), format!("x {said}")].iter().all(|said| portuguese(said) == *said) {
                    missing.push(format!("{}: {text}", file.display()));
                }
            }
        }
        assert!(seen > 100, "{seen}");
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn gaps_keep_what_they_hold() {
        for (english, wanted) in [
            ("message is required", "message é obrigatório"),
            ("limit must be an integer from 1 to 100", "limit deve ser um inteiro de 1 a 100"),
            ("there is no run `{0}`", "não existe a execução `{0}`"),
            ("there is no thing `x`", "não existe thing `x`"),
            ("the run waits for an answer, as `message`, to: Is {1} fine?", "a execução espera uma resposta, como `message`, a: Is {1} fine?"),
            ("the class `A` is abstract", "a classe `A` é abstrata"),
            ("a.php:3: the class `A` is abstract", "a.php:3: a classe `A` é abstrata"),
            ("a.php:3: name is required", "a.php:3: name é obrigatório"),
            ("the MCP server `a` could not be reached: no", "o servidor MCP `a` não pôde ser alcançado: no"),
            ("`x` is needed in the path of the URL and is missing", "`x` é necessário no caminho da URL e falta"),
            ("nobody translated this", "nobody translated this"),
            ("", ""),
        ] {
            assert_eq!(portuguese(english), wanted);
        }
    }
}
