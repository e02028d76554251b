//! Tests of whose turn it is: readings of tenants of which fewer are at work.

use super::*;
use crate::store::knowledge::readings::{self, Wanted};

#[test]
fn readings_of_tenants_with_fewer_at_work_go_first() {
    write(&fresh(), |tx| {
        let ask = |tx: &mut Tx<'_>, tenant: &str, document: i64, due: i64| {
            readings::ask(tx, &Wanted { tenant, base: &id(70), document, edition: 1, max_words: 9, overlap_words: 1, due: Timestamp(due) })
        };
        let first: Vec<i64> = (1..=4).map(|n| ask(tx, "a", n, n)).collect::<Result<_, _>>()?;
        let later: Vec<i64> = (5..=6).map(|n| ask(tx, "b", n, n)).collect::<Result<_, _>>()?;
        ask(tx, "c", 7, 100)?;
        let next = |tx: &mut Tx<'_>, owner: &str, most: u64| readings::next_for(tx, owner, Timestamp(50), most);
        let claim = |tx: &mut Tx<'_>, no: i64| readings::claim_one(tx, no, "w", Timestamp(90));
        assert_eq!(next(tx, "w", 9)?, Some(first[0]));
        assert!(claim(tx, first[0])?.is_some_and(|reading| (reading.tenant.as_str(), reading.tries, reading.fence) == ("a", 1, 1)));
        assert_eq!(claim(tx, first[0])?, None, "it does not wait any more");
        assert_eq!(next(tx, "w", 0)?, Some(later[0]), "nothing of b is at work");
        claim(tx, later[0])?.expect("it waits");
        assert_eq!(next(tx, "w", 0)?, None, "c's is not due yet, and the others have one");
        assert_eq!(next(tx, "w", 9)?, Some(first[1]), "both have one: the oldest");
        claim(tx, first[1])?.expect("it waits");
        assert_eq!(next(tx, "w", 9)?, Some(later[1]), "b has fewer");
        assert_eq!(next(tx, "other", 0)?, Some(first[2]), "of another owner nothing is at work");
        Ok(())
    })
    .unwrap();
}
