"""Pieces that are a test or a benchmark of their own, more often or for longer than in `tests/run`."""
import os
import re

from endurance import Failure, Skipped
from endurance.children import Limit, run
from endurance.piece import TOP, Outcome, Piece, need

SKIP_STATUS = 77
UNKNOWN = 'failed after an unknown number'
PASSED = re.compile(r'^\[  PASSED  \] (\d+) test', re.MULTILINE)


def run_or_skip(bench, name, words, **environment):
    """Runs a command for at most the piece's time. Returns what it printed, and whether it succeeded."""
    limit = max(60.0, bench.seconds * 1.5)
    status, said = run(words, bench.log(name), limit, {**os.environ, **environment})
    if status == SKIP_STATUS:
        raise Skipped((said.strip().splitlines() or ['no reason was said'])[-1])
    return said, status == 0


def finding(bench, name, said, good, done=1):
    """The line of a run that failed: the last one that says so. A run that did nothing has failed, too."""
    if good and done == 0:
        return [f'{name} succeeded, but did nothing: see {bench.log(name)}']
    if good:
        return []
    bad = [line for line in said.splitlines() if re.search(r'FAILED|Failure|not true|SEED|error', line)]
    return [f'{(bad or said.splitlines() or ["nothing was said"])[-1].strip()[:200]}: see {bench.log(name)}']


def google_test(bench, name, tests, *options, **environment):
    """Runs some tests of the integration tests. None of them may be skipped."""
    words = [bench.program('integration_test'), f'--gtest_filter={tests}', *options]
    said, good = run_or_skip(bench, name, words, **environment)
    if good and '[  SKIPPED ]' in said:  # a failure is told first
        raise Skipped(f'{tests}: see {bench.log(name)}')
    if good and not any(int(count) > 0 for count in PASSED.findall(said)):
        raise Failure(f'there is no test {tests}')
    return said, good


def kill_servers(bench):
    kills = bench.count(1000, least=2)
    said, good = google_test(bench, 'kills', 'Killed.*', BLKSCOPE_ROUNDS=str(kills))
    return Outcome({'kills': kills if good else UNKNOWN}, finding(bench, 'kills', said, good))


# Tests that kill the other server under load, and how often one run of each does. 0: as BLKSCOPE_ROUNDS says.
UPSTREAM_KILLS = {'Upstream.KilledUnderLoadItLosesNothing': 6,
                  'Upstream.FioVerifiesWhatItWroteWhileTheServerIsKilled': 3, 'UpstreamKilled.*': 0}


def lose_upstreams(bench):
    wanted, losses, found = bench.count(50, least=5), {}, []  # a few kills may all lose nothing
    for test, kills in UPSTREAM_KILLS.items():
        repeat = -(-wanted // kills) if kills else 1
        try:
            said, good = google_test(bench, 'upstream-losses', test, f'--gtest_repeat={repeat}',
                                     BLKSCOPE_ROUNDS=str(wanted))
        except Skipped:
            if found:  # told, though another test cannot run
                continue
            raise
        good = good and '[  FAILED  ]' not in said
        losses[test] = f'{repeat * kills or wanted} losses' if good else UNKNOWN
        found += finding(bench, 'upstream-losses', said, good)
    return Outcome(losses, found)


def fail_power(bench):
    need('qemu-system-x86_64')
    crashes = bench.count(50, least=2)
    limit = Limit(bench.seconds)
    figures, found = {}, []
    for scenario in ('crash-ext4', 'crash-sqlite'):
        words = [TOP / 'tests/vm/run', bench.build / 'bin', scenario]
        try:
            said, good = run_or_skip(bench, scenario, words, BLKSCOPE_VM_CRASHES=str(crashes),
                                     BLKSCOPE_VM_DIR=str(bench.folder / 'vm'),
                                     BLKSCOPE_VM_SECONDS=str(max(60, round(limit.left()))))
        except Skipped:
            if found:
                continue
            raise
        figures[scenario] = f'{crashes} power failures' if good else UNKNOWN
        found += finding(bench, scenario, said, good)
    return Outcome(figures, found)


def use_ceph(bench):
    said, good = run_or_skip(bench, 'ceph', [TOP / 'tests/scripts/ceph', '--long', bench.build / 'bin'])
    checks = sum(1 for line in said.splitlines() if line.strip())
    return Outcome({'lines of checks': checks}, finding(bench, 'ceph', said, good, checks))


def watch_page(bench):
    need('node')
    seconds = bench.count(600, least=5)
    said, good = run_or_skip(bench, 'page', [TOP / 'tests/scripts/page', bench.build / 'bin'],
                             BLKSCOPE_PAGE_SECONDS=str(seconds))
    heap = re.search(r'memory of the tab is flat.*', said)
    checks = said.count('ok      ')
    figures = {'seconds under load': seconds, 'checks': checks}
    if heap and ':' in heap[0]:
        figures['memory'] = heap[0].partition(': ')[2]
    return Outcome(figures, finding(bench, 'page', said, good, checks))


def measure_grid(transport):
    def measure(bench):
        csv = bench.folder / f'grid-{transport}.csv'
        grid = transport != 'tls'
        rounds = bench.count(3 if grid else 7, least=0)
        words = [TOP / 'tests/bench/compare', '--server', bench.program('blkscope'), '--transport', transport,
                 '--folios', 'both', '--csv', csv, *(['--grid'] if grid else []),
                 *(['--rounds', str(rounds)] if rounds else ['--quick'])]
        name = f'grid-{transport}'
        said, good = run_or_skip(bench, name, words)
        rows = len(csv.read_text().splitlines()) - 1 if csv.exists() else 0
        return Outcome({'rows': rows, 'rounds': rounds or 1, 'file': csv.name}, finding(bench, name, said, good, rows))
    return measure


PIECES = (
    Piece('kills', 'kills of the server under a verifying load', 900, kill_servers, '1,000 kills'),
    Piece('power-failures', 'power failures of ext4 and SQLite in the virtual machine', 3600, fail_power,
          '50 power failures of each'),
    Piece('upstream-losses', 'kills of the server behind ours, under a verifying load', 900, lose_upstreams,
          '50 losses by each test'),
    Piece('ceph', 'all checks of a Ceph cluster on this machine', 900, use_ceph, 'the whole test'),
    Piece('page', 'the page of blkscope web in a browser, under load', 900, watch_page, 'ten minutes'),
    Piece('grid-unix', 'the grid of tests/bench/compare over Unix sockets', 6600, measure_grid('unix'), 'once'),
    Piece('grid-tcp', 'the same over TCP', 6600, measure_grid('tcp'), 'once'),
    Piece('grid-tls', 'the rows over TLS', 3600, measure_grid('tls'), 'once'),
)
