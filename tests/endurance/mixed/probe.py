"""Probe: a well-behaved client alone on its export, and how long each of its requests takes.

The machine may stall by itself, so three more things are measured beside the client. A sleeper on each processor
sees how late the clock wakes it. The kernel says how long each thread of the server was ready without a processor,
and how long the client was. A stall less all of these at the same moments is the server's own.

Units:     seconds; milliseconds in texts.
Source:    Documentation/scheduler/sched-stats.rst: the second field of schedstat.
"""
import gc
import os
import random
import statistics
import struct
import time

from endurance import Failure

PERIOD_SECONDS = 0.01
MINUTE = 60
STALL_SECONDS = 0.05      # of which the moments are kept
STALL_SECONDS_MAX = 0.25  # the limit for the server
SHORT_STALL_SECONDS_MAX = 2  # the same in a short run, beside other tests
LATE_SECONDS = 0.02
BLOCK = 4096
BLOCKS = 1024
P99_RATIO, P99_SECONDS = 1.5, 0.001  # tolerance of the last third


class Minutes:
    """Times of the current minute, and p50, p99, maximum and count of each minute before."""

    def __init__(self):
        self.begin = time.monotonic()
        self.times = []
        self.minutes = []
        self.largest = 0.0

    def add(self, now, taken):
        self.largest = max(self.largest, taken)
        if now - self.begin >= MINUTE:
            self.close()
            self.begin = now
        self.times.append(taken)

    def close(self):
        if not self.times:
            return
        ordered = sorted(self.times)
        self.minutes.append((ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], ordered[-1], len(ordered)))
        self.times = []

    def figures(self, stalls):
        self.close()
        return {'minutes': self.minutes, 'largest': self.largest, 'stalls': stalls}


def own_delay():
    """How long this process was ready without a processor."""
    with open('/proc/self/schedstat', encoding='ascii') as file:
        return int(file.read().split()[1]) / 1e9


def probe(world, beat):
    """Reads and writes of 4 KiB, 64 KiB now and again, and a flush. Each read is verified."""
    import nbd  # pylint: disable=import-outside-toplevel
    handle = nbd.NBD()
    handle.connect_uri(world.uri('quiet'))
    gc.disable()
    minutes, stalls, versions = Minutes(), [], {}
    delayed = own_delay()
    due = time.monotonic()
    while world.left() > 0:
        begin = time.monotonic()
        one_request(nbd, handle, versions)
        end = time.monotonic()
        minutes.add(begin, end - begin)
        waited, delayed = own_delay() - delayed, own_delay()
        if end - begin > STALL_SECONDS:
            stalls.append((begin, end, waited))
        beat()
        due = max(due + PERIOD_SECONDS, end)
        time.sleep(max(0.0, due - time.monotonic()))
    return minutes.figures(stalls)


def one_request(nbd, handle, versions):
    block = random.randrange(BLOCKS)
    draw = random.random()
    if draw < 0.02:
        handle.flush()
    elif draw < 0.4:
        version = versions.get(block, 0) + 1
        handle.pwrite(struct.pack('<Q', version << 32 | block) * (BLOCK // 8), block * BLOCK,
                      nbd.CMD_FLAG_FUA if draw < 0.05 else 0)
        versions[block] = version
    else:
        count = 16 if draw < 0.45 and block + 16 <= BLOCKS else 1
        data = handle.pread(count * BLOCK, block * BLOCK)
        for at in range(block, block + count):
            word = struct.pack('<Q', versions[at] << 32 | at) if at in versions else bytes(8)
            if data[(at - block) * BLOCK:(at - block + 1) * BLOCK] != word * (BLOCK // 8):
                raise Failure(f'a wrong byte in block {at} of the quiet export')


def clock(processor):
    """A sleeper on one processor. Its times are those by which it wakes up late."""
    def sleep_on(world, beat):
        os.sched_setaffinity(0, {processor})
        gc.disable()
        minutes, stalls = Minutes(), []
        while world.left() > 0:
            planned = time.monotonic() + PERIOD_SECONDS
            time.sleep(PERIOD_SECONDS)
            now = time.monotonic()
            minutes.add(planned, now - planned)
            if now - planned > LATE_SECONDS:
                stalls.append((planned, now, now - planned))
            beat()
        return minutes.figures(stalls)
    return sleep_on


def delays(world, beat):
    """The moments at which threads of the server were ready and had no processor."""
    folder = f'/proc/{world.server.pid}/task'
    before, moments, last = {}, [], time.monotonic()
    while world.left() > 0:
        time.sleep(0.1)
        now = time.monotonic()
        largest = 0.0
        for thread in os.listdir(folder):
            try:
                with open(f'{folder}/{thread}/schedstat', encoding='ascii') as file:
                    delay = int(file.read().split()[1]) / 1e9
            except OSError:
                continue
            largest = max(largest, delay - before.get(thread, delay))
            before[thread] = delay
        if largest > LATE_SECONDS:
            moments.append((last, now, largest))
        last = now
        beat()
    return {'stalls': moments}


def at_that_time(stall, moments):
    """The sum of those moments that overlap a stall, each with no more than the overlap."""
    return sum(min(length, min(end, stall[1]) - max(begin, stall[0]))
               for begin, end, length in moments if begin < stall[1] and end > stall[0])


def own_part(stall, machine):
    """A stall less what the machine did to the server and to the client meanwhile."""
    begin, end, waited = stall
    excuse = max(waited, *(at_that_time(stall, moments) for moments in machine))
    return max(0.0, end - begin - excuse)


def third_medians(minutes, column):
    third = max(1, len(minutes) // 3)
    return (statistics.median(minute[column] for minute in minutes[:third]),
            statistics.median(minute[column] for minute in minutes[-third:]))


def milliseconds(seconds):
    return f'{seconds * 1000:.1f}'


def evaluate(figures, is_long):
    """The texts of the client's figures, and what is found in them."""
    client = figures['probe']
    clocks = [one for name, one in figures.items() if name.startswith('clock')]
    machine = [one['stalls'] for one in clocks] + [figures['delays']['stalls']]
    own = max((own_part(stall, machine) for stall in client['stalls']), default=client['largest'])
    first, last = third_medians(client['minutes'], 1)
    clock_first, clock_last = (max(third_medians(one['minutes'], 1)[i] for one in clocks) for i in (0, 1))
    texts = {
        'requests of the well-behaved client': f"{sum(minute[3] for minute in client['minutes']):,}",
        'p50': f"{milliseconds(statistics.median(minute[0] for minute in client['minutes']))} ms",
        'p99': f'{milliseconds(first)} to {milliseconds(last)} ms',
        'p99 of the clock': f'{milliseconds(clock_first)} to {milliseconds(clock_last)} ms',
        'largest stall': f"{milliseconds(client['largest'])} ms",
        'without the machine\'s part': f'{milliseconds(own)} ms',
        'latest clock': f"{milliseconds(max(one['largest'] for one in clocks))} ms",
        'longest wait of the server for a processor':
            f"{milliseconds(max((moment[2] for moment in figures['delays']['stalls']), default=0))} ms",
    }
    found = []
    if own > (STALL_SECONDS_MAX if is_long else SHORT_STALL_SECONDS_MAX):
        found.append(f'a stall of {milliseconds(own)} ms that the machine does not explain')
    if is_long and last > first * P99_RATIO + P99_SECONDS + max(0.0, clock_last - clock_first):
        found.append(f'p99 of the well-behaved client grew from {milliseconds(first)} to {milliseconds(last)} ms')
    return texts, found
