//! The JSON of doubts.
#![allow(missing_docs)]

use nodrop_model::{Doubt, DoubtReason, Validity};
use serde_json::json;

#[test]
fn a_doubt_has_a_code_its_parameters_and_a_verdict() {
    let cases = [
        (DoubtReason::Aborted {}, json!({"code": "aborted", "params": {}, "verdict": "invalid"})),
        (
            DoubtReason::TesterDrops { dropped_count: 5 },
            json!({"code": "tester_drops", "params": {"dropped_count": 5}, "verdict": "invalid"}),
        ),
        (
            DoubtReason::ReceiverStarved { unread_s: 0.5, fill_s: 0.25 },
            json!({"code": "receiver_starved", "params": {"unread_s": 0.5, "fill_s": 0.25}, "verdict": "invalid"}),
        ),
    ];
    for (reason, written) in cases {
        let doubt = Doubt { validity: Validity::Invalid, reason };
        assert_eq!(serde_json::to_value(&doubt).unwrap(), written);
        assert_eq!(serde_json::from_value::<Doubt>(written).unwrap(), doubt);
    }
}
