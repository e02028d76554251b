"""Owns the library: where it is looked for, whether it fits this package, its functions.

Looked for: the file that WFSTUDIO_LIBRARY names, and nothing else when it is set; the one that came with the package; the system's.
"""

import ctypes
import os
import sys
import warnings

from . import _generated as g

HERE = os.path.dirname(os.path.realpath(__file__))
VARIABLE = "WFSTUDIO_LIBRARY"
FILES = {"darwin": ("libwfstudio.dylib", "libwfstudio.1.dylib"), "win32": ("wfstudio.dll", "wfstudio.dll")}
FILE, SYSTEM = FILES.get(sys.platform, ("libwfstudio.so", "libwfstudio.so.1"))


class UnsupportedPlatform(ImportError):
    """No library could be loaded; the text names each place and what is wrong with it."""


class _Unfit(OSError):
    """A library was loaded that is not for this package."""


def triple():
    """What a library must be made for: system, processor, C library."""
    import platform

    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    processor = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return f"{system}-{processor}" + (f"-{_libc()}" if sys.platform == "linux" else "")


def _libc():
    """The C library says its name itself; musl knows no such question."""
    try:
        return "gnu" if os.confstr("CS_GNU_LIBC_VERSION") else "musl"
    except (ValueError, OSError):
        return "musl"


def places():
    """Where it is looked for, in this order: a name and a path."""
    named = os.environ.get(VARIABLE)
    if named:
        return [(VARIABLE, named)]
    return [("bundled", os.path.join(HERE, "uniffi", FILE)), ("system", SYSTEM)]


def load():
    """The library, checked."""
    told = []
    for place, path in places():
        try:
            return _checked(place, path)
        except OSError as failure:
            told.append(f"{place} ({path}): {failure}")
            if isinstance(failure, _Unfit):
                break  # It is in the process now; another one beside it would be a second copy.
    tried = "\n  ".join(told)
    advice = f"`pip install wfstudio` in this environment brings one where it is offered; else build it and set {VARIABLE} to its path"
    raise UnsupportedPlatform(f"no wfstudio library for {triple()}:\n  {tried}\n{advice}")


def _checked(place, path):
    if place == VARIABLE and not os.path.isabs(path):
        raise OSError("the path is not absolute")
    if place == "bundled" and not os.path.exists(path):
        raise OSError("there is none in this package")
    _alone(path)
    library = ctypes.CDLL(path)
    _fits(place, library)
    for name, result, parameters in g.FUNCTIONS:
        function = _function(library, name)
        function.restype, function.argtypes = result, parameters
    return library


def _function(library, name):
    try:
        return getattr(library, name)
    except AttributeError:
        raise _Unfit(f"it has no function `{name}`") from None


def _alone(path):
    """Two copies in one process would break each other's locks on the database."""
    try:
        mine = os.stat(path) if os.path.isabs(path) else None
        with open("/proc/self/maps") as file:
            lines = [line.rstrip("\n") for line in file if "libwfstudio.so" in line]
    except OSError:
        return
    for other in {line.split(None, 5)[5] for line in lines}:
        if mine is None or not os.path.exists(other) or not os.path.samestat(mine, os.stat(other)):
            raise UnsupportedPlatform(f"this process has loaded {other}; {path} would be a second copy: set {VARIABLE} to the first")


def _fits(place, library):
    abi, version_of = _function(library, "studio_abi_version"), _function(library, "studio_version")
    abi.restype, version_of.restype = ctypes.c_uint32, ctypes.c_char_p
    number = abi()
    major, minor = number >> 16, number & 0xFFFF
    if major != g.ABI[0] or minor < g.ABI[1]:
        raise _Unfit(f"it speaks version {major}.{minor} of the interface, this package needs {g.ABI[0]}.{g.ABI[1]}")
    version = version_of().decode()
    if version != g.VERSION:
        text = f"it is version {version}, this package is {g.VERSION}"
        if place == "bundled":
            raise _Unfit(text)
        warnings.warn(f"{place}: {text}", RuntimeWarning, stacklevel=5)
