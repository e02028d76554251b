"""Owns the names of the library's own objects: engines and streams that speak JSON text and bytes."""

from ._door import EventStream, HostCalls, HttpResponse, StudioEngine, abi_version, library_version, shutdown_all
from ._errors import StudioError

__all__ = ["EventStream", "HostCalls", "HttpResponse", "StudioEngine", "StudioError", "abi_version", "library_version", "shutdown_all"]
