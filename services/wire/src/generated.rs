//! Generated code, laid out as the packages are. The comments of the .proto files are its documentation.
#![allow(missing_docs, unused_qualifications, unused_variables, clippy::all, rustdoc::all)]

pub mod agentsessions {
    pub mod v1 {
        tonic::include_proto!("agentsessions.v1");
        include!(concat!(env!("OUT_DIR"), "/agentsessions.v1.json.rs"));
    }
}

pub mod google {
    pub mod protobuf {
        tonic::include_proto!("google.protobuf");
    }
}
