//! The harness registry, over real processes: a test for every row of the contract's pages on it, in a file for each of
//! its sections (registry.md).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod races;
mod section_2_name_and_spec;
mod section_3_1_register;
mod section_3_2_get;
mod section_3_3_list;
mod section_3_4_retire;
mod section_3_5_fields;
mod section_4_sessions;
mod section_5_startup;
mod section_6_listener;
mod world;
