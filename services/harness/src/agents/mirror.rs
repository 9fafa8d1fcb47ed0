//! Gives back what it is given, of every kind.

use sdk::schema::{self, Discriminator, Schema, Type};
use sdk::{Agent, Binary, Bytes, Call, Decode, Encode, Failure, Input, Method, Outlet, Value};

pub(super) fn agent() -> Agent {
    let all = |root| schema::graph([(EVERYTHING, everything()), (TREE, tree())], root);
    let item = || schema::named(EVERYTHING);
    let takes = |item| schema::record([("items", schema::stream(item))]);
    Agent::new("mirror")
        .described("Gives back what it is given.")
        .method(Method::new("value", all(schema::record([("value", item())])), value).returns(all(item())))
        .method(Method::new("values", all(takes(item())), pass::<Value>).returns(all(schema::stream(item()))))
        .method(pass_method::<Bytes>("bytes", takes(schema::u8()), schema::u8()))
        .method(pass_method::<Binary>("binaries", takes(schema::binary()), schema::binary()))
        .method(Method::new("nothing", schema::record([]), async |_| Ok(())))
}

const EVERYTHING: &str = "everything";
const TREE: &str = "tree";

fn pass_method<T: Decode + Encode + 'static>(name: &str, parameters: impl Into<Schema>, item: Type) -> Method {
    Method::new(name, parameters, pass::<T>).returns(schema::stream(item))
}

async fn value(mut call: Call) -> Result<Value, Failure> {
    Ok(call.parameter("value")?)
}

async fn pass<T: Decode + Encode + 'static>(mut call: Call) -> Result<Outlet<T>, Failure> {
    let mut items: Input<T> = call.parameter("items")?;
    let (outlet, mut output) = call.output();
    call.beside(async move {
        while let Some(item) = items.next().await {
            output.send(item?).await?;
        }
        output.end();
        Ok(())
    });
    Ok(outlet)
}

/// A case for each kind, named as the kind.
fn everything() -> Type {
    let scalars = [
        ("bool", schema::bool()),
        ("s8", schema::s8()),
        ("s16", schema::s16()),
        ("s32", schema::s32()),
        ("s64", schema::s64()),
        ("u8", schema::u8()),
        ("u16", schema::u16()),
        ("u32", schema::u32()),
        ("u64", schema::u64()),
        ("f32", schema::f32()),
        ("f64", schema::f64()),
        ("char", schema::char()),
        ("string", schema::string()),
        ("text", schema::text()),
        ("binary", schema::binary()),
        ("path", schema::path()),
        ("url", schema::url()),
        ("datetime", schema::datetime()),
        ("duration", schema::duration()),
        ("quantity", schema::quantity("m")),
    ];
    let composites = [
        ("record", schema::record([("name", schema::string()), ("age", schema::u8())])),
        ("tuple", schema::tuple([schema::string(), schema::bool()])),
        ("list", schema::list(schema::s32())),
        ("fixed-list", schema::fixed_list(schema::f64(), 2)),
        ("map", schema::map(schema::string(), schema::u64())),
        ("enum", schema::enumeration(["red", "green", "blue"])),
        ("flags", schema::flags(["read", "write"])),
        ("variant", schema::variant([("none", None), ("some", Some(schema::string()))])),
        ("option", schema::option(schema::string())),
        ("result", schema::result(schema::u32(), schema::string())),
        ("union", union()),
        ("ref", schema::named(TREE)),
    ];
    schema::variant(scalars.into_iter().chain(composites).map(|(kind, of)| (kind, Some(of))))
}

fn union() -> Type {
    let begins = |text: &str| Discriminator::Prefix(text.to_owned());
    schema::union([("mail", schema::string(), begins("mailto:")), ("phone", schema::string(), begins("tel:"))])
}

fn tree() -> Type {
    schema::record([("name", schema::string()), ("children", schema::list(schema::named(TREE)))])
}
