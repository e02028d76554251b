"""Owns how a function of the library is called: text and bytes go in with their length, what it fills in comes back and is freed, errors are
raised, with their problem document where the function gives one."""

import ctypes as c

from . import _library
from ._errors import Failed
from ._generated import Buffer

lib = _library.load()


def sized(text):
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    return data, len(data)


def checked(code, data=b""):
    if code < 0:
        raise Failed(code, data.decode("utf-8", "replace"))
    return code


def filled(function, *arguments):
    """Calls a function whose last parameter is a buffer, which is given back; its code and bytes."""
    buffer = Buffer()
    code = function(*arguments, c.byref(buffer))
    try:
        data = c.string_at(buffer.data, buffer.len) if buffer.data else b""
    finally:
        lib.studio_buf_free(c.byref(buffer))
    return checked(code, data), data
