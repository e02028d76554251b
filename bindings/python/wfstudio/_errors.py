"""Owns the errors of the library's functions."""

import json

from . import _generated as g


def log():
    """Where failures are told that nobody else hears of."""
    import logging

    return logging.getLogger("wfstudio")


class StudioError(Exception):
    """A call that has no result."""


class Failed(StudioError):
    """``code`` is one of the negative codes of ``wfstudio.h``, ``problem`` a problem document as JSON, ``detail`` what happened and what to do."""

    def __init__(self, code, problem):
        self.code, self.problem = code, problem
        try:
            self.detail = json.loads(problem).get("detail") or ""
        except (ValueError, AttributeError):
            self.detail = ""
        super().__init__(self.detail or g.ERRORS.get(code, f"code {code}"))


StudioError.Failed = Failed
