"""Owns `manage.py studio …`: the commands of the program `studio`, on the studio that the setting WFSTUDIO names."""

import os
import sys

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string


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
        done = import_string(where).call("command", args=list(arguments), cwd=os.getcwd())
        self.stdout.write(done["stdout"], ending="")
        self.stderr.write(done["stderr"], ending="")
        if done["exit"]:
            sys.exit(done["exit"])
