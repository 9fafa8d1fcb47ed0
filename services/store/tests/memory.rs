//! The memory engine does what every engine must.

store::conformance_tests!(Some(store::memory::Memory::default()));
