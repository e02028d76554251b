//! Owns ranking: the best of many scores, the fusion of two lists, and the useful words of a query.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation as _;

/// The constant of reciprocal rank fusion.
const K: f64 = 60.0;
/// The most words of a question that are looked for.
const WORDS: usize = 64;

/// A score that can be put in order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Score(f32);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The best so many of the keys that it is shown.
#[derive(Debug)]
pub struct Best {
    heap: BinaryHeap<Reverse<(Score, Reverse<i64>)>>,
    most: usize,
    least: f32,
}

impl Best {
    /// Keeps the best `most`.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(most + 1), most, least: f32::NEG_INFINITY }
    }

    /// Shows it one more.
    pub fn show(&mut self, key: i64, score: f32) {
        if score < self.least || self.most == 0 {
            return;
        }
        self.heap.push(Reverse((Score(score), Reverse(key))));
        if self.heap.len() > self.most {
            self.heap.pop();
            self.least = self.heap.peek().map_or(f32::NEG_INFINITY, |worst| worst.0.0.0);
        }
    }

    /// The best, best first; of equals the lower key first.
    #[must_use]
    pub fn in_order(self) -> Vec<(i64, f32)> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse((score, Reverse(key)))| (key, score.0)).collect()
    }
}

/// Two lists of keys made one by reciprocal rank fusion, best first. Of equals the one first that the first list puts first.
#[must_use]
pub fn fuse(one: &[i64], other: &[i64]) -> Vec<i64> {
    let mut scores: HashMap<i64, f64> = HashMap::new();
    let mut order: Vec<i64> = Vec::new();
    for list in [one, other] {
        for (rank, key) in (1_u32..).zip(list) {
            let score = scores.entry(*key).or_insert_with(|| {
                order.push(*key);
                0.0
            });
            *score += 1.0 / (K + f64::from(rank));
        }
    }
    order.sort_by(|one, other| scores[other].total_cmp(&scores[one]));
    order
}

/// Words that nearly every text has, in the studio's languages.
const COMMON: &str = " a about after all am an and any are as at be been but by can could did do does for from get had has have how i if in into is \
    it its may me might must my no not of on one or our out shall should so some than that the their them then there these they this to up us was we were what \
    when where which who why will with would you your \
    ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi há isso já mais mas me meu minha muito na nas nem \
    no nos não o os ou para pela pelo por qual quando que quem se sem ser seu sua são também te tem um uma você à às é ";

/// The first words of a question, each once, without those that nearly every text has, unless it has no others.
#[must_use]
pub fn words(question: &str) -> Vec<String> {
    let lower = question.to_lowercase();
    let (mut seen, mut telling, mut common) = (HashSet::new(), Vec::new(), Vec::new());
    for word in lower.unicode_words().filter(|word| seen.insert(*word)) {
        let list = if COMMON.contains(&format!(" {word} ")) { &mut common } else { &mut telling };
        if list.len() < WORDS {
            list.push(word.to_owned());
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

    #[test]
    fn the_best_are_kept_in_order() {
        let mut best = Best::new(3);
        for (key, score) in [(1, 0.5), (2, 0.9), (3, 0.1), (4, 0.5), (5, 0.7), (6, f32::NAN)] {
            if !score.is_nan() {
                best.show(key, score);
            }
        }
        assert_eq!(best.in_order(), [(2, 0.9), (5, 0.7), (1, 0.5)]);
    }

    #[test]
    fn what_both_lists_know_comes_first() {
        assert_eq!(fuse(&[1, 2, 3], &[4, 2]), [2, 1, 4, 3]);
        assert_eq!(fuse(&[7], &[]), [7]);
    }

    #[test]
    fn a_question_of_very_many_words_is_no_work() {
        let begun = std::time::Instant::now();
        let many: String = (0..200_000).map(|n| format!("w{n} ")).collect();
        let found = words(&many);
        assert_eq!((found.len(), found.last().map(String::as_str)), (WORDS, Some("w63")));
        assert_eq!(words(&format!("{} money", "who are you ".repeat(100_000))), ["money"]);
        assert_eq!(words(&COMMON.repeat(1_000)).len(), WORDS);
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn common_words_are_left_out_while_others_are_there() {
        assert_eq!(words("How do I get my Money back, money?"), ["money", "back"]);
        assert_eq!(words("Who are you?"), ["who", "are", "you"]);
        assert!(words("?!").is_empty());
    }
}
