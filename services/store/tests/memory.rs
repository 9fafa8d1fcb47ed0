//! The memory engine does what every engine must.

store::conformance_tests!(store::memory::Memory::default());
