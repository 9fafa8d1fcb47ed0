//! Reading values from JSON (schema.md section 2): depth first, in document order, the first fault answers.

use std::collections::HashSet;
use std::fmt;

use super::charge::Charge;
use super::place::Place;
use super::restrict::restrict;
use super::scalar::{self, member, object, only, wrong};
use super::{Decoded, StreamPolicy, StreamRef, Value};
use crate::graph::{Arms, Branch, Case, Field, Graph, NumberKind, Shape, Type};
use crate::json::Json;
use crate::message::check_token;
use crate::{ErrorCode, Refusal, field, limits};

impl Value {
    /// Reads a node against type `of` of `graph`, and checks the restrictions of the type.
    ///
    /// # Errors
    /// The first fault in the order of section 2; then of section 4.
    pub fn read<'g>(
        graph: &'g Graph,
        of: &'g Type,
        policy: StreamPolicy,
        node: &Json<'_>,
    ) -> Result<Decoded<'g>, Refusal> {
        let mut reader = Reader {
            graph,
            policy,
            charge: Charge::default(),
            streams: Vec::new(),
            seen: HashSet::new(),
            place: Place::default(),
        };
        let value = reader.node(of, node).map_err(|refusal| reader.place.told(refusal))?;
        restrict(graph, of, &value)?;
        Ok(Decoded { value, charge: reader.charge.total(), streams: reader.streams })
    }
}

struct Reader<'g> {
    graph: &'g Graph,
    policy: StreamPolicy,
    charge: Charge,
    streams: Vec<(StreamRef, &'g Type)>,
    seen: HashSet<StreamRef>,
    /// Of the fault.
    place: Place,
}

impl<'g> Reader<'g> {
    fn node(&mut self, of: &'g Type, node: &Json<'_>) -> Result<Value, Refusal> {
        let members = node.as_object().ok_or_else(|| Refusal::invalid("a value node is not an object"))?;
        members.expect(&["kind", "value"], &[])?;
        let kind = member(members, "kind")?.as_str();
        let kind = kind.ok_or_else(|| Refusal::invalid("the kind of a value is not a string"))?;
        self.check_kind(kind)?;
        let of = self.graph.resolve(of).ok_or_else(|| Refusal::invalid("a type is not defined"))?;
        if never_crosses(of.shape.kind()) {
            return Err(unsupported("values of this type cannot cross"));
        }
        if kind != of.shape.kind() {
            return Err(Refusal::invalid("a value is of another kind than its type"));
        }
        let payload = member(members, "value")?;
        let value = match scalar::read(&of.shape, payload) {
            Some(value) => value?,
            None => self.structure(&of.shape, payload)?,
        };
        self.charge.add(&value)?;
        Ok(value)
    }

    /// A node within another one.
    fn part(&mut self, name: &dyn fmt::Display, of: &'g Type, node: &Json<'_>) -> Result<Value, Refusal> {
        self.node(of, node).inspect_err(|_| self.place.is_within(name))
    }

    fn check_kind(&self, kind: &str) -> Result<(), Refusal> {
        if never_crosses(kind) {
            return Err(unsupported("values of this kind cannot cross"));
        }
        match kind {
            "stream" if self.policy == StreamPolicy::None => Err(unsupported("no stream may be here")),
            _ if is_kind(kind) => Ok(()),
            _ => Err(Refusal::malformed("a value is of an unknown kind")),
        }
    }

    fn structure(&mut self, shape: &'g Shape, payload: &Json<'_>) -> Result<Value, Refusal> {
        match shape {
            Shape::Record(fields) => self.record(fields, payload),
            Shape::Tuple(types) => self.tuple(types, payload),
            Shape::List(element) => self.elements(element, payload).map(Value::List),
            Shape::FixedList(element, length) => {
                let elements = self.elements(element, payload)?;
                let fits = u32::try_from(elements.len()) == Ok(*length);
                fits.then_some(Value::FixedList(elements)).ok_or_else(wrong)
            }
            Shape::Map(key, value) => self.map((key, value), payload),
            Shape::Enum(cases) => {
                let case = only(payload, "case")?.as_integer::<u32>();
                let case = case.filter(|&case| (case as usize) < cases.len());
                case.map(Value::Enum).ok_or_else(wrong)
            }
            Shape::Flags(flags) => {
                let bits = only(payload, "bits")?.as_array().ok_or_else(wrong)?;
                let bits = bits.iter().map(Json::as_bool).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
                (bits.len() == flags.len()).then_some(Value::Flags(bits)).ok_or_else(wrong)
            }
            Shape::Variant(cases) => self.variant(cases, payload),
            Shape::Option(inner) => match only(payload, "inner")? {
                Json::Null => Ok(Value::Option(None)),
                node => Ok(Value::Option(Some(Box::new(self.node(inner, node)?)))),
            },
            Shape::Result(arms) => self.result(arms, payload),
            Shape::Union(branches) => self.union(branches, payload),
            Shape::Stream(element) => self.stream(element.as_deref(), payload),
            // What is left are scalars, which do not come here, and what never crosses.
            _ => Err(unsupported("values of this type cannot cross")),
        }
    }

    fn record(&mut self, fields: &'g [Field], payload: &Json<'_>) -> Result<Value, Refusal> {
        let nodes = only(payload, "fields")?.as_array().ok_or_else(wrong)?;
        let types = fields.iter().map(|field| (field.name.as_str(), &field.body));
        self.one_of_each(types, nodes).map(Value::Record)
    }

    fn tuple(&mut self, types: &'g [Type], payload: &Json<'_>) -> Result<Value, Refusal> {
        let nodes = only(payload, "elements")?.as_array().ok_or_else(wrong)?;
        self.one_of_each(types.iter().enumerate(), nodes).map(Value::Tuple)
    }

    fn one_of_each(
        &mut self,
        types: impl ExactSizeIterator<Item = (impl fmt::Display, &'g Type)>,
        nodes: &[Json<'_>],
    ) -> Result<Vec<Value>, Refusal> {
        if types.len() != nodes.len() {
            return Err(wrong());
        }
        types.zip(nodes).map(|((name, of), node)| self.part(&name, of, node)).collect()
    }

    fn elements(&mut self, element: &'g Type, payload: &Json<'_>) -> Result<Vec<Value>, Refusal> {
        let nodes = only(payload, "elements")?.as_array().ok_or_else(wrong)?;
        nodes.iter().enumerate().map(|(at, node)| self.part(&at, element, node)).collect()
    }

    fn map(&mut self, (key, value): (&'g Type, &'g Type), payload: &Json<'_>) -> Result<Value, Refusal> {
        let entries = only(payload, "entries")?.as_array().ok_or_else(wrong)?;
        let entry = |(at, entry): (usize, &Json<'_>)| match entry.as_array() {
            Some([a, b]) => Ok((self.part(&at, key, a)?, self.part(&at, value, b)?)),
            _ => Err(wrong()),
        };
        entries.iter().enumerate().map(entry).collect::<Result<_, _>>().map(Value::Map)
    }

    fn variant(&mut self, cases: &'g [Case], payload: &Json<'_>) -> Result<Value, Refusal> {
        let members = object(payload)?;
        members.expect(&["case"], &["payload"])?;
        let case = member(members, "case")?.as_integer::<u32>().ok_or_else(wrong)?;
        let of = cases.get(case as usize).ok_or_else(wrong)?;
        let payload = self.given(&of.name, of.payload.as_ref(), members.get("payload"))?;
        Ok(Value::Variant { case, payload })
    }

    fn result(&mut self, arms: &'g Arms, payload: &Json<'_>) -> Result<Value, Refusal> {
        let members = object(payload)?;
        members.expect(&["tag", "value"], &[])?;
        let (ok, of) = match member(members, "tag")?.as_str() {
            Some("ok") => (true, &arms.ok),
            Some("err") => (false, &arms.err),
            _ => return Err(wrong()),
        };
        let node = Some(member(members, "value")?).filter(|node| **node != Json::Null);
        let value = self.given(if ok { "ok" } else { "err" }, of.as_deref(), node)?;
        Ok(Value::Result { ok, value })
    }

    /// A value that is there exactly if its type is.
    fn given(
        &mut self,
        name: &str,
        of: Option<&'g Type>,
        node: Option<&Json<'_>>,
    ) -> Result<Option<Box<Value>>, Refusal> {
        match (of, node) {
            (Some(of), Some(node)) => Ok(Some(Box::new(self.part(&name, of, node)?))),
            (None, None) => Ok(None),
            _ => Err(wrong()),
        }
    }

    fn union(&mut self, branches: &'g [Branch], payload: &Json<'_>) -> Result<Value, Refusal> {
        let members = object(payload)?;
        members.expect(&["body", "tag"], &[])?;
        let tag = member(members, "tag")?.as_str().ok_or_else(wrong)?;
        let branch = branches.iter().find(|branch| branch.tag == tag).ok_or_else(wrong)?;
        let body = self.part(&tag, &branch.body, member(members, "body")?)?;
        Ok(Value::Union { tag: tag.to_owned(), body: Box::new(body) })
    }

    fn stream(&mut self, element: Option<&'g Type>, payload: &Json<'_>) -> Result<Value, Refusal> {
        let members = object(payload)?;
        let mut given = members.iter();
        let (Some((name @ ("provisionalRef" | "streamToken"), reference)), None) = (given.next(), given.next()) else {
            return Err(Refusal::malformed("a stream is not named in one way"));
        };
        let element = element.ok_or_else(|| unsupported("a stream without element type cannot cross"))?;
        let expected = match self.policy {
            StreamPolicy::Provisional => "provisionalRef",
            StreamPolicy::Stable | StreamPolicy::None => "streamToken",
        };
        let text = reference.as_str().filter(|_| name == expected).ok_or_else(wrong)?;
        let reference = match self.policy {
            StreamPolicy::Provisional => StreamRef::Provisional(field::uuid_v4(text).ok_or_else(wrong)?),
            StreamPolicy::Stable | StreamPolicy::None => {
                check_token(text)?;
                StreamRef::Stable(text.to_owned())
            }
        };
        if !self.seen.insert(reference.clone()) {
            return Err(Refusal::new(ErrorCode::StreamAlreadyConsumed, "a stream stands at two places"));
        }
        if self.streams.len() == limits::NEW_STREAMS {
            return Err(Refusal::exhausted("a value has too many streams"));
        }
        self.streams.push((reference.clone(), element));
        Ok(Value::Stream(reference))
    }
}

fn never_crosses(kind: &str) -> bool {
    matches!(kind, "secret" | "quota-token" | "permission-card" | "future")
}

/// Whether values of this kind may cross.
fn is_kind(kind: &str) -> bool {
    const KINDS: [&str; 22] = [
        "bool",
        "char",
        "string",
        "text",
        "binary",
        "path",
        "url",
        "datetime",
        "duration",
        "quantity",
        "record",
        "tuple",
        "list",
        "fixed-list",
        "map",
        "enum",
        "flags",
        "variant",
        "option",
        "result",
        "union",
        "stream",
    ];
    NumberKind::parse(kind).is_some() || KINDS.contains(&kind)
}

fn unsupported(text: &'static str) -> Refusal {
    Refusal::new(ErrorCode::UnsupportedValue, text)
}
