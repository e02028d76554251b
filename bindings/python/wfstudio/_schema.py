"""Owns what a tool's annotations say: the JSON Schema of its arguments, and arguments as the function wants them."""

import dataclasses
import enum
import inspect
import types
import typing

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", dict: "object", list: "array"}
UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))


def of_function(function):
    """The schema of the arguments, which come by name."""
    hints, properties, required, others = _hints(function), {}, [], False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            others = True
        elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            properties[name] = of(hints.get(name, typing.Any))
            if parameter.default is parameter.empty:
                required.append(name)
            elif parameter.default is None or isinstance(parameter.default, (str, int, float, bool)):
                properties[name] = {**properties[name], "default": parameter.default}
    schema = {"type": "object", "properties": properties, "required": required}
    return schema if others else {**schema, "additionalProperties": False}


def given(function, arguments):
    """Arguments with the types of the annotations: enumerations, data classes, models."""
    hints = _hints(function)
    return {name: _as(hints.get(name), value) for name, value in arguments.items()}


def _hints(function):
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return {}


def of(hint):
    """The schema of one annotation; anything, where it says nothing that a schema knows."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        told = [one for one in parts[1:] if isinstance(one, str)]
        return {**of(parts[0]), **({"description": told[0]} if told else {})}
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    if origin in UNIONS:
        return {"anyOf": [of(part) for part in parts]}
    if origin is typing.Literal:
        return {"enum": list(parts)}
    if origin in (list, set, tuple, frozenset) or getattr(origin, "__name__", "") in ("Sequence", "Iterable"):
        return {"type": "array", "items": of(parts[0])} if parts else {"type": "array"}
    if origin is dict or getattr(origin, "__name__", "") == "Mapping":
        return {"type": "object", "additionalProperties": of(parts[1])} if len(parts) == 2 else {"type": "object"}
    return _of_class(hint)


def _of_class(hint):
    if not isinstance(hint, type):
        return {}
    if hasattr(hint, "model_json_schema"):
        return hint.model_json_schema()
    if issubclass(hint, enum.Enum):
        return {"enum": [one.value for one in hint]}
    if dataclasses.is_dataclass(hint):
        return _of_fields(hint, [one.name for one in dataclasses.fields(hint) if _is_required(one)])
    if hasattr(hint, "__required_keys__"):
        return _of_fields(hint, sorted(hint.__required_keys__))
    return {}


def _is_required(field):
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _of_fields(hint, required):
    return {"type": "object", "properties": {name: of(one) for name, one in _hints(hint).items()}, "required": required}


def _as(hint, value):
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if isinstance(hint, type) and hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    if dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return hint(**{name: _as(_hints(hint).get(name), one) for name, one in value.items()})
    return value
