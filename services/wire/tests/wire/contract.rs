//! Every name, number, type and label of the protos, and nothing else. They are hashed, or on the wire, or both: a line of
//! `contract.txt` may be added, never changed.

use std::collections::BTreeSet;

use prost::Message;
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

const PINNED: &str = include_str!("contract.txt");

#[test]
fn no_name_number_or_type_has_changed() {
    let set = FileDescriptorSet::decode(wire::FILE_DESCRIPTOR_SET).unwrap();
    let files = set.file.iter().filter(|file| file.package() == "agentsessions.v1");
    let declared: BTreeSet<String> = files.flat_map(file).map(|line| line.replace(".agentsessions.v1.", "")).collect();
    let pinned: BTreeSet<String> = PINNED.lines().map(str::to_owned).collect();
    let gone: Vec<_> = pinned.difference(&declared).collect();
    let new: Vec<_> = declared.difference(&pinned).collect();
    assert!(gone.is_empty() && new.is_empty(), "gone: {gone:#?}\nnew: {new:#?}");
}

fn file(file: &FileDescriptorProto) -> Vec<String> {
    let methods = file.service.iter().flat_map(|service| {
        service.method.iter().map(|method| {
            let stream = |streaming| if streaming { "stream " } else { "" };
            format!(
                "{}.{} ({}{}) ({}{})",
                service.name(),
                method.name(),
                stream(method.client_streaming()),
                method.input_type(),
                stream(method.server_streaming()),
                method.output_type()
            )
        })
    });
    let messages = file.message_type.iter().flat_map(message);
    methods.chain(messages).chain(file.enum_type.iter().flat_map(|e| enumeration("", e))).collect()
}

fn message(message: &DescriptorProto) -> Vec<String> {
    let scope = format!("{}.", message.name());
    let fields = message.field.iter().map(|f| field(message, f));
    let reserved = message.reserved_range.iter().map(|range| format!("{scope}reserved {}", range.start()));
    fields.chain(reserved).chain(message.enum_type.iter().flat_map(|e| enumeration(&scope, e))).collect()
}

fn field(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let kind = match field.type_name() {
        "" => format!("{:?}", field.r#type()).to_lowercase(),
        name => name.to_owned(),
    };
    let label = match field.oneof_index {
        Some(_) if field.proto3_optional() => " optional".to_owned(),
        Some(index) => format!(" oneof {}", message.oneof_decl[index as usize].name()),
        None if field.label() == prost_types::field_descriptor_proto::Label::Repeated => " repeated".to_owned(),
        None => String::new(),
    };
    format!("{}.{} = {} {kind}{label}", message.name(), field.name(), field.number())
}

fn enumeration(scope: &str, e: &EnumDescriptorProto) -> Vec<String> {
    e.value.iter().map(|value| format!("{scope}{}.{} = {}", e.name(), value.name(), value.number())).collect()
}
