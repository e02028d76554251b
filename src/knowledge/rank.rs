//! Owns ranking: the best of many scores, and the fusion of two lists.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The constant of reciprocal rank fusion.
const K: f64 = 60.0;

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
    pub fn in_order(self) -> Vec<(i64, f32)> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse((score, Reverse(key)))| (key, score.0)).collect()
    }
}

/// Two lists of keys made one by reciprocal rank fusion, best first. Of equals the one first that the first list puts first.
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
}
