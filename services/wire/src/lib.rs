//! The wire contract: generated types of package `agentsessions.v1`, their canonical form and hashes. No I/O.

/// Generated code, laid out as the packages are.
#[allow(missing_docs, clippy::all, unused_qualifications)]
mod generated {
    pub mod agentsessions {
        pub mod v1 {
            tonic::include_proto!("agentsessions.v1");
        }
    }
    pub mod google {
        pub mod protobuf {
            tonic::include_proto!("google.protobuf");
        }
    }
}

mod history;

pub use generated::agentsessions::v1::*;
pub use generated::google::protobuf;
pub use history::History;
