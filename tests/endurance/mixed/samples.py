"""Samples: the descriptors, memory, page tables, threads and kstats of processes, and whether they stay flat.

A figure is flat if its median in the last third of the run exceeds that of the first third by no more than its
tolerance. A run of less than 50 minutes is too short for that: the memory of clients and of histories fills up first.

Units:     KiB; seconds.
Source:    proc(5); kstat(3).
"""
import ctypes
import os
import pathlib
import statistics
import time

EACH_SECONDS = 10
FLAT_SECONDS = 3000
# {figure: (share of the first median, amount)}: the larger one is allowed.
TOLERANCES = {'fds': (0.05, 8), 'RssAnon': (0.05, 4096), 'VmPTE': (0.05, 64), 'Threads': (0, 1),
              'kstats': (0.05, 20)}
KSTAT_STRLEN = 31


class Header(ctypes.Structure):
    """The first fields of kstat_t, of which the last one is not needed."""


Header._fields_ = [('ks_crtime', ctypes.c_longlong), ('ks_next', ctypes.POINTER(Header)), ('ks_kid', ctypes.c_int),
                   ('ks_module', ctypes.c_char * KSTAT_STRLEN), ('ks_resv', ctypes.c_ubyte),
                   ('ks_instance', ctypes.c_int), ('ks_name', ctypes.c_char * KSTAT_STRLEN)]


class Control(ctypes.Structure):
    """The first fields of kstat_ctl_t."""

    _fields_ = [('kc_chain_id', ctypes.c_int), ('kc_chain', ctypes.POINTER(Header))]


class Kstats:
    """A reader of the chain."""

    def __init__(self, world):
        self.library = ctypes.CDLL(str(world.libraries / 'libkstat.so.1'))
        self.library.kstat_open.restype = ctypes.POINTER(Control)
        self.library.kstat_close.argtypes = [ctypes.POINTER(Control)]
        os.environ['KSTAT_DIR'] = world.environment['KSTAT_DIR']

    def read(self):
        """The number of kstats, and the highest kid."""
        control = self.library.kstat_open()
        if not control:
            return None
        count = highest = 0
        at = control.contents.kc_chain
        while at:
            count += 1
            highest = max(highest, at.contents.ks_kid)
            at = at.contents.ks_next
        self.library.kstat_close(control)
        return count, highest


def process_figures(pid):
    """None if the process has ended."""
    folder = pathlib.Path('/proc') / str(pid)
    try:
        fields = dict(line.split(':', 1) for line in (folder / 'status').read_text().splitlines() if ':' in line)
        figures = {name: int(fields[name].split()[0]) for name in ('RssAnon', 'VmPTE', 'Threads')}
        return {'fds': len(os.listdir(folder / 'fd')), **figures}
    except (OSError, KeyError):
        return None


class Samples:
    def __init__(self, world, processes):
        self.processes = processes  # {name: pid}
        self.kstats = Kstats(world)
        self.next = time.monotonic()
        self.begin = self.next
        self.series = {}            # {(process, figure): [value]}
        self.highest_kid = 0
        self.ended = []             # names of processes

    def take_when_due(self):
        if time.monotonic() < self.next:
            return
        self.next += EACH_SECONDS
        for name, pid in self.processes.items():
            figures = process_figures(pid)
            if figures is None:
                self.ended.append(name)
                continue
            for figure, value in figures.items():
                self.series.setdefault((name, figure), []).append(value)
        chain = self.kstats.read()
        if chain is not None:
            self.series.setdefault(('chain', 'kstats'), []).append(chain[0])
            self.highest_kid = max(self.highest_kid, chain[1])

    def text(self):
        """{process: "fds 40 to 41, ..."}: the medians of the first and of the last third."""
        texts = {}
        for (name, figure), values in self.series.items():
            first, last = thirds(values)
            texts.setdefault(name, []).append(f'{figure} {first:g} to {last:g}')
        return {name: ', '.join(parts) for name, parts in texts.items()}

    def findings(self):
        found = [f'{name} has ended' for name in dict.fromkeys(self.ended)]
        if ('chain', 'kstats') not in self.series:
            found.append('no reader has opened the kstats')
        if time.monotonic() - self.begin < FLAT_SECONDS:
            return found
        for (name, figure), values in self.series.items():
            first, last = thirds(values)
            if last > first + allowed(figure, first):
                found.append(f'{figure} of {name} grew from {first:g} to {last:g}')
        return found


def allowed(figure, first):
    share, amount = TOLERANCES[figure]
    return max(share * first, amount)


def thirds(values):
    """The medians of the first and of the last third."""
    third = max(1, len(values) // 3)
    return statistics.median(values[:third]), statistics.median(values[-third:])
