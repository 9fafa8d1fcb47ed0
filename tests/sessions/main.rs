//! Sessions on one machine: what users are promised, over real processes.

mod crash_cuts;
mod durability;
mod forks;
mod races;
mod replay;
