"""Processes: to end them, and to ask the kernel what they and their descendants have used."""
import contextlib
import ctypes
import os
import signal
import time

from comparison import Failure

STOP_SECONDS = 5
TICKS_PER_SECOND = os.sysconf('SC_CLK_TCK')
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def adopt_daemons():
    """Makes orphaned descendants our children, so that a server that daemonises can be waited for."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise Failure(f'prctl: {os.strerror(ctypes.get_errno())}')


def process_times():
    """{pid: (parent, ticks of its own, ticks of its children already waited for)} of every process."""
    times = {}
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as stat:
                # Fields from the third on: the second, the command, may hold blanks and brackets.
                fields = stat.read().rpartition(')')[2].split()
        except OSError:
            continue  # the process ended meanwhile
        utime, stime, cutime, cstime = map(int, fields[11:15])
        times[int(name)] = (int(fields[1]), utime + stime, cutime + cstime)
    return times


def tree(root, times):
    """A process and all its descendants, by what process_times() said."""
    children = {}
    for pid, (parent, _, _) in times.items():
        children.setdefault(parent, []).append(pid)
    found = []
    todo = [root]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    assert found[0] == root and len(found) == len(set(found))
    return found


def tree_cpu_seconds(root):
    """CPU time of a process and all its descendants, those that have been waited for included."""
    times = process_times()
    return sum(own + reaped for _, own, reaped in
               (times.get(pid, (0, 0, 0)) for pid in tree(root, times))) / TICKS_PER_SECOND


def tree_run_seconds(root):
    """CPU time of the threads of a process and its descendants, to the nanosecond: for those that
    hardly run, and end no thread meanwhile."""
    total_ns = 0
    for pid in tree(root, process_times()):
        with contextlib.suppress(OSError):
            for thread in os.listdir(f'/proc/{pid}/task'):
                with open(f'/proc/{pid}/task/{thread}/schedstat', encoding='ascii') as file:
                    total_ns += int(file.read().split()[0])
    assert total_ns >= 0
    return total_ns / 1e9


def tree_memory_mib(root):
    """{'RssAnon', 'Rss', 'Pss'} in MiB, summed over a process and its descendants."""
    kib = {'RssAnon': 0, 'Rss': 0, 'Pss': 0}
    wanted = {'status': {'RssAnon:': 'RssAnon'}, 'smaps_rollup': {'Rss:': 'Rss', 'Pss:': 'Pss'}}
    for pid in tree(root, process_times()):
        for name, fields in wanted.items():
            with contextlib.suppress(OSError), open(f'/proc/{pid}/{name}', encoding='utf-8') as file:
                for line in file:
                    words = line.split()
                    if words[0] in fields:
                        kib[fields[words[0]]] += int(words[1])
    assert kib['Pss'] <= kib['Rss']
    return {name: amount / 1024 for name, amount in kib.items()}


def wait_until(condition, seconds):
    """Polls until the condition holds and returns what it gave, or its last falsehood at the deadline."""
    deadline = time.monotonic() + seconds
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return result


def has_ended(pid):
    """Takes in a child's end, if it has come."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def end_process(pid):
    assert pid > 1 and pid != os.getpid()
    if has_ended(pid):
        return
    os.kill(pid, signal.SIGTERM)
    if not wait_until(lambda: has_ended(pid), STOP_SECONDS):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def end_all_children():
    """Ends what is left of the processes that we started: the children that a killed parent left to us."""
    while True:
        left = [pid for pid, (parent, _, _) in process_times().items() if parent == os.getpid()]
        if not left:
            return
        for pid in left:
            end_process(pid)
