"""Owns what is held against a host beside the scenario."""

ALL = {}
