"""Python values as values of schemas.

| schema | in Python |
|---|---|
| `bool`, numbers, `char`, `string`, `path`, `url`, `datetime` (RFC 3339) | `bool`, `int` or `float`, `str` |
| `duration` | `int`: nanoseconds |
| `text`, `binary`, `quantity` | `Text`, `Binary`, `Quantity` |
| `list`, `fixed-list`, `tuple` | `list`, `list`, `tuple` |
| `record` | `dict` by the names of the fields |
| `map` | `list` of pairs; written also from a mapping |
| `enum`, `flags` | `str`, `frozenset[str]` |
| `variant`, `union` | `Case` |
| `option` | the value or `None`; an option in an option is `Some` of it |
| `result` | `Ok`, `Err` |
| `stream` | read: `Input`; written: any asynchronous iterable |

The host checks what is written, and fails the invocation if it does not fit."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .schema import Graph, Type, resolve

_FLOATS = {"nan": math.nan, "positive-infinity": math.inf, "negative-infinity": -math.inf}


@dataclass(frozen=True)
class Text:
    """Text for people."""

    text: str
    language: str | None = None


@dataclass(frozen=True)
class Binary:
    """Bytes, and what they are."""

    data: bytes
    mime_type: str | None = None


@dataclass(frozen=True)
class Quantity:
    """`mantissa` times 10 to the power of `-scale`, of a unit."""

    mantissa: int
    scale: int
    unit: str


@dataclass(frozen=True)
class Case:
    """A case of a variant with its payload, or a branch of a union with its body."""

    name: str
    value: Any = None


@dataclass(frozen=True)
class Some:
    """An option that has a value, where that could be taken for none."""

    value: Any


@dataclass(frozen=True)
class Ok:
    """A good result."""

    value: Any = None


@dataclass(frozen=True)
class Err:
    """A bad result."""

    value: Any = None


class Reader:
    """Reads values of a graph. `open_input` makes an input out of its name and the type of its items."""

    def __init__(self, graph: Graph, open_input: Callable[[str, Type], Any]) -> None:
        self._graph = graph
        self._open_input = open_input

    def read(self, of: Type, node: Any) -> Any:
        """A node of type `of`, as the host checked it."""
        of = resolve(of, self._graph)
        kind, spec, value = of["kind"], of["value"], node["value"]
        match kind:
            case "s64" | "u64":
                return int(value)
            case "f32" | "f64":
                return _FLOATS[value["$float"]] if isinstance(value, dict) else float(value)
            case "text":
                return Text(value["text"], value.get("language"))
            case "binary":
                return Binary(bytes(value["bytes"]), value.get("mimeType"))
            case "path" | "url":
                return value[kind]
            case "datetime":
                return value["value"]
            case "duration":
                return int(value["nanoseconds"])
            case "quantity":
                return Quantity(int(value["mantissa"]), value["scale"], value["unit"])
            case "record":
                fields = zip(spec["fields"], value["fields"], strict=True)
                return {field["name"]: self.read(field["body"], part) for field, part in fields}
            case "tuple":
                return tuple(map(self.read, spec["elements"], value["elements"]))
            case "list" | "fixed-list":
                return [self.read(spec["element"], part) for part in value["elements"]]
            case "map":
                return [(self.read(spec["key"], key), self.read(spec["value"], part)) for key, part in value["entries"]]
            case "enum":
                return spec["cases"][value["case"]]
            case "flags":
                return frozenset(name for name, is_set in zip(spec["flags"], value["bits"], strict=True) if is_set)
            case "variant":
                case = spec["cases"][value["case"]]
                return Case(case["name"], self.read(case["payload"], value["payload"]) if "payload" in case else None)
            case "option":
                return self._option(spec["inner"], value["inner"])
            case "result":
                arm = spec["spec"].get(value["tag"])
                inner = None if arm is None else self.read(arm, value["value"])
                return Ok(inner) if value["tag"] == "ok" else Err(inner)
            case "union":
                branch = next(branch for branch in spec["spec"]["branches"] if branch["tag"] == value["tag"])
                return Case(value["tag"], self.read(branch["body"], value["body"]))
            case "stream":
                return self._open_input(value["streamToken"], spec["inner"])
            case _:
                return value

    def _option(self, inner: Type, node: Any) -> Any:
        if node is None:
            return None
        value = self.read(inner, node)
        return Some(value) if resolve(inner, self._graph)["kind"] == "option" else value


class Writer:
    """Writes values of a graph. `open_output` gives an output its name, for the type of its items and where they come
    from."""

    def __init__(self, graph: Graph, open_output: Callable[[Type, AsyncIterable[Any]], str]) -> None:
        self._graph = graph
        self._open_output = open_output

    def write(self, of: Type, value: Any) -> dict[str, Any]:
        """`value` as a node of type `of`."""
        of = resolve(of, self._graph)
        return {"kind": of["kind"], "value": self._payload(of["kind"], of["value"], value)}

    def _payload(self, kind: str, spec: dict[str, Any], value: Any) -> Any:
        match kind:
            case "s64" | "u64":
                return str(value)
            case "f32" | "f64":
                return _float(value)
            case "text":
                return {"text": value.text} | ({} if value.language is None else {"language": value.language})
            case "binary":
                mime_type = {} if value.mime_type is None else {"mimeType": value.mime_type}
                return {"bytes": list(value.data)} | mime_type
            case "path" | "url":
                return {kind: value}
            case "datetime":
                return {"value": value}
            case "duration":
                return {"nanoseconds": str(value)}
            case "quantity":
                return {"mantissa": str(value.mantissa), "scale": value.scale, "unit": value.unit}
            case "record":
                return {"fields": [self.write(field["body"], value[field["name"]]) for field in spec["fields"]]}
            case "tuple":
                parts = zip(spec["elements"], value, strict=True)
                return {"elements": [self.write(element, part) for element, part in parts]}
            case "list" | "fixed-list":
                return {"elements": [self.write(spec["element"], part) for part in value]}
            case "map":
                pairs = value.items() if isinstance(value, Mapping) else value
                write = self.write
                return {"entries": [[write(spec["key"], key), write(spec["value"], part)] for key, part in pairs]}
            case "enum":
                return {"case": spec["cases"].index(value)}
            case "flags":
                return {"bits": [name in value for name in spec["flags"]]}
            case "variant":
                at, case = next((at, case) for at, case in enumerate(spec["cases"]) if case["name"] == value.name)
                payload = {"payload": self.write(case["payload"], value.value)} if "payload" in case else {}
                return {"case": at} | payload
            case "option":
                value = Some(value) if value is not None and not isinstance(value, Some) else value
                return {"inner": None if value is None else self.write(spec["inner"], value.value)}
            case "result":
                tag = "ok" if isinstance(value, Ok) else "err"
                arm = spec["spec"].get(tag)
                return {"tag": tag, "value": None if arm is None else self.write(arm, value.value)}
            case "union":
                branch = next(branch for branch in spec["spec"]["branches"] if branch["tag"] == value.name)
                return {"tag": value.name, "body": self.write(branch["body"], value.value)}
            case "stream":
                return {"streamToken": self._open_output(spec["inner"], value)}
            case _:
                return value


def _float(value: float) -> Any:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return {"$float": "nan"}
    return {"$float": "positive-infinity" if value > 0 else "negative-infinity"}
