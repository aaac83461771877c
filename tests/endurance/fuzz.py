"""Every fuzzer in turn, those first that have run least. What they find new stays, and is made small.

A corpus is kept in the folder of the long run. It begins with that of tests/fuzz/corpus. After each run
libFuzzer's -merge leaves only the inputs that reach something the others do not. The source tree's corpus stays as
it is. `fuzz_NAME -merge=1 tests/fuzz/corpus/NAME FOLDER` adds to it.
"""
import hashlib
import platform
import re
import shutil
import subprocess
import time

from endurance import Failure, Skipped
from endurance.children import run, workers
from endurance.piece import TOP, Outcome, Piece

GRACE_SECONDS = 120
MERGE_SECONDS = 600
SLOW_SECONDS = 10  # of a processor, for one input
MERGE_SHARE = 0.1  # of a fuzzer's time is for its -merge
RUNS = re.compile(r'^stat::number_of_executed_units:\s*(\d+)', re.MULTILINE)


def fuzzers(bench):
    names = sorted(path.name.removeprefix('fuzz_') for path in (bench.fuzz_build / 'bin').glob('fuzz_*'))
    if not names:
        raise Skipped(f'no fuzzer is built in {bench.fuzz_build}: the preset asan')
    return names


def seconds_so_far(rows):
    """{fuzzer: seconds}"""
    total = {}
    for row in rows:
        for name, one in row['figures']['fuzzers'].items():
            total[name] = total.get(name, 0) + one['seconds']
    return total


def without_random_addresses(words):
    """The sanitizers need the address space as they expect it: see tests/run."""
    prefix = ['setarch', platform.machine(), '-R']
    allowed = shutil.which('setarch') and subprocess.run([*prefix, 'true'], check=False, capture_output=True).returncode == 0
    return [*prefix, *words] if allowed else words


def minimise(words, corpus, original, log):
    """Leaves the inputs that reach more than the others. Keeps the corpus as it is if that fails."""
    small = corpus.with_name(corpus.name + '.small')
    shutil.rmtree(small, ignore_errors=True)
    small.mkdir()
    try:
        status, _ = run([*words, '-merge=1', small, original, corpus], log, MERGE_SECONDS)
    except Failure:
        status = None
    if status == 0 and is_whole(small):
        large = corpus.with_name(corpus.name + '.large')
        shutil.rmtree(large, ignore_errors=True)
        corpus.rename(large)
        small.rename(corpus)
        shutil.rmtree(large)
    else:
        shutil.rmtree(small)


def is_whole(corpus):
    """Whether each input is what its name says. libFuzzer succeeds on a full disk too, with empty files."""
    inputs = list(corpus.iterdir())
    return bool(inputs) and all(hashlib.sha1(path.read_bytes()).hexdigest() == path.name for path in inputs)


def is_slow(words, path, log):
    """Whether an input needs long. libFuzzer measures by the clock, which goes on while others have the processor."""
    try:
        status, _ = run(['prlimit', f'--cpu={SLOW_SECONDS}', *words, path], log, MERGE_SECONDS)
    except Failure:
        return True
    return status != 0


def fuzz_one(bench, name, seconds):
    """Returns the figures of one fuzzer, and what was found."""
    original = TOP / 'tests/fuzz/corpus' / name
    assert original.is_dir(), original
    corpus, found = bench.folder / 'corpus' / name, bench.folder / 'found' / name
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    words = without_random_addresses([str(bench.fuzz_build / 'bin' / f'fuzz_{name}')])
    fuzzing = max(1, round(seconds * (1 - MERGE_SHARE)))
    log = bench.log(f'fuzz-{name}')
    began = time.monotonic()
    words_of_run = [*words, f'-max_total_time={fuzzing}', '-print_final_stats=1', f'-artifact_prefix={found}/']
    try:
        status, said = run([*words_of_run, corpus, original], log, fuzzing + GRACE_SECONDS)
        ended = f'ended with {status}: see {log}'
    except Failure as failure:  # the other fuzzers go on
        status, said, ended = None, '', str(failure)
    took = round(time.monotonic() - began)  # less, if it has found something
    units = RUNS.search(said)
    if status == 0:
        minimise(words, corpus, original, log)
    figures = {'seconds': min(took, fuzzing), 'inputs': int(units[1]) if units else 0, 'corpus': len(list(corpus.iterdir()))}
    for path in set(found.glob('slow-unit-*')) - before:
        if not is_slow(words, path, log):
            path.unlink()
    new = [str(path) for path in sorted(set(found.iterdir()) - before)]
    lines = [f'{name}: {", ".join(new)}'] if new else []
    if (status != 0 or not units) and not new:
        lines = [f'{name}: {ended}']
    return name, figures, lines


def fuzz(bench):
    names = fuzzers(bench)
    spent = seconds_so_far(bench.earlier)
    names.sort(key=lambda name: (spent.get(name, 0), name))
    each = bench.seconds * bench.jobs / len(names)
    with workers(bench.jobs) as pool:
        results = list(pool.map(lambda name: fuzz_one(bench, name, each), names))
    return Outcome({'fuzzers': {name: figures for name, figures, _ in results}},
                   [line for _, _, lines in results for line in lines])


def together(rows):
    spent = seconds_so_far(rows)
    inputs = sum(one['inputs'] for row in rows for one in row['figures']['fuzzers'].values())
    last = rows[-1]['figures']['fuzzers']
    return (f'{len(spent)} fuzzers, each for {min(spent.values()) / 60:.0f} to {max(spent.values()) / 60:.0f} minutes;'
            f" {inputs:,} inputs; {sum(one['corpus'] for one in last.values()):,} in the corpora")


PIECE = Piece('fuzz', 'every fuzzer in turn, with corpora that are kept and minimised', 6600, fuzz,
              'every fuzzer for an hour', together)
