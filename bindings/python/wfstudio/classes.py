"""Owns the contracts of definitions in code: what an export writes, and what ``Studio.register`` takes."""


class _Contract:
    @staticmethod
    def definition() -> dict:
        """The definition as JSON has it: dictionaries, lists, strings, numbers, ``True``, ``False``, ``None``."""
        raise NotImplementedError("a class with a contract has a static method `definition`")


class StudioWorkflow(_Contract):
    """A workflow with the agents that it uses."""


class StudioAgent(_Contract):
    """An agent."""


class StudioTool(_Contract):
    """A tool."""
