from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentType(_message.Message):
    __slots__ = ("name", "description", "constructor_schema", "methods")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CONSTRUCTOR_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    METHODS_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    constructor_schema: str
    methods: _containers.RepeatedCompositeFieldContainer[AgentMethod]
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., constructor_schema: _Optional[str] = ..., methods: _Optional[_Iterable[_Union[AgentMethod, _Mapping]]] = ...) -> None: ...

class AgentMethod(_message.Message):
    __slots__ = ("name", "description", "parameters_schema", "result_schema")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    RESULT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    parameters_schema: str
    result_schema: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., parameters_schema: _Optional[str] = ..., result_schema: _Optional[str] = ...) -> None: ...

class Invocation(_message.Message):
    __slots__ = ("application", "environment", "agent_type", "constructor_parameters", "phantom_id", "method", "method_parameters", "idempotency_key", "configuration")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONSTRUCTOR_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    PHANTOM_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    METHOD_PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    application: str
    environment: str
    agent_type: str
    constructor_parameters: str
    phantom_id: str
    method: str
    method_parameters: str
    idempotency_key: str
    configuration: _containers.RepeatedCompositeFieldContainer[ConfigurationEntry]
    def __init__(self, application: _Optional[str] = ..., environment: _Optional[str] = ..., agent_type: _Optional[str] = ..., constructor_parameters: _Optional[str] = ..., phantom_id: _Optional[str] = ..., method: _Optional[str] = ..., method_parameters: _Optional[str] = ..., idempotency_key: _Optional[str] = ..., configuration: _Optional[_Iterable[_Union[ConfigurationEntry, _Mapping]]] = ...) -> None: ...

class ConfigurationEntry(_message.Message):
    __slots__ = ("path", "value")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    path: _containers.RepeatedScalarFieldContainer[str]
    value: str
    def __init__(self, path: _Optional[_Iterable[str]] = ..., value: _Optional[str] = ...) -> None: ...

class MethodReturn(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: str
    def __init__(self, result: _Optional[str] = ...) -> None: ...

class StreamFrame(_message.Message):
    __slots__ = ("stream", "item", "end", "cancel", "credit")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    stream: str
    item: StreamItem
    end: StreamEnd
    cancel: StreamCancel
    credit: StreamCredit
    def __init__(self, stream: _Optional[str] = ..., item: _Optional[_Union[StreamItem, _Mapping]] = ..., end: _Optional[_Union[StreamEnd, _Mapping]] = ..., cancel: _Optional[_Union[StreamCancel, _Mapping]] = ..., credit: _Optional[_Union[StreamCredit, _Mapping]] = ...) -> None: ...

class StreamItem(_message.Message):
    __slots__ = ("sequence", "value", "octets", "binary")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    OCTETS_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    value: str
    octets: bytes
    binary: BinaryItem
    def __init__(self, sequence: _Optional[int] = ..., value: _Optional[str] = ..., octets: _Optional[bytes] = ..., binary: _Optional[_Union[BinaryItem, _Mapping]] = ...) -> None: ...

class BinaryItem(_message.Message):
    __slots__ = ("data", "mime_type")
    DATA_FIELD_NUMBER: _ClassVar[int]
    MIME_TYPE_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    mime_type: str
    def __init__(self, data: _Optional[bytes] = ..., mime_type: _Optional[str] = ...) -> None: ...

class StreamEnd(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: str
    def __init__(self, error: _Optional[str] = ...) -> None: ...

class StreamCancel(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class StreamCredit(_message.Message):
    __slots__ = ("bytes",)
    BYTES_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    def __init__(self, bytes: _Optional[int] = ...) -> None: ...
