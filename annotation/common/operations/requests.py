"""Requests: dataclasses whose annotations constrain their fields; reading, checking and describing them."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, TypeVar, cast, get_args, get_type_hints

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from pydantic import ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic import Field as PydanticField
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from annotation.common.operations.errors import FieldError, Invalid
from annotation.common.operations.fields import FileUpload, Help, Named, OneOf, ServerFile
from models_core.checked_fields import FieldRule, field_rules
from phrasebox.text_files import decimal_number

R = TypeVar("R")
_M = TypeVar("_M")
#: No conversions, and no unknown fields.
_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
#: A result has all its fields, including those with defaults.
_ALL_REQUIRED = ConfigDict(json_schema_serialization_defaults_required=True)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_TRUTHS = {"true": True, "false": False}
#: The largest integer that a row can store.
_LARGEST = 2**63 - 1
#: Maximum nesting depth; requests need less than a third of it.
DEEPEST = 30
#: Maximum length of a list in a request, unless its field has `Field(max_length=...)`.
LONGEST_LIST = 1_000
#: Maximum number of errors in one response.
MOST_ERRORS = 100
_REFERENCE = "#/components/schemas/{model}"
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class RequestField:
    """A field of a request: its rule, its default, what it refers to or its choices, and its texts for
    people."""

    name: str
    rule: FieldRule
    required: bool
    default: Any
    named: Named | None
    one_of: OneOf | None
    upload: FileUpload | None
    server_file: ServerFile | None
    label: str | Promise
    help: str | Promise
    lines: int = 1
    only_commas: bool = False

    @property
    def many(self) -> bool:
        """Whether it holds a list."""
        return self.rule.sort == "array"

    def read_text(self, text: str) -> Any:
        """Return one typed value as JSON data."""
        return read_text(
            self.rule.element if self.many and self.rule.element is not None else self.rule, text
        )


def read_text(rule: FieldRule, text: str) -> Any:
    """Return a typed text as JSON data under `rule`; the text itself where it does not parse."""
    match rule.sort:
        case "integer":
            return int(text) if _WHOLE.fullmatch(text) else text
        case "number":
            number = decimal_number(text.replace(",", "."))
            return text if number is None else number
        case "boolean":
            return _TRUTHS.get(text.lower(), text)
        case "array" if rule.element is not None:  # in a list: its parts are between commas
            return [read_text(rule.element, part.strip()) for part in text.split(",")]
    return text


class SchemaWithoutTitles(GenerateJsonSchema):
    """Generates JSON schemas in which fields have no titles derived from their names: client generators would
    name classes after them."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False."""
        return False


class RequestSchema(SchemaWithoutTitles):
    """Generates the schemas of requests, in which every list has a maximum length."""

    def tuple_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a list."""
        return {"maxItems": LONGEST_LIST, **super().tuple_schema(schema)}

    def list_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a list."""
        return {"maxItems": LONGEST_LIST, **super().list_schema(schema)}


def request_fields(kind: type[Any]) -> Mapping[str, RequestField]:
    """Return the fields of a request by name, in order."""
    return _request_fields(cast(Any, kind))


@cache
def _request_fields(kind: Any) -> Mapping[str, RequestField]:
    hints, rules = get_type_hints(kind, include_extras=True), field_rules(kind)
    fields = {}
    for field in dataclasses.fields(kind):
        help_ = _marker(hints[field.name], Help)
        default, required = field.default, False
        if default is dataclasses.MISSING:
            required = field.default_factory is dataclasses.MISSING
            default = None if field.default_factory is dataclasses.MISSING else field.default_factory()
        fields[field.name] = RequestField(
            name=field.name,
            rule=rules[field.name],
            required=required,
            default=default,
            named=_marker(hints[field.name], Named),
            one_of=_marker(hints[field.name], OneOf),
            upload=_marker(hints[field.name], FileUpload),
            server_file=_marker(hints[field.name], ServerFile),
            label=help_.label if help_ is not None else field.name.replace("_", " ").capitalize(),
            help=help_.text if help_ is not None else rules[field.name].help,
            lines=help_.lines if help_ is not None else 1,
            only_commas=help_ is not None and help_.only_commas,
        )
    return fields


class BadJson(ValueError):
    """Bytes that are no JSON, or contain text, numbers or depth that cannot be stored; one line that says
    which."""


def read_json(body: bytes) -> Any:
    """Parse `body`. Raises BadJson.

    RFC 8259: UTF-8 only. Python's own parser accepts lone surrogates, NaN, numbers of any size, and nesting
    to the end of its stack.
    """
    try:
        text = body.decode()
        value = json.loads(text, parse_constant=_no_number, parse_int=_whole)
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadJson(_("A text contains half a character (a lone surrogate).")) from None
    except BadJson:
        raise
    except (ValueError, RecursionError):
        raise BadJson(_("This is not JSON.")) from None
    if _depth(text) > DEEPEST:
        raise BadJson(_("This is nested too deeply."))
    return value


def _whole(digits: str) -> int:
    if len(digits) > 20 or abs(int(digits)) > _LARGEST:
        raise BadJson(_("A number is too large: at most %(most)d is allowed.") % {"most": _LARGEST})
    return int(digits)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON's")


def _depth(text: str) -> int:
    """Return the maximum nesting depth of brackets outside of strings; 0 if there are few."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    deep = deepest = 0
    for sign in re.findall(r"[\[{}\]]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        deep += 1 if sign in "[{" else -1
        deepest = max(deepest, deep)
    return deepest


def read_request(kind: type[R], data: Mapping[str, Any]) -> R:
    """Return the request in JSON data; raises Invalid with every invalid field.

    A request whose fields depend on each other has a method `problems`, which yields FieldErrors.
    """
    if endless := [name for name, value in data.items() if not _is_json(value)]:
        raise Invalid(*(FieldError(name, "finite_number") for name in endless))
    if nulls := [name for name, value in data.items() if _has_null(value)]:
        raise Invalid(*(FieldError(name, "null_character") for name in nulls))
    # Before each entry is checked, and each error described.
    schema = _request_schema(cast(Any, kind))
    if too_long := list(islice(_too_long(schema, schema, data, ()), MOST_ERRORS)):
        raise Invalid(*too_long)
    try:
        values = _model(cast(Any, kind)).model_validate_json(json.dumps(data))
    except ValidationError as error:
        known = ", ".join(request_fields(kind))
        raise Invalid(*islice(_field_errors(error, known), MOST_ERRORS)) from None
    request: Any = kind(**{name: getattr(values, name) for name in request_fields(kind)})
    if hasattr(request, "problems") and (problems := tuple(request.problems())):
        raise Invalid(*problems)
    return cast(R, request)


def _too_long(schema: Any, whole: Any, value: Any, path: tuple[str, ...]) -> Iterator[FieldError]:
    """Yield errors for lists in `value` that are longer than a request's schema allows."""
    schema = whole["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for choice in schema.get("anyOf", ()):
        yield from _too_long(choice, whole, value, path)
    if isinstance(value, dict):
        for name in schema.get("properties", {}).keys() & value.keys():
            yield from _too_long(schema["properties"][name], whole, value[name], (*path, name))
    elif isinstance(value, list | tuple):
        most = schema.get("maxItems")
        if most is not None and len(value) > most:
            yield FieldError(".".join(path), "too_long", {"max_length": most})
        elif "items" in schema:
            for number, entry in enumerate(value):
                yield from _too_long(schema["items"], whole, entry, (*path, str(number)))


def _is_json(value: Any) -> bool:
    """Whether it can be JSON: it has no infinite numbers."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _has_null(value: Any) -> bool:
    """Whether it contains a null character, which no database stores."""
    if isinstance(value, dict):
        return any(map(_has_null, (*value, *value.values())))
    return any(map(_has_null, value)) if isinstance(value, list | tuple) else "\0" in str(value)


def request_to_dict(request: Any) -> dict[str, Any]:
    """Return a request as JSON data, without defaults; the inverse of `read_request`."""
    fields = request_fields(type(request))
    values: dict[str, Any] = to_jsonable_python({name: getattr(request, name) for name in fields})
    return {
        name: value
        for name, value in values.items()
        if fields[name].required or value != to_jsonable_python(fields[name].default)
    }


def result_to_dict(result: Any) -> dict[str, Any]:
    """Return a result as JSON data."""
    values: dict[str, Any] = _adapter(cast(Any, type(result))).dump_python(result, mode="json")
    return values


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def result_of(kind: type[R], row: Any, /, **others: Any) -> R:
    """Return a result with the fields that `row` has under the same names, and with `others`."""
    same = (field.name for field in dataclasses.fields(cast(Any, kind)) if field.name not in others)
    return kind(**{name: getattr(row, name) for name in same}, **others)


def read_result(kind: type[R], data: Mapping[str, Any]) -> R:
    """Return the result that `result_to_dict` wrote."""
    return _adapter(cast(Any, kind)).validate_python(data)


def json_schema(kind: type[Any], *, result: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a request, or of a result; referenced schemas are in "$defs"."""
    if result:
        row: Any = list.__class_getitem__(kind)  # a dataclass alone accepts no configuration
        adapter: TypeAdapter[Any] = TypeAdapter(row, config=_ALL_REQUIRED)
        rows = adapter.json_schema(
            ref_template=_REFERENCE, mode="serialization", schema_generator=SchemaWithoutTitles
        )
        parts = rows.get("$defs", {})
        schema = parts.pop(kind.__name__) if "$ref" in rows["items"] else rows["items"]
        return {**schema, "$defs": parts} if parts else schema
    return deepcopy(_request_schema(cast(Any, kind)))


@cache
def _request_schema(kind: Any) -> Any:
    return _model(kind).model_json_schema(ref_template=_REFERENCE, schema_generator=RequestSchema)


@cache
def _model(kind: Any) -> Any:
    """Return the pydantic model of a request: a dataclass cannot reject unknown fields."""
    hints = get_type_hints(kind, include_extras=True)
    fields = {
        name: (hints[name], ... if field.required else PydanticField(default=field.default))
        for name, field in request_fields(kind).items()
    }
    return create_model(kind.__name__, __config__=_STRICT, __doc__=kind.__doc__, **fields)  # type: ignore[call-overload]


def _marker(annotation: Any, kind: type[_M]) -> _M | None:
    """Return the marker of some kind in an annotation or its parts."""
    for part in (*getattr(annotation, "__metadata__", ()), *get_args(annotation)):
        if isinstance(part, kind):
            return part
        if (inner := _marker(part, kind)) is not None:
            return inner
    return None


def _field_errors(error: ValidationError, known: str) -> Iterator[FieldError]:
    for error_details in error.errors(include_url=False, include_input=False):
        location = ".".join(map(str, error_details["loc"]))
        params = {"message": error_details["msg"], **error_details.get("ctx", {})}
        if error_details["type"] == "extra_forbidden":
            params["known"] = known
        yield FieldError(location, error_details["type"], params)
