"""Owns what Django is told of the application."""

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """Adds `manage.py studio`; the tables are the studio's own and no migrations of Django."""

    name = "wfstudio.django"
    label = "wfstudio"
    verbose_name = "Workflow Studio"
