"""The parts of tests/bench/compare, each of which knows one thing about measuring an NBD server."""


class Failure(Exception):
    """Something that ends the comparison; its text is what the user is told."""
