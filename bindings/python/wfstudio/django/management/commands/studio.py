"""Owns `manage.py studio …`: the commands of the program `studio`, on the studio that the setting WFSTUDIO names."""

import contextlib
import os
import signal
import sys
import threading

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string


@contextlib.contextmanager
def ended_by_signal():
    """A worker that is told to end (SIGTERM) ends well: the end of the interpreter closes the engine. A second signal ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Whoever calls has signals of its own.
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


class Command(BaseCommand):
    """`manage.py studio doctor`, `manage.py studio work`, `manage.py studio --help`."""

    help = "Commands of Workflow Studio; `manage.py studio --help` lists them."

    def run_from_argv(self, argv):
        """Everything behind the name is the studio's."""
        self.handle(arguments=argv[2:])

    def add_arguments(self, parser):
        parser.add_argument("arguments", nargs="*")

    def handle(self, *_, arguments=(), **options):
        where = getattr(settings, "WFSTUDIO", None)
        if not where:
            raise CommandError("the setting WFSTUDIO says where the studio is: WFSTUDIO = \"shop.studio.studio\"")
        with ended_by_signal() if arguments[:1] == ["work"] else contextlib.nullcontext():
            done = import_string(where).call("command", args=list(arguments), cwd=os.getcwd())
        self.stdout.write(done["stdout"], ending="")
        self.stderr.write(done["stderr"], ending="")
        if done["exit"]:
            sys.exit(done["exit"])
