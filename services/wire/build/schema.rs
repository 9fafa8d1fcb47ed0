//! What the JSON form of a package needs to know about its messages, read from the descriptors: Rust names, JSON types,
//! and the members in canonical order.

use std::collections::BTreeMap;

use heck::{ToSnakeCase, ToUpperCamelCase};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// The messages and enums of one package.
#[derive(Default)]
pub struct Package {
    pub messages: Vec<Message>,
    pub enums: Vec<Enum>,
}

/// A message.
pub struct Message {
    /// Path of the Rust type in the package's module.
    pub path: String,
    /// Full proto name.
    pub name: String,
    /// In canonical order: by UTF-16 code units of the name, which for proto names (ASCII) is by bytes.
    pub fields: Vec<Field>,
}

/// An enum.
pub struct Enum {
    /// Path of the Rust type in the package's module.
    pub path: String,
    /// Full proto name.
    pub name: String,
}

/// A field of a message.
pub struct Field {
    /// Proto name, which is the JSON name too.
    pub name: String,
    pub number: i32,
    /// lowerCamel JSON name, accepted on reading.
    pub camel: String,
    /// The type in `crate::json` that reads and writes its values.
    pub json: String,
    pub presence: Presence,
}

/// How an unset field is told from a set one.
pub enum Presence {
    /// Unset when the value equals its type's default.
    Implicit { slot: String, is_set: String },
    /// An `Option`.
    Explicit { slot: String },
    /// A variant of a oneof.
    OneOf { slot: String, variant: String },
}

type Result<T> = std::result::Result<T, String>;

/// The package that is read. Only its types, and some well-known ones, have a JSON form.
pub const PACKAGE: &str = "agentsessions.v1";

/// Reads the package from the descriptors.
pub fn package(descriptors: &FileDescriptorSet) -> Result<Package> {
    let mut out = Package::default();
    let scope = Scope { proto: format!(".{PACKAGE}"), module: String::new() };
    for file in descriptors.file.iter().filter(|file| file.package() == PACKAGE) {
        file.enum_type.iter().for_each(|e| out.enums.push(scope.enumeration(e)));
        for message in &file.message_type {
            scope.message(message, &mut out)?;
        }
    }
    Ok(out)
}

/// Where a type is declared.
struct Scope {
    proto: String,
    module: String,
}

impl Scope {
    fn enumeration(&self, descriptor: &EnumDescriptorProto) -> Enum {
        Enum { path: self.path(descriptor.name()), name: self.full_name(descriptor.name()) }
    }

    fn message(&self, descriptor: &DescriptorProto, out: &mut Package) -> Result<()> {
        let inner = Self {
            proto: format!("{}.{}", self.proto, descriptor.name()),
            module: format!("{}{}::", self.module, descriptor.name().to_snake_case()),
        };
        let maps: BTreeMap<String, &DescriptorProto> = descriptor
            .nested_type
            .iter()
            .filter(|nested| nested.options.as_ref().is_some_and(|options| options.map_entry()))
            .map(|entry| (format!("{}.{}", inner.proto, entry.name()), entry))
            .collect();
        let mut fields =
            descriptor.field.iter().map(|field| inner.field(descriptor, field, &maps)).collect::<Result<Vec<_>>>()?;
        fields.sort_by(|a, b| a.name.cmp(&b.name));

        descriptor.enum_type.iter().for_each(|e| out.enums.push(inner.enumeration(e)));
        for nested in &descriptor.nested_type {
            if !maps.contains_key(&format!("{}.{}", inner.proto, nested.name())) {
                inner.message(nested, out)?;
            }
        }
        out.messages.push(Message {
            path: self.path(descriptor.name()),
            name: self.full_name(descriptor.name()),
            fields,
        });
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        format!("{}{}", self.module, name.to_upper_camel_case())
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}.{name}", self.proto.trim_start_matches('.'))
    }

    fn field(
        &self,
        message: &DescriptorProto,
        field: &FieldDescriptorProto,
        maps: &BTreeMap<String, &DescriptorProto>,
    ) -> Result<Field> {
        let entry = maps.get(field.type_name());
        let repeated = field.label() == Label::Repeated;
        let json = match entry {
            Some(entry) => map_type(entry)?,
            None if repeated => format!("crate::json::List<{}>", value_type(field)?),
            None => value_type(field)?,
        };
        Ok(Field {
            name: field.name().to_owned(),
            number: field.number(),
            camel: field.json_name().to_owned(),
            json,
            presence: self.presence(message, field, repeated)?,
        })
    }

    fn presence(&self, message: &DescriptorProto, field: &FieldDescriptorProto, repeated: bool) -> Result<Presence> {
        let slot = field.name().to_snake_case();
        if field.oneof_index.is_some() && !field.proto3_optional() {
            let oneof = message.oneof_decl[field.oneof_index() as usize].name();
            let variant =
                format!("{}{}::{}", self.module, oneof.to_upper_camel_case(), field.name().to_upper_camel_case());
            return Ok(Presence::OneOf { slot: oneof.to_snake_case(), variant });
        }
        if field.proto3_optional() || (field.r#type() == Type::Message && !repeated) {
            return Ok(Presence::Explicit { slot });
        }
        let is_set = match field.r#type() {
            _ if repeated => format!("!self.{slot}.is_empty()"),
            Type::String | Type::Bytes => format!("!self.{slot}.is_empty()"),
            Type::Bool => format!("self.{slot}"),
            Type::Int32 | Type::Int64 | Type::Enum => format!("self.{slot} != 0"),
            other => return Err(format!("{}: fields of type {other:?} have no JSON form here", field.name())),
        };
        Ok(Presence::Implicit { slot, is_set })
    }
}

fn map_type(entry: &DescriptorProto) -> Result<String> {
    match entry.field.as_slice() {
        [key, value] if key.r#type() == Type::String => Ok(format!("crate::json::Map<{}>", value_type(value)?)),
        _ => Err(format!("{}: only maps from strings have a JSON form here", entry.name())),
    }
}

fn value_type(field: &FieldDescriptorProto) -> Result<String> {
    let module = "crate::json";
    Ok(match field.r#type() {
        Type::String => format!("{module}::Text"),
        Type::Bytes => format!("{module}::Bytes"),
        Type::Bool => format!("{module}::Bool"),
        Type::Int32 => format!("{module}::Int32"),
        Type::Int64 => format!("{module}::Int64"),
        Type::Enum => format!("{module}::Enum<{}>", rust_path(field.type_name())?),
        Type::Message if field.type_name() == ".google.protobuf.Timestamp" => format!("{module}::Timestamp"),
        Type::Message if field.type_name() == ".google.protobuf.Struct" => format!("{module}::Struct"),
        Type::Message => format!("{module}::Message<{}>", rust_path(field.type_name())?),
        other => return Err(format!("{}: fields of type {other:?} have no JSON form here", field.name())),
    })
}

/// The path of a type of the package, as prost names it.
fn rust_path(proto: &str) -> Result<String> {
    let local = proto
        .strip_prefix(&format!(".{PACKAGE}."))
        .ok_or_else(|| format!("{proto}: types of other packages have no JSON form here"))?;
    let (scope, name) = local.rsplit_once('.').unwrap_or(("", local));
    let modules = scope.split('.').filter(|part| !part.is_empty()).map(|part| part.to_snake_case() + "::");
    Ok(modules.collect::<String>() + &name.to_upper_camel_case())
}
