"""The loads: a case, and one run of it against one server."""
import argparse
import dataclasses
import itertools
import json
import re
import subprocess
import time

from comparison import Failure
from comparison.processes import tree_cpu_seconds

SIDES = ('read', 'write')  # of fio's report
KIB_OF = {'': 1 / 1024, 'k': 1, 'm': 1024}


@dataclasses.dataclass(frozen=True)
class Case:
    rw: str
    block: str
    depth: int
    connections: int = 1

    @classmethod
    def parse(cls, text):
        match = re.fullmatch(r'((?:rand)?(?:read|write|rw)):(\d+[kKmM]?):(\d+)(?::(\d+))?', text)
        if not match or '0' in match.groups()[1:]:
            raise argparse.ArgumentTypeError(
                f'{text!r} is not a case; write RW:BLOCK:DEPTH[:CONNECTIONS], as in randread:4k:32:2')
        rw, block, depth, connections = match.groups()
        return cls(rw, block, int(depth), int(connections or 1))

    @classmethod
    def parse_all(cls, text):
        """The cases of a list in which a slash parts alternatives."""
        return [cls.parse(':'.join(chosen)) for pattern in text.split(',')
                for chosen in itertools.product(*(part.split('/') for part in pattern.split(':')))]

    @property
    def block_bytes(self):
        number, unit = re.fullmatch(r'(\d+)(\w?)', self.block.lower()).groups()
        return round(int(number) * KIB_OF[unit] * 1024)

    def __str__(self):
        plural = '' if self.connections == 1 else 's'
        return f'{self.rw} {self.block}, depth {self.depth}, {self.connections} connection{plural}'


@dataclasses.dataclass(frozen=True)
class Sample:
    """One run of one case against one server; per request: microseconds of latency and of server CPU.
    Latencies are None where the client does not tell them."""
    iops: float
    mean_us: float
    p99_us: float
    cpu_us: float


def with_server_cpu(server, load):
    """The result of `load`, and the CPU seconds of the server meanwhile."""
    before = tree_cpu_seconds(server.pid)
    result = load()
    return result, tree_cpu_seconds(server.pid) - before


def fio(server, workload):
    """Runs fio and returns the first job of its report."""
    options = server.bench.options
    run = subprocess.run(
        ['fio', '--name=compare', '--ioengine=nbd', f'--uri={server.uri}', '--group_reporting',
         f'--size={options.image_mib}m', '--output-format=json', '--eta=never', *workload],
        cwd=server.bench.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=60 + 2 * options.seconds)
    said = '\n'.join(dict.fromkeys((run.stderr.strip() or run.stdout.strip()).splitlines()))  # each job says it
    start = run.stdout.find('{')  # fio greets before its report
    if run.returncode != 0 or start < 0:
        raise Failure(f'fio against {server.name}, exit status {run.returncode}: {said}')
    jobs = json.JSONDecoder().raw_decode(run.stdout[start:])[0]['jobs']
    if not jobs or jobs[0]['error'] or not any(jobs[0][side]['total_ios'] for side in SIDES):
        raise Failure(f'fio against {server.name} did no I/O: {said}')
    return jobs[0]


def sample_with_fio(server, case):
    job, cpu = with_server_cpu(server, lambda: fio(server, [
        f'--rw={case.rw}', f'--bs={case.block}', f'--iodepth={case.depth}',
        f'--numjobs={case.connections}', '--time_based',
        f'--runtime={round(server.bench.options.seconds * 1000)}ms']))
    sides = [job[side] for side in SIDES if job[side]['total_ios']]
    total = sum(side['total_ios'] for side in sides)
    assert total > 0 and cpu >= 0
    return Sample(
        iops=sum(side['iops'] for side in sides),
        mean_us=sum(side['clat_ns']['mean'] * side['total_ios'] for side in sides) / total / 1e3,
        p99_us=max(side['clat_ns']['percentile']['99.000000'] for side in sides) / 1e3,
        cpu_us=cpu * 1e6 / total)


def nbdcopy(server, case):
    """Copies the whole image from or to a server. Returns the seconds that took."""
    assert case.rw in SIDES
    ends = [server.uri, 'null:'] if case.rw == 'read' else [server.bench.image.path, server.uri]
    start = time.monotonic()
    run = subprocess.run(
        ['nbdcopy', f'--request-size={case.block_bytes}', f'--requests={case.depth}',
         f'--connections={case.connections}', *ends],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    seconds = time.monotonic() - start
    if run.returncode != 0:
        raise Failure(f'nbdcopy against {server.name}, exit status {run.returncode}: {run.stderr.strip()}')
    return seconds


def sample_with_nbdcopy(server, case):
    requests = server.bench.image.bytes / case.block_bytes
    seconds, cpu = with_server_cpu(server, lambda: nbdcopy(server, case))
    assert seconds > 0 and cpu >= 0
    return Sample(iops=requests / seconds, mean_us=None, p99_us=None, cpu_us=cpu * 1e6 / requests)


def sample(server, case):
    return (sample_with_nbdcopy if server.bench.transport == 'tls' else sample_with_fio)(server, case)


def touch_all(server):
    """Writes every block once, so that no server answers from memory that was never touched."""
    if server.bench.transport == 'tls':
        nbdcopy(server, Case('write', '256k', 16))
    else:
        fio(server, ['--rw=write', '--bs=1m', '--iodepth=4'])
