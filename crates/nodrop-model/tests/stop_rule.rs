//! The stop rule, tested against the table that the Python implementation must pass too.
#![allow(missing_docs)]

use nodrop_model::{StopClause, StopRule};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    rule: StopRule,
    elapsed_s: f64,
    lost_count: u64,
    first_loss_s: Option<f64>,
    fires: Option<StopClause>,
}

#[test]
fn every_clause_fires_when_the_table_says_so() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../../tests/stop_rules.json")).unwrap();
    assert!(cases.len() > 10);
    for Case { rule, elapsed_s, lost_count, first_loss_s, fires } in cases {
        let clause = rule.fires(elapsed_s, lost_count, first_loss_s);
        assert_eq!(clause, fires, "{rule:?} after {elapsed_s} s, {lost_count} lost, the first at {first_loss_s:?}");
    }
}
