"""Owns the report: TAP on standard output, a closing line with the sums, the exit code."""


class Tap:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def _number(self):
        return self.passed + self.failed + self.skipped

    def ok(self, name, note=""):
        self.passed += 1
        print(f"ok {self._number()} - {name}" + (f" # {note}" if note else ""), flush=True)

    def no(self, name, why):
        self.failed += 1
        print(f"not ok {self._number()} - {name}", flush=True)
        self.tell(why)

    def skip(self, name, why):
        self.skipped += 1
        print(f"ok {self._number()} - {name} # SKIP {why}", flush=True)

    @staticmethod
    def tell(text):
        for line in str(text).splitlines():
            print(f"# {line}", flush=True)

    def close(self):
        print(f"1..{self._number()}")
        print(f"# {self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed else 0
