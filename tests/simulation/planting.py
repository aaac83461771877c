"""A copy of the project's sources that may be changed and built, for plant and mutants.

The copy and its build stay in build/planted/, so that a change costs the compilation of the files that it touches.
Nothing outside of that folder is written.
"""
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "planted"


class DoesNotBuild(Exception):
    """The compiler's words."""


class Copy:
    """The sources of the working tree, each file as new as its content."""

    def __init__(self, jobs):
        self.sources, self.programs, self.jobs = BUILD / "sources", BUILD / "build" / "bin", jobs
        self.changed = set()
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                                capture_output=True, text=True, check=True).stdout
        wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
        for name in wanted:
            self.restore(name)
        for file in list(self.sources.rglob("*")):
            if file.is_file() and str(file.relative_to(self.sources)) not in wanted:
                file.unlink()

    def restore(self, name):
        ours, theirs = ROOT / name, self.sources / name
        if not ours.is_file():
            theirs.unlink(missing_ok=True)
            return
        if theirs.is_file() and theirs.read_bytes() == ours.read_bytes():
            return
        theirs.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ours, theirs)
        shutil.copymode(ours, theirs)

    def restore_all(self):
        while self.changed:
            self.restore(self.changed.pop())

    def write_all(self, texts):
        """Writes these files (name: text) and restores all others. One that is as wanted keeps its time."""
        for name in self.changed - set(texts):
            self.restore(name)
        self.changed = set(texts)
        for name, text in texts.items():
            file = self.sources / name
            if not file.is_file() or file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")

    def apply(self, patch):
        """Applies a patch as `git diff` prints it. False: it does not fit; the copy is as before."""
        listed = subprocess.run(["git", "apply", "--numstat", "-z", patch], capture_output=True, text=True, check=False)
        names = [line.split("\t")[2] for line in listed.stdout.split("\0") if line]
        # The copy is no repository, and git must not find the one around it.
        outside = dict(os.environ, GIT_CEILING_DIRECTORIES=str(BUILD))
        fits = names and subprocess.run(["git", "apply", patch], cwd=self.sources, env=outside, check=False).returncode == 0
        self.changed.update(names if fits else ())
        return bool(fits)

    def build(self, *targets, all_errors=False):
        """Builds with each file by itself: a change then costs one compilation, not that of 32 files."""
        folder = BUILD / "build"
        if not (folder / "build.ninja").exists():
            run(["cmake", "-G", "Ninja", "-S", self.sources, "-B", folder, "-DBLKSCOPE_UNITY=OFF",
                 "-DBLKSCOPE_PRECOMPILED=ON", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
                 "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold"])
        run(["ninja", "-C", folder, "-j", str(self.jobs), "-k", "0" if all_errors else "1", *targets])


def run(words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    if done.returncode != 0:
        raise DoesNotBuild(done.stdout)
