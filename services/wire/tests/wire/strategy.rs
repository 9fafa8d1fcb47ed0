//! Strategies for events and what they are made of: every body, every part, hostile strings, numbers at the edges.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use wire::event::Body;
use wire::protobuf::value::Kind;
use wire::protobuf::{ListValue, Struct, Timestamp, Value};
use wire::{
    ApprovalRef, ApprovalRequest, ApprovalResult, DataPart, Error, Event, ExecutionStart, FilePart, HarnessEnd,
    IdentityRef, Lifecycle, Message, ModelCall, Part, ReasoningPart, TextPart, ToolCall, ToolChoice, ToolDefinition,
    ToolResult, Usage, file_part, part, reasoning_part,
};

/// Strings with everything that is escaped or sorted differently somewhere.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        8 => prop::char::range('a', 'f'),
        2 => prop::sample::select(vec!['"', '\\', '/', '<', '>', '&', '\0', '\u{8}', '\t', '\n', '\u{c}', '\r', '\u{1f}']),
        2 => prop::sample::select(vec!['\u{7f}', '\u{80}', '\u{2028}', '\u{2029}', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}']),
        1 => any::<char>(),
    ];
    vec(character, 0..12).prop_map(|characters| characters.into_iter().collect())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..8)
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX), Just((1 << 53) + 1), any::<i64>(), 0..9_i64]
}

/// Numbers of an enum: named, unset and unnamed.
fn number() -> impl Strategy<Value = i32> {
    prop_oneof![8 => 0..5, 1 => any::<i32>()]
}

/// Finite doubles, the edges of their text forms among them.
pub(crate) fn double() -> impl Strategy<Value = f64> {
    let edges = vec![
        -0.0,
        1e21,
        9.999_999_999_999_999e20,
        1e-6,
        1e-7,
        9_007_199_254_740_991.0,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        -9_007_199_254_740_992.0,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
    ];
    prop_oneof![prop::sample::select(edges), any::<i32>().prop_map(f64::from), prop::num::f64::ANY]
        .prop_filter("JSON has finite numbers only", |number| number.is_finite())
}

pub(crate) fn structure() -> impl Strategy<Value = Struct> {
    let leaf = prop_oneof![
        Just(Kind::NullValue(0)),
        any::<bool>().prop_map(Kind::BoolValue),
        double().prop_map(Kind::NumberValue),
        text().prop_map(Kind::StringValue),
    ];
    let value = |kind| Value { kind: Some(kind) };
    let kind = leaf.prop_recursive(4, 24, 4, move |inner| {
        let inner = inner.prop_map(value);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|values| Kind::ListValue(ListValue { values })),
            btree_map(text(), inner, 0..4).prop_map(|fields| Kind::StructValue(Struct { fields })),
        ]
    });
    btree_map(text(), kind.prop_map(value), 0..4).prop_map(|fields| Struct { fields })
}

fn file() -> impl Strategy<Value = FilePart> {
    let source = prop_oneof![bytes().prop_map(file_part::Source::Bytes), text().prop_map(file_part::Source::Uri)];
    (text(), option::of(source), text(), text()).prop_map(|(mime, source, name, digest)| FilePart {
        mime,
        source,
        name,
        digest,
    })
}

fn reasoning(summary: impl Strategy<Value = Vec<Part>>) -> impl Strategy<Value = ReasoningPart> {
    let opaque = prop_oneof![
        bytes().prop_map(reasoning_part::Opaque::OpaqueBytes),
        text().prop_map(reasoning_part::Opaque::OpaqueUri)
    ];
    (text(), text(), option::of(opaque), summary, text(), any::<i32>(), text(), text()).prop_map(
        |(provider, model_id, opaque, summary, item_id, ordinal, validity_scope, opaque_digest)| ReasoningPart {
            provider,
            model_id,
            opaque,
            summary,
            item_id,
            ordinal,
            validity_scope,
            opaque_digest,
        },
    )
}

fn tool_call() -> impl Strategy<Value = ToolCall> {
    (text(), text(), option::of(structure()), number(), text()).prop_map(
        |(id, tool, args, mediation, idempotency_key)| ToolCall { id, tool, args, mediation, idempotency_key },
    )
}

fn tool_result(content: impl Strategy<Value = Vec<Part>>) -> impl Strategy<Value = ToolResult> {
    let texts = (text(), text(), text(), text());
    (texts, option::of(structure()), any::<bool>(), content, number(), integer(), integer()).prop_map(
        |((id, output_uri, error, output_digest), output, is_error, content, code, request, decision)| ToolResult {
            id,
            output,
            output_uri,
            is_error,
            error,
            output_digest,
            content,
            code,
            approval_request_seq: request,
            approval_decision_seq: decision,
        },
    )
}

pub(crate) fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        Just(Part::default()),
        text().prop_map(|text| part::Part::Text(TextPart { text }).into()),
        file().prop_map(|file| part::Part::File(file).into()),
        option::of(structure()).prop_map(|data| part::Part::Data(DataPart { data }).into()),
        tool_call().prop_map(|call| part::Part::ToolCall(call).into()),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            reasoning(vec(inner.clone(), 0..3)).prop_map(|reasoning| part::Part::Reasoning(reasoning).into()),
            tool_result(vec(inner, 0..3)).prop_map(|result| part::Part::ToolResult(result).into()),
        ]
    })
}

fn message() -> impl Strategy<Value = Message> {
    (text(), vec(part(), 0..4)).prop_map(|(role, parts)| Message { role, parts })
}

pub(crate) fn model_call() -> impl Strategy<Value = ModelCall> {
    let tool = (text(), text(), option::of(structure())).prop_map(|(name, description, input_schema)| ToolDefinition {
        name,
        description,
        input_schema,
    });
    let choice = (0..4, text()).prop_map(|(mode, name)| ToolChoice { mode, name });
    (text(), btree_map(text(), text(), 0..4), text(), text(), vec(message(), 0..3), vec(tool, 0..2), option::of(choice))
        .prop_map(|(model, params, input_hash, id, messages, tools, tool_choice)| ModelCall {
            model,
            params,
            input_hash,
            id,
            messages,
            tools,
            tool_choice,
        })
}

fn usage() -> impl Strategy<Value = Usage> {
    (text(), integer(), integer(), integer()).prop_map(|(model, input_tokens, output_tokens, reasoning_tokens)| Usage {
        model,
        input_tokens,
        output_tokens,
        reasoning_tokens,
    })
}

fn lifecycle() -> impl Strategy<Value = Lifecycle> {
    (number(), text(), text(), text(), any::<bool>(), any::<bool>()).prop_map(
        |(kind, detail, snapshot_local, snapshot_external_uri, snapshot_memory, snapshot_sealed)| Lifecycle {
            kind,
            detail,
            snapshot_local,
            snapshot_external_uri,
            snapshot_memory,
            snapshot_sealed,
        },
    )
}

fn execution_start() -> impl Strategy<Value = ExecutionStart> {
    (bytes(), integer(), option::of(integer()), text(), text()).prop_map(
        |(config, resume_from_seq, input_count, harness, harness_version)| ExecutionStart {
            config,
            resume_from_seq,
            input_count,
            harness,
            harness_version,
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let error = || (any::<i32>(), text()).prop_map(|(code, description)| Error { code, description });
    let end = (text(), option::of(error())).prop_map(|(state, error)| HarnessEnd { state, error });
    let approval = (text(), text()).prop_map(|(tool_call_id, reason)| ApprovalRequest { tool_call_id, reason });
    let decision =
        (text(), any::<bool>(), text(), integer()).prop_map(|(tool_call_id, approved, reason, request_seq)| {
            ApprovalResult { tool_call_id, approved, reason, request_seq }
        });
    let parked = (text(), text(), integer()).prop_map(|(execution_id, tool_call_id, request_seq)| ApprovalRef {
        execution_id,
        tool_call_id,
        request_seq,
    });
    prop_oneof![
        4 => message().prop_map(Body::Message),
        2 => model_call().prop_map(Body::Model),
        2 => tool_call().prop_map(Body::Tool),
        2 => tool_result(vec(part(), 0..3)).prop_map(Body::Result),
        1 => approval.prop_map(Body::Approval),
        1 => decision.prop_map(Body::ApprovalResult),
        1 => usage().prop_map(Body::Usage),
        1 => lifecycle().prop_map(Body::Lifecycle),
        1 => end.prop_map(Body::End),
        1 => error().prop_map(Body::Error),
        1 => execution_start().prop_map(Body::ExecutionStart),
        1 => parked.prop_map(Body::Parked),
    ]
}

/// Any event that has a canonical form.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    let ts = (-62_135_596_800_i64..=253_402_300_799, 0..1_000_000_000)
        .prop_map(|(seconds, nanos)| Timestamp { seconds, nanos });
    let actor =
        (text(), text(), text()).prop_map(|(principal, issuer, subject)| IdentityRef { principal, issuer, subject });
    (text(), option::of(ts), any::<i32>(), number(), option::of(body()), option::of(actor)).prop_map(
        |(execution_id, ts, schema_version, kind, body, actor)| Event {
            execution_id,
            ts,
            schema_version,
            kind,
            actor,
            body,
        },
    )
}
