//! Our writer beside `serde_jcs`, an independent implementation of RFC 8785, and where the two part.

use proptest::prelude::*;
use wire::canonical::{Canonical, NotCanonical};
use wire::protobuf::value::Kind;

use crate::canonical::structure as struct_of;
use crate::strategy::{double, event, structure};

proptest! {
    #[test]
    fn both_write_the_same_for_any_event(event in event()) {
        prop_assert_eq!(event.canonical_json().unwrap(), serde_jcs::to_string(&event).unwrap());
    }

    #[test]
    fn both_write_the_same_for_any_struct(data in structure()) {
        prop_assert_eq!(data.canonical_json().unwrap(), serde_jcs::to_string(&data).unwrap());
    }

    #[test]
    fn both_write_the_same_for_any_number(number in double()) {
        let data = struct_of([("n", Kind::NumberValue(number))]);
        prop_assert_eq!(data.canonical_json().unwrap(), serde_jcs::to_string(&data).unwrap());
    }
}

#[test]
fn serde_jcs_writes_null_for_numbers_that_json_lacks() {
    assert_eq!(serde_jcs::to_string(&[f64::NAN, f64::INFINITY]).unwrap(), "[null,null]");
    let data = struct_of([("n", Kind::NumberValue(f64::NAN))]);
    assert_eq!(data.canonical_json(), Err(NotCanonical::NotFinite));
}

#[test]
fn serde_jcs_rounds_integers_that_a_double_cannot_hold() {
    assert_eq!(serde_jcs::to_string(&((1_i64 << 53) + 1)).unwrap(), "9007199254740992");
}
