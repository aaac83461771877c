"""Servers and clients of the truth: runs of truth_table, truth_client, blkscope and nbdkit."""
import collections
import contextlib
import json
import os
import subprocess
import tempfile
import time

START_SECONDS = 10
STOP_SECONDS = 10
TICKS_PER_SECOND = os.sysconf('SC_CLK_TCK')
HISTOGRAM = '/disk/nbd/nbd0/0/model_lateness'


class Failure(Exception):
    """A run that cannot be made here."""


def output_of(build, program, *arguments, environment=None):
    """The output of a program of the build."""
    command = [os.path.join(build, 'bin', program), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f'{program}: {done.stderr.strip()}')
    return done.stdout


class Server:
    """An NBD server on a Unix socket, in a folder of its own."""

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.socket = os.path.join(folder, 'nbd.sock')
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=folder, KSTAT_DIR=os.path.join(folder, 'kstat'))
        self.process = None

    def start(self, command):
        with open(os.path.join(self.folder, 'log'), 'wb') as log:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)
        deadline = time.monotonic() + START_SECONDS
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failure(f'{command[0]} did not start: {self.log()}')
            time.sleep(0.02)
        time.sleep(0.2)

    def log(self):
        with open(os.path.join(self.folder, 'log'), encoding='utf-8', errors='replace') as log:
            return log.read()

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def run(self, program, *arguments):
        """The output of a program of the build that looks at this server."""
        return output_of(self.build, program, *arguments, environment=self.environment)

    def cpu_seconds(self):
        """User and system time of the server so far."""
        with open(f'/proc/{self.process.pid}/stat', encoding='utf-8') as stat:
            fields = stat.read().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def lateness_us(self):
        """[(upper bound of a bucket in microseconds, its requests)] of the model's lateness."""
        (histogram,) = json.loads(self.run('kstat2', '-j', HISTOGRAM))
        counts, = (value for value in histogram['data'].values() if isinstance(value, list))
        # LOG10_LIN from 10^3 ns, with steps of a twentieth of the decade's end.
        lower = [1000]
        while len(lower) < len(counts):
            decade = 10 ** (len(str(lower[-1])) - 1)
            lower.append(lower[-1] + decade // 2)
        return [(bound / 1000, count) for bound, count in zip(lower, counts)]


@contextlib.contextmanager
def serving(build, command):
    """`command(socket)` is run until the block ends."""
    with tempfile.TemporaryDirectory(prefix='truth.') as folder:
        server = Server(build, folder)
        try:
            server.start(command(server.socket))
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def serving_model(build, *options):
    """Ours, over memory."""
    binary = os.path.join(build, 'bin', 'blkscope')
    with serving(build, lambda socket: [binary, 'serve', '--unix', socket, 'memory:64M', *options]) as server:
        yield server


def fields_of(output):
    """{first field: the other fields} of the lines of truth_client; several lines of one name are a list."""
    fields = collections.defaultdict(list)
    for line in output.splitlines():
        name, *rest = line.split('\t')
        fields[name].append(rest)
    return fields


def quantile(buckets, share):
    """The upper bound of the bucket that holds this share of all."""
    wanted = share * sum(count for _, count in buckets)
    for bound, count in buckets:
        wanted -= count
        if wanted <= 0:
            return bound
    raise Failure('the histogram is empty')
