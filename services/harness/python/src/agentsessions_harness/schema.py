"""Building schemas: `record(lines=stream(string))`.

These are the kinds that most agents need. A type is JSON in the notation of the contract, so any other can be written down as
it stands there. `graph` names types, so that they can be recursive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Type: TypeAlias = dict[str, Any]
"""A type."""

Graph: TypeAlias = dict[str, Any]
"""A type, and those that it names."""

Discriminator: TypeAlias = dict[str, Any]
"""What holds for the values of a branch of a union."""


def _type(kind: str, **value: Any) -> Type:
    return {"kind": kind, "value": value}


boolean = _type("bool")
s8, s16, s32, s64 = (_type(kind) for kind in ("s8", "s16", "s32", "s64"))
u8, u16, u32, u64 = (_type(kind) for kind in ("u8", "u16", "u32", "u64"))
f32, f64 = _type("f32"), _type("f64")
char, string = _type("char"), _type("string")
datetime, duration = _type("datetime"), _type("duration")
text = _type("text", restrictions={})
binary = _type("binary", restrictions={})
url = _type("url", restrictions={})
path = _type("path", spec={"direction": "in-out", "kind": "any"})


def quantity(unit: str) -> Type:
    """A decimal number of such units."""
    return _type("quantity", spec={"baseUnit": unit})


def list_of(element: Type) -> Type:
    """A list of any length."""
    return _type("list", element=element)


def fixed_list_of(element: Type, length: int) -> Type:
    """A list of one length."""
    return _type("fixed-list", element=element, length=length)


def map_of(key: Type, value: Type) -> Type:
    """Pairs of a key (a bool, number, char or string) and a value."""
    return _type("map", key=key, value=value)


def tuple_of(*elements: Type) -> Type:
    """A tuple."""
    return _type("tuple", elements=list(elements))


def option(inner: Type) -> Type:
    """Such a value, or none."""
    return _type("option", inner=inner)


def result(ok: Type | None = None, err: Type | None = None) -> Type:
    """One of two values, each of which may be nothing."""
    arms = {"ok": ok, "err": err}
    return _type("result", spec={arm: of for arm, of in arms.items() if of is not None})


def record(fields: Mapping[str, Type] | None = None, **more: Type) -> Type:
    """A record of these fields. Those whose names are no names in Python come in a mapping."""
    every = {**(fields or {}), **more}
    return _type("record", fields=[{"name": name, "body": body} for name, body in every.items()])


def variant(cases: Mapping[str, Type] | Mapping[str, Type | None]) -> Type:
    """One of these cases, some with a payload."""
    case = {name: {"name": name} | ({} if payload is None else {"payload": payload}) for name, payload in cases.items()}
    return _type("variant", cases=list(case.values()))


def enumeration(*cases: str) -> Type:
    """One of these names."""
    return _type("enum", cases=list(cases))


def flags(*names: str) -> Type:
    """A set of these names."""
    return _type("flags", flags=list(names))


def union(**branches: tuple[Type, Discriminator]) -> Type:
    """One of these types, told apart by what holds for a value of each."""
    every = [{"tag": tag, "body": body, "discriminator": rule} for tag, (body, rule) in branches.items()]
    return _type("union", spec={"branches": every})


def prefix(text: str) -> Discriminator:
    """The text begins so."""
    return {"rule": "prefix", "value": {"prefix": text}}


def stream(item: Type) -> Type:
    """A stream of such items: an input in parameters, an output in a result."""
    return _type("stream", inner=item)


def named(name: str) -> Type:
    """The type that a `graph` gives this name."""
    return _type("ref", id=name)


def graph(root: Type, types: Mapping[str, Type] | None = None) -> Graph:
    """A type, and those that it names."""
    defs = [{"id": name, "body": body} for name, body in (types or {}).items()]
    return {"root": root} | ({"defs": defs} if defs else {})


def resolve(of: Type, whole: Graph) -> Type:
    """What values of `of` look like, names followed."""
    bodies = {found["id"]: found["body"] for found in whole.get("defs", ())}
    while of["kind"] == "ref":
        of = bodies[of["value"]["id"]]
    return of
