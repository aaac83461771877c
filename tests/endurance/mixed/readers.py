"""Readers of the statistics: programs, a scraper of blkscope web, and blkscope top on a terminal."""
import contextlib
import errno
import fcntl
import http.client
import os
import pty
import random
import select
import socket
import struct
import subprocess
import termios
import time

from endurance import Failure, children
from endurance.mixed.changes import run_command, run_program

UNSEEN_MAX = 10        # scrapes in a row without a device
SCRAPE_SECONDS = 1.0
SCRAPE_SECONDS_MAX = 30
TOP_SILENCE_SECONDS = 45
TOP_KEYS = (b'c', b's', b'j', b'k', b'1', b'3', b'hh', b'  ')  # help and freezing end at once
TOP_LINES, TOP_COLUMNS = 40, 120
TRACE_FORMATS = ('csv', 'csv', 'json', 'fio', 'perfetto')


def read_programs(world, beat):
    """iostat, kstat and their sisters, one after the other."""
    quiet, file = world.devices['quiet'], world.devices['file']
    programs = (('iostat', '-xn', '1', '2'), ('iostat', '-j'), ('kstat', '-p', '-m', 'nbd'), ('kstat2',),
                ('gstat', '-b'), ('blkscope', 'clients'), ('blkscope', 'list', '-v'), ('blkscope', 'slow', quiet),
                ('blkscope', 'explain', quiet, '1'), ('blkscope', 'explain', world.devices['front'], '1'),
                ('blkscope', 'stats', file), ('blkscope', 'top', '-b', '0.5', '2'),
                ('blkscope', 'check', '--for', '1s', f'errors({quiet}) == 0'))
    counts = {}
    while world.left() > 0:
        words = random.choice(programs)
        if not run_program(world, *words, counts=counts):
            raise Failure(f'{" ".join(words)} printed nothing')
        name = ' '.join(words[:2]) if words[0] == 'blkscope' else words[0]
        counts[name] = counts.get(name, 0) + 1
        beat()
        time.sleep(random.uniform(0, 1))
    return counts


def read_traces(world, beat):
    """Traces of the recorder, saved and read again."""
    counts = {'traces': 0, 'requests': 0}
    path = str(world.folder / 'mixed.trace')
    while world.left() > 0:
        device = random.choice(list(world.devices.values()))
        span = ('--for', '1s') if random.random() < 0.5 else ('--last', '2000')
        run_command(world, 'trace', device, *span, '--format', 'ours', '-o', path, counts=counts)
        form = random.choice(TRACE_FORMATS)
        said = run_command(world, 'trace', '--read', path, '--format', form)
        counts['traces'] += 1
        if form == 'csv':
            counts['requests'] += said.count('\n') - 1  # the first line has the names
        beat()
        time.sleep(random.uniform(0.5, 2))
    return counts


class WebConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('localhost', timeout=SCRAPE_SECONDS_MAX)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SCRAPE_SECONDS_MAX)
        self.sock.connect(self.path)


def get(world, target):
    connection = WebConnection(world.web_socket)
    with contextlib.closing(connection):
        connection.request('GET', target)
        answer = connection.getresponse()
        body = answer.read(1 << 16) if target == '/api/v1/stream' else answer.read()
        if answer.status != 200 or not body:
            raise Failure(f'{target}: status {answer.status}, {len(body)} bytes')
        return body


def scrape(world, beat):
    targets = ('/metrics', '/metrics', '/metrics', '/api/v1/overview', '/api/v1/devices', '/api/v1/kstat', '/')
    counts, largest, unseen = {}, 0.0, 0
    while world.left() > 0:
        target = random.choice(targets)
        begin = time.monotonic()
        body = get(world, target)
        largest = max(largest, time.monotonic() - begin)
        if target == '/metrics':
            unseen = unseen + 1 if world.devices['quiet'].encode() not in body else 0
            counts['unseen'] = counts.get('unseen', 0) + (unseen > 0)
        if unseen == UNSEEN_MAX:
            raise Failure(f'{unseen} scrapes of /metrics had no quiet device')
        counts[target] = counts.get(target, 0) + 1
        beat()
        time.sleep(max(0.0, begin + SCRAPE_SECONDS - time.monotonic()))
    return {**counts, 'longest': f'{largest:.3f} s'}


def watch_stream(world, beat):
    """Takes the events of /api/v1/stream, on a new connection now and again."""
    counts = {'connections': 0, 'bytes': 0}
    while world.left() > 0:
        connection = WebConnection(world.web_socket)
        with contextlib.closing(connection):
            connection.request('GET', '/api/v1/stream')
            answer = connection.getresponse()
            counts['connections'] += 1
            end = min(world.end, time.monotonic() + random.uniform(1, 60))
            while time.monotonic() < end:
                data = answer.read1(1 << 16)
                if not data:
                    raise Failure('the stream of events has ended')
                counts['bytes'] += len(data)
                beat()
    return counts


class Top:
    """blkscope top on a terminal of its own."""

    def __init__(self, world):
        self.terminal, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack('HHHH', TOP_LINES, TOP_COLUMNS, 0, 0))
        environment = {**world.environment, 'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8'}

        def take_terminal():
            children.end_with_parent()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([world.program('blkscope'), 'top', '1'], stdin=other, stdout=other,
                                        stderr=other, env=environment, start_new_session=True,
                                        preexec_fn=take_terminal)
        os.close(other)

    def drain(self, seconds):
        """Takes what top writes. Returns its bytes."""
        if not select.select([self.terminal], [], [], seconds)[0]:
            return 0
        try:
            return len(os.read(self.terminal, 1 << 16))
        except OSError as error:
            if error.errno == errno.EIO:  # top has closed the terminal
                return 0
            raise

    def press(self, key):
        os.write(self.terminal, key)

    def end(self):
        """Presses q. Returns the exit status; None if top did not end."""
        self.press(b'q')
        limit = children.Limit(20)
        while not children.has_ended(self.process) and limit.left() > 0:
            self.drain(0.1)
        in_time = children.has_ended(self.process)
        status = children.reap(self.process)
        return status if in_time else None


def watch_top(top):
    """The actor that looks at a top, which the piece has started."""
    def watch(world, beat):
        counts = {'bytes': 0, 'keys': 0}
        written = time.monotonic()
        while world.left() > 0:
            taken = top.drain(1)
            counts['bytes'] += taken
            if taken:
                written = time.monotonic()
            elif time.monotonic() - written > TOP_SILENCE_SECONDS:
                raise Failure(f'top wrote nothing for {TOP_SILENCE_SECONDS} s')
            if random.random() < 0.1:
                top.press(random.choice(TOP_KEYS))
                counts['keys'] += 1
            beat()
        return counts
    return watch
