//! Turns, recovery, approvals and forks as clients and harnesses see them: real processes, and a test for each row of each
//! table of execution.md, in a file for each of its sections. A test says in its first line which part of the section it
//! covers; the rows of its table carry the contract's words, in its order.
//!
//! | section | here | and elsewhere |
//! |---|---|---|
//! | 1 classes and codes | [`section_1_codes`], a test for each class | |
//! | 2.1 guard, 2.2 routing, 2.3 admission | [`section_2_routing`] | collisions, isolated and retired harnesses: registry/section_4, section_5; one connection for Describe and the turn: services/harness/tests/adapters/describing.rs |
//! | 3 Exec, 3.1 frames, 3.2 recovery | [`section_3_exec`] | |
//! | 4 a turn in the journal | [`section_4_turn`] | its four commits: crash_cuts.rs |
//! | 5 effects | [`section_5_effects`] | executors: tools.rs and services/tools/tests |
//! | 6.1 the host's side | [`section_6_connect`] | every misbehaviour at once, beside turns that go well: section_6_1_host_side.rs; bounds: turn_limits.rs; services/harness/tests/adapters |
//! | 6.2 the harness's side | | the conformance suite: tests/harness, services/harness/sdk/tests |
//! | 7.1 matching | [`section_7_1_matching`] | controller replay, which no call runs: services/controller/src/turn/tests/replay.rs |
//! | 7.2 order of Resume | [`section_7_2_resume`] | |
//! | 7.3 cuts, 7.4 input_count, 7.5 inherited intents | [`section_7_3_cuts`] | by real deaths: crash_cuts.rs, tools.rs, approvals_torture.rs |
//! | 8 legacy journals | [`section_8_legacy`] | legacy controller replay: services/controller/src/turn/tests/legacy.rs |
//! | 9.1 opening, 9.2 parking, 9.3 open gates, 9.5 undecided | [`section_9_1_gate`] | |
//! | 9.4 Approve | [`section_9_4_approve`] | |
//! | 9.6 decided | [`section_9_6_decided`] | with deaths: approvals_torture.rs |
//! | 9.7 evidence | [`section_9_7_evidence`] | |
//! | 10 Suspend and markers | [`section_10_suspend`] | |
//! | 11 Fork, stateless column | [`section_11_fork`] | cost and races: forks.rs |
//! | 12 validation | [`section_12_validation`] | services/agentsessionsd/tests/process/bad_input.rs |
//!
//! Not here: the memory columns of sections 2, 9.1, 10 and 11, and the failed snapshot of 9.2, which need a placement that
//! keeps memory; Cancel and DeleteSession where they are offered.

mod section_10_suspend;
mod section_11_fork;
mod section_12_validation;
mod section_1_codes;
mod section_2_routing;
mod section_3_exec;
mod section_4_turn;
mod section_5_effects;
mod section_6_connect;
mod section_7_1_matching;
mod section_7_2_resume;
mod section_7_3_cuts;
mod section_8_legacy;
mod section_9_1_gate;
mod section_9_4_approve;
mod section_9_6_decided;
mod section_9_7_evidence;
mod world;
