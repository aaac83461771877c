"""Piece: one part of the long run. Bench: where a piece finds its programs, its time and its folder.

Units:     seconds.
Ownership: a bench has no process; each piece ends those that it started.
Errors:    Failure for a finding, Skipped for a missing program.
"""
import dataclasses
import os
import pathlib
import shutil
import typing

from endurance import Skipped

TOP = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The figures of a run, by name. `found` has a line for each finding; none: all is well."""

    figures: dict
    found: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Bench:
    seconds: float                                    # the limit of the piece
    share: float                                      # of the whole piece: 1, or less with --for
    folder: pathlib.Path                              # for logs, corpora and figures, kept
    build: pathlib.Path                               # the release build
    fuzz_build: pathlib.Path
    jobs: int
    earlier: list = dataclasses.field(default_factory=list)  # the rows of this piece so far

    def program(self, name):
        """A program of the release build."""
        path = self.build / 'bin' / name
        if not os.access(path, os.X_OK):
            raise Skipped(f'{path} is not built')
        return str(path)

    def log(self, name):
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f'{name}.log'

    def count(self, whole, least=1):
        """A number that is smaller in a shorter run."""
        return max(least, round(whole * self.share))


@dataclasses.dataclass(frozen=True)
class Piece:
    name: str
    about: str
    seconds: float                                    # of the whole piece, on two processors
    run: typing.Callable[[Bench], Outcome]
    goal: str                                         # of all runs together
    # The figures of all rows in one text. None: those of the last row.
    together: typing.Optional[typing.Callable[[list], str]] = None

    def figures_text(self, rows):
        """Rows of runs that ended with an error of their own have no figures."""
        rows = [row for row in rows if row['figures']]
        if not rows:
            return 'none'
        return self.together(rows) if self.together is not None else text_of(rows[-1]['figures'])


def text_of(figures):
    """The table has no room for `more`."""
    return ', '.join(f'{name} {value}' for name, value in figures.items() if name != 'more')


def need(*programs):
    """Skips the piece unless these programs are there."""
    for program in programs:
        if shutil.which(program) is None:
            raise Skipped(f'there is no {program}: tools/install-deps')
