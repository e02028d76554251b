"""Owns what a tool's annotations say: the JSON Schema of its arguments, and arguments as the function wants them."""

import dataclasses
import enum
import inspect
import math
import types
import typing

ARRAYS = (list, set, tuple, frozenset)
SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", dict: "object", **dict.fromkeys(ARRAYS, "array")}
UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))


def of_function(function):
    """The schema of the arguments, which come by name."""
    hints, properties, required, others, definitions = _hints(function), {}, [], False, {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            others = True
        elif parameter.kind not in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            properties[name] = of(hints.get(name, typing.Any), definitions)
            if parameter.default is parameter.empty:
                required.append(name)
            elif _is_sayable(parameter.default):
                properties[name] = {**properties[name], "default": parameter.default}
    schema = {"type": "object", "properties": properties, "required": required, **({"$defs": definitions} if definitions else {})}
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


def _is_sayable(default):
    """JSON has it; an infinite number has no text there."""
    return default is None or isinstance(default, (str, int)) or (isinstance(default, float) and math.isfinite(default))


def of(hint, definitions, within=()):
    """The schema of one annotation; anything, where it says nothing that a schema knows. ``definitions`` are those of the whole schema, ``within``
    the classes that it is a part of."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)

    def each(part):
        return of(part, definitions, within)

    if origin is typing.Annotated:
        told = [one for one in parts[1:] if isinstance(one, str)]
        return {**each(parts[0]), **({"description": told[0]} if told else {})}
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    if origin in UNIONS:
        return {"anyOf": [each(part) for part in parts]}
    if origin is typing.Literal:
        return {"enum": [_plain(one) for one in parts]}
    if hint is typing.Tuple:
        return {"type": "array"}  # one that says nothing of its items, not an empty one
    if origin is tuple and parts[1:] != (...,):
        kinds = [each(part) for part in parts if part != ()]
        one = [kind for n, kind in enumerate(kinds) if kind not in kinds[:n]]
        items = {"items": one[0] if len(one) == 1 else {"anyOf": one}} if one else {}
        return {"type": "array", **items, "minItems": len(kinds), "maxItems": len(kinds)}
    if _is_array(origin):
        return {"type": "array", "items": each(parts[0])} if parts else {"type": "array"}
    if _is_map(origin):
        return {"type": "object", "additionalProperties": each(parts[1])} if len(parts) == 2 else {"type": "object"}
    return _of_class(hint, definitions, within)


def _is_array(origin):
    return origin in ARRAYS or getattr(origin, "__name__", "") in ("Sequence", "Iterable")


def _is_map(origin):
    return origin is dict or getattr(origin, "__name__", "") == "Mapping"


def _plain(one):
    return one.value if isinstance(one, enum.Enum) else one


def _of_class(hint, definitions, within):
    if not isinstance(hint, type):
        return {}
    if hasattr(hint, "model_json_schema"):
        return _of_model(hint, definitions)
    if issubclass(hint, enum.Enum):
        return {"enum": [one.value for one in hint]}
    if hint in within:
        return {"type": "object"}  # a part of itself
    if dataclasses.is_dataclass(hint):
        required = [one.name for one in dataclasses.fields(hint) if _is_required(one)]
    elif hasattr(hint, "__required_keys__"):
        required = sorted(hint.__required_keys__)
    else:
        return {}
    return {"type": "object", "properties": {name: of(one, definitions, (*within, hint)) for name, one in _hints(hint).items()}, "required": required}


def _of_model(hint, definitions):
    """A model's own schema; what it refers to is looked for at the root of the whole."""
    schema = hint.model_json_schema()
    found = schema.pop("$defs", {})
    if any(definitions.get(name, one) != one for name, one in found.items()):
        mine = f"{hint.__name__}{len(definitions)}_"  # another model has a part of that name
        schema = hint.model_json_schema(ref_template=f"#/$defs/{mine}{{model}}")
        found = {mine + name: one for name, one in schema.pop("$defs").items()}
    definitions.update(found)
    return schema


def _is_required(field):
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _as(hint, value):
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _as(parts[0], value)
    if origin in UNIONS:
        return _one_of([part for part in parts if part is not type(None)], value)
    if origin is typing.Literal:
        return next((one for one in parts if isinstance(one, enum.Enum) and one.value == value), value)
    if isinstance(value, list) and (hint in ARRAYS or _is_array(origin)):
        return _array(hint if hint in ARRAYS else origin, parts, value)
    if isinstance(value, dict):
        return _object(hint, origin, parts, value)
    if isinstance(hint, type) and hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    return hint(value) if isinstance(hint, type) and issubclass(hint, enum.Enum) else value


def _one_of(parts, value):
    """As the first kind that it fits."""
    if value is None or type(value) in parts:
        return value
    if len(parts) == 1:
        return _as(parts[0], value)
    for part in parts:
        try:
            made = _as(part, value)
        except Exception:
            continue
        if made is not value:
            return made
    return value


def _array(kind, parts, value):
    each = parts if kind is tuple and parts[1:] != (...,) else [parts[0]] * len(value) if parts else []
    made = [_as(part, one) for part, one in zip(each, value)] if len(each) == len(value) else value
    return kind(made) if kind in ARRAYS else made


def _object(hint, origin, parts, value):
    if _is_map(origin):
        return {name: _as(parts[1], one) for name, one in value.items()} if len(parts) == 2 else value
    if isinstance(hint, type) and hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    if dataclasses.is_dataclass(hint) or hasattr(hint, "__required_keys__"):
        hints = _hints(hint)
        made = {name: _as(hints.get(name), one) for name, one in value.items()}
        return hint(**made) if dataclasses.is_dataclass(hint) else made
    return value
