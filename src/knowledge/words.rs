//! Owns the words of texts by language: what a passage is found by, and what of a question is looked for. The same on every database.

use std::collections::HashSet;
use std::panic::catch_unwind;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation as _;

/// The most words of a question that are looked for.
const WORDS: usize = 64;
/// The most characters of a word that are looked at.
const LETTERS: usize = 64;
/// The most bytes of a passage's terms: what PostgreSQL stores is limited.
const BYTES: usize = 900_000;

/// A language that texts are searched by.
#[derive(Debug)]
pub struct Language {
    /// As the API names it.
    pub name: &'static str,
    stems: Option<Algorithm>,
    /// Words that nearly every text has.
    common: &'static [&'static str],
}

const fn language(name: &'static str, stems: Option<Algorithm>, common: &'static [&'static str]) -> Language {
    Language { name, stems, common }
}

/// Every language; `simple` leaves words as they are.
pub const LANGUAGES: [Language; 22] = [
    language("simple", None, &[EN, PT]),
    language("ar", Some(Algorithm::Arabic), &[]),
    language("da", Some(Algorithm::Danish), &[]),
    language("de", Some(Algorithm::German), &[DE]),
    // The crate's stemmer of Greek panics at plain words, such as `αντίθετε`.
    language("el", None, &[]),
    language("en", Some(Algorithm::English), &[EN]),
    language("es", Some(Algorithm::Spanish), &[ES]),
    language("fi", Some(Algorithm::Finnish), &[]),
    language("fr", Some(Algorithm::French), &[FR]),
    language("hu", Some(Algorithm::Hungarian), &[]),
    language("it", Some(Algorithm::Italian), &[IT]),
    language("ja", None, &[EN]),
    language("ko", None, &[EN]),
    language("nl", Some(Algorithm::Dutch), &[NL]),
    language("no", Some(Algorithm::Norwegian), &[]),
    language("pt", Some(Algorithm::Portuguese), &[PT]),
    language("ro", Some(Algorithm::Romanian), &[]),
    language("ru", Some(Algorithm::Russian), &[RU]),
    language("sv", Some(Algorithm::Swedish), &[]),
    language("ta", Some(Algorithm::Tamil), &[]),
    language("tr", Some(Algorithm::Turkish), &[]),
    language("zh", None, &[EN]),
];

const EN: &str = " a about after all am an and any are as at be been but by can could did do does for from get had has have how i if in into is \
    it its may me might must my no not of on one or our out shall should so some than that the their them then there these they this to up us was we were what \
    when where which who why will with would you your ";
const PT: &str = " ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi há isso já mais mas me meu minha muito na nas nem \
    no nos não o os ou para pela pelo por qual quando que quem se sem ser seu sua são também te tem um uma você à às é a ";
const ES: &str = " a al algo como con cuál cuándo cómo de del desde donde dónde el ella en entre era es esa ese esta este está fue ha hay la las le lo los me mi \
    muy más no nos o para pero por porque que quien quién qué se ser si sin sobre son su sus también te tiene tu un una uno y ya yo él ";
const FR: &str = " a ai au aux avec ce ces cette comme comment dans de des du elle en es est et il ils je la le les leur lui ma mais me mes moi mon même ne nos \
    notre nous on ont ou où par pas plus pour quand que quel quelle qui sa sans se ses si son sont sur ta te tu un une vos votre vous y à été être ";
const DE: &str = " aber als am an auch auf aus bei bin bis das dass dem den der des die du durch ein eine einem einen einer eines er es für hat habe haben ich \
    ihr im in ist kann mein mich mir mit nach nicht noch nur oder sein sich sie sind so um und uns vom von vor war warum was wenn wer wie wird wir wo zu zum \
    zur über ";
const IT: &str = " a ad ai al alla anche che chi ci come con cosa da dal dalla dei del dell della delle di dove e ed gli ha hanno ho i il in io la le lei lo loro \
    lui ma mi mio nel nella non o per perché più quale quando quello questa questo se sei si sono su sua sul sulla suo tra tu un una uno è ";
const NL: &str = " aan al als bij dan dat de der die dit door een en er geen haar had heb heeft het hij hoe ik in is je kan maar met mijn naar niet nog of om ons \
    ook op over te tot uit van voor waar waarom wanneer was wat we wel wie wij wordt ze zich zij zijn ";
const RU: &str = " а без был была были было быть в вам вас во вот все всё вы где да для до его ее её если есть еще ещё же за и из или им их к как какой когда \
    кто ли меня мне мой мы на над не него нет но о об он она они оно от по под почему при с со так также там то у уже чем что чтобы это этот я ";

impl Language {
    /// The language of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        const ALL: &[Language] = &LANGUAGES;
        ALL.iter().find(|language| language.name == name)
    }

    /// What a passage is found by, in the order of its text.
    pub fn terms(&self, text: &str) -> Vec<String> {
        let (mut terms, mut bytes) = (Vec::new(), 0);
        let mut add = |term: String| {
            bytes += term.len() + 8;
            if bytes <= BYTES && !term.is_empty() {
                terms.push(term);
            }
        };
        runs(text, |run, spaced| match spaced {
            true => pieces(run).for_each(|word| add(self.term(word))),
            false => {
                pairs(run).for_each(|pair| add(pair.to_owned()));
                run.chars().filter(|_| run.chars().nth(1).is_some()).for_each(|one| add(one.to_string()));
            }
        });
        terms
    }

    /// The first terms of a question, each once, without those that nearly every text has, unless it has no others.
    pub fn asked(&self, question: &str) -> Vec<String> {
        let mut all = Vec::new();
        runs(question, |run, spaced| match spaced {
            true => all.extend(pieces(run).map(|word| (self.term(word), is_common(self.common, word)))),
            false => all.extend(pairs(run).map(|pair| (pair.to_owned(), false))),
        });
        telling(all.into_iter().filter(|(term, _)| !term.is_empty()))
    }

    /// A word as it is looked for: its stem, without accents; nothing is left of an accent alone.
    fn term(&self, word: &str) -> String {
        let short = word.char_indices().nth(LETTERS).map_or(word, |(end, _)| &word[..end]);
        let stem = match self.stems {
            // A word that the tables of a crate stumble over is its own stem.
            Some(algorithm) if short.len() == word.len() => catch_unwind(|| Stemmer::create(algorithm).stem(short)).unwrap_or_else(|_| short.into()),
            Some(_) | None => short.into(),
        };
        let stem = if stem.is_empty() { short } else { &*stem };
        if stem.is_ascii() {
            return stem.to_owned();
        }
        stem.nfd().filter(|letter| !('\u{300}'..='\u{36f}').contains(letter)).nfc().collect()
    }
}

/// Is it written without spaces between words? Then pairs of characters are looked for.
const fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Hands words, and runs of characters that are written without spaces, to `take`, in lower case; of the first it says so.
fn runs(text: &str, mut take: impl FnMut(&str, bool)) {
    let text: String = text.nfkc().filter(|letter| !matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200d}')).collect();
    let text = text.to_lowercase();
    let kind = |letter: char| match letter {
        '\'' | '\u{2019}' => Some(true),
        _ if letter.is_alphanumeric() || is_combining_mark(letter) => Some(!is_unspaced(letter)),
        _ => None,
    };
    let (mut begin, mut of) = (0, None);
    for (at, now) in text.char_indices().map(|(at, letter)| (at, kind(letter))).chain([(text.len(), None)]) {
        if now == of {
            continue;
        }
        if let Some(spaced) = of {
            take(&text[begin..at], spaced);
        }
        (begin, of) = (at, now);
    }
}

/// The parts of a word between apostrophes that have a meaning: of `l'eau` and `user's` one, of `rock'n'roll` two.
fn pieces(run: &str) -> impl Iterator<Item = &str> {
    let parts = || run.split(['\'', '\u{2019}']).filter(|part| !part.is_empty());
    let longest = parts().max_by_key(|part| part.chars().count());
    parts().filter(move |part| Some(*part) == longest || part.chars().nth(2).is_some())
}

/// Characters that follow each other, by twos; the only one where there are no others.
fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let one = run.chars().nth(1).is_none();
    run.char_indices().zip(ends.skip(usize::from(!one))).map(|((begin, _), end)| &run[begin..end])
}

fn is_common(lists: &[&str], word: &str) -> bool {
    let spaced = format!(" {word} ");
    lists.iter().any(|list| list.contains(&spaced))
}

/// The first words of a question where the database itself stems them.
pub fn asked_of_database(question: &str) -> Vec<String> {
    let lower = question.to_lowercase();
    telling(lower.unicode_words().map(|word| (word.to_owned(), is_common(&[EN, PT], word))))
}

/// Each word once, without the common ones unless there are no others, and not too many.
fn telling(words: impl Iterator<Item = (String, bool)>) -> Vec<String> {
    let (mut seen, mut telling, mut common) = (HashSet::new(), Vec::new(), Vec::new());
    for (word, is_common) in words {
        let list = if is_common { &mut common } else { &mut telling };
        if list.len() < WORDS && seen.insert(word.clone()) {
            list.push(word);
        }
        if telling.len() == WORDS {
            break;
        }
    }
    if telling.is_empty() { common } else { telling }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(language: &str, text: &str) -> String {
        Language::named(language).expect("a language").terms(text).join(" ")
    }

    fn asked(language: &str, question: &str) -> String {
        Language::named(language).expect("a language").asked(question).join(" ")
    }

    #[test]
    fn words_are_stemmed_by_the_language() {
        assert_eq!(terms("en", "Running runs, run; the user's DON'T"), "run run run the user don");
        assert_eq!(terms("pt", "corredores CORREDOR Ações acoes"), "corredor corredor aco aco");
        assert_eq!(terms("fr", "L'eau, les chevaux d’Orléans"), "eau le cheval orlean");
        assert_eq!(terms("de", "Häuser Haus Straße"), "haus haus strass");
        assert_eq!(terms("ru", "книги книга"), "книг книг");
        assert_eq!(terms("el", "Αντίθετε ίσα\u{ad}ίσα ισαισαμε"), "αντιθετε ισαισα ισαισαμε", "a stemmer of Greek panicked at these");
        assert_eq!(terms("simple", "Running corredores, São_Paulo v3.14"), "running corredores sao paulo v3 14");
        assert_eq!(terms("simple", "rock'n'roll l'or ''"), "rock roll or");
    }

    #[test]
    fn what_is_written_without_spaces_is_cut_into_pairs_in_every_language() {
        assert_eq!(terms("zh", "我爱北京。"), "我爱 爱北 北京 我 爱 北 京");
        assert_eq!(asked("zh", "北京大学 AI 水"), "北京 京大 大学 ai 水");
        assert_eq!(asked("ja", "データベース"), "デー ータ タベ ベー ース");
        assert_eq!(asked("ja", "ﾃﾞｰﾀ"), "デー ータ", "narrow letters are the wide ones");
        assert_eq!(asked("ko", "서울에서"), "서울 울에 에서");
        assert_eq!(asked("en", "running 北京"), "run 北京");
        assert_eq!(terms("simple", "第3章"), "第 3 章");
    }

    #[test]
    fn common_words_are_left_out_while_others_are_there() {
        assert_eq!(asked("en", "How do I get my Money back, money?"), "money back");
        assert_eq!(asked("en", "Who are you?"), "who are you");
        assert_eq!(asked("de", "Wo ist der Hund?"), "hund");
        assert_eq!(asked("en", "Wo ist der Hund?"), "wo ist der hund");
        assert_eq!(asked("simple", "?!"), "");
        assert_eq!(asked_of_database("How do I get my Money back, money?"), ["money", "back"]);
        assert_eq!(asked_of_database("Who are you?"), ["who", "are", "you"]);
        assert!(asked_of_database("?!").is_empty());
    }

    #[test]
    fn a_question_of_very_many_words_is_no_work() {
        let begun = std::time::Instant::now();
        let many: String = (0..200_000).map(|n| format!("w{n} ")).collect();
        let found = asked_of_database(&many);
        assert_eq!((found.len(), found.last().map(String::as_str)), (WORDS, Some("w63")));
        assert_eq!(asked_of_database(&format!("{} money", "who are you ".repeat(100_000))), ["money"]);
        let all: String = [EN, PT].concat();
        assert_eq!(asked_of_database(&all.repeat(1_000)).len(), WORDS);
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn terms_are_letters_and_bounded_whatever_the_text_is() {
        let hostile = ["'", "\"", "\\", "\0", "\u{301}", "a\u{301}\u{302}", "ﷺ", "İ", "ς", "\u{fdfa}", "e1", "🦀", "ก็", "ß", "ous", "ـ", "’s", "x".repeat(9_000).as_str()]
            .map(str::to_owned);
        let mut seed = 7_usize;
        for language in &LANGUAGES {
            for _ in 0..300 {
                let mut text = String::new();
                for _ in 0..12 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    text += &hostile[(seed >> 33) % hostile.len()];
                    if seed % 3 == 0 {
                        text.push(' ');
                    }
                }
                for term in language.terms(&text).iter().chain(&language.asked(&text)) {
                    let plain = |letter: char| letter.is_alphanumeric() || is_combining_mark(letter);
                    assert!(!term.is_empty() && term.len() <= 256 && term.chars().all(plain), "{term:?} of {text:?} in {}", language.name);
                }
            }
        }
        let many: String = (0..200_000).map(|n| format!("w{n} ")).collect();
        assert!(terms("en", &many).len() <= BYTES);
    }
}
