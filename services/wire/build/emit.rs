//! The Rust code of a package's JSON form. All behaviour is in `crate::json`; what is generated only names members.

use std::fmt::Write;

use crate::schema::{Enum, Field, Message, Package, Presence};

/// The code for all messages and enums of `package`.
pub fn package(package: &Package) -> String {
    let enums = package.enums.iter().map(enumeration);
    enums.chain(package.messages.iter().map(message)).collect()
}

fn enumeration(Enum { path, name }: &Enum) -> String {
    format!("crate::json::named_enum!({path}, {name:?});\n")
}

fn message(message: &Message) -> String {
    let Message { path, name, .. } = message;
    let names = list(message, |_, field| format!("{:?},", field.name));
    let positions = list(message, position);
    let shapes = list(message, |_, field| shape(field));
    let visits = list(message, |_, field| visit(field));
    let reads = list(message, read);
    format!(
        "crate::json::serde_message!({path});
impl crate::json::Members for {path} {{
    const NAME: &'static str = {name:?};
    const MEMBERS: &'static [&'static str] = &[{names}];
    fn position(name: &str) -> Option<usize> {{
        match name {{ {positions} _ => None }}
    }}
    fn shape(number: u32) -> Option<crate::strict::Shape> {{
        match number {{ {shapes} _ => None }}
    }}
    fn visit<V: crate::json::Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {{
        {visits}
        Ok(())
    }}
    fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, position: usize, map: &mut A) -> Result<(), A::Error> {{
        match position {{ {reads} _ => Ok(()) }}
    }}
}}
"
    )
}

fn list(message: &Message, line: impl Fn(usize, &Field) -> String) -> String {
    message.fields.iter().enumerate().fold(String::new(), |mut out, (position, field)| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", line(position, field));
        out
    })
}

fn position(position: usize, Field { name, camel, .. }: &Field) -> String {
    match name == camel {
        true => format!("{name:?} => Some({position}),"),
        false => format!("{name:?} | {camel:?} => Some({position}),"),
    }
}

fn shape(Field { number, json, .. }: &Field) -> String {
    format!("{number} => Some(<{json} as crate::json::JsonType>::SHAPE),")
}

fn visit(Field { name, json, presence, .. }: &Field) -> String {
    let member = |value: &str| format!("visitor.member::<{json}>(crate::json::key!({name:?}), {value})?;");
    match presence {
        Presence::Implicit { slot, is_set } => format!("if {is_set} {{ {} }}", member(&format!("&self.{slot}"))),
        Presence::Explicit { slot } => format!("if let Some(value) = &self.{slot} {{ {} }}", member("value")),
        Presence::OneOf { slot, variant } => {
            format!("if let Some({variant}(value)) = &self.{slot} {{ {} }}", member("value"))
        }
    }
}

fn read(position: usize, Field { name, json, presence, .. }: &Field) -> String {
    let call = match presence {
        Presence::Implicit { slot, .. } => format!("implicit::<{json}, A>(&mut self.{slot}, map)"),
        Presence::Explicit { slot } => format!("explicit::<{json}, A>(&mut self.{slot}, map)"),
        Presence::OneOf { slot, variant } => {
            format!("one_of::<{json}, _, A>(&mut self.{slot}, {name:?}, {variant}, map)")
        }
    };
    format!("{position} => crate::json::read::{call},")
}
