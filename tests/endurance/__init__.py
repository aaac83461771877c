"""The parts of tests/long: what `tests/run` has no time for, in pieces of two hours at most."""


class Failure(Exception):
    """Something that a piece has found. Its text goes into the table."""


class Skipped(Exception):
    """A piece cannot run here. Its text says why."""
