"""Children: programs that a piece runs, each in a process group of its own and with a limit of time.

Ownership: the caller of start() ends the child with end(). run() ends what it has started.
Errors:    Failure if a program cannot start, or takes longer than its limit.
"""
import concurrent.futures
import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time

from endurance import Failure

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
STOP_SECONDS = 70     # a program that SIGTERM has not ended by then is killed
STOPPED = threading.Event()  # workers must end soon
LIBC = ctypes.CDLL(None, use_errno=True)


def end_with_parent():
    """For a new process: the kernel ends the process when its parent has ended."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def start(words, log, environment=None, **more):
    """A program in a group of its own, whose output goes to the file `log`."""
    try:
        with open(log, 'ab') as output:
            return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                    env=environment, start_new_session=True, preexec_fn=end_with_parent, **more)
    except OSError as error:
        raise Failure(f'{words[0]} cannot start: {error}') from error


def has_ended(process):
    """Whether a child has ended. The child keeps its number until it is waited for."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def reap(process):
    """Kills what is left of a child and of its group, and takes in the child's end."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return process.wait()


def wait(process, seconds):
    """Whether the child ends within the time."""
    limit = WorkLimit(seconds)
    while not has_ended(process):
        if limit.left() == 0:
            return False
        time.sleep(0.02)
    return True


def end(process):
    """Ends a program in its own order, and returns its exit status; None if it had to be killed."""
    if process.returncode is not None:
        return process.returncode
    process.terminate()
    limit = Limit(STOP_SECONDS)
    while not has_ended(process) and limit.left() > 0:
        time.sleep(0.02)
    in_order = has_ended(process)
    status = reap(process)
    return status if in_order else None


def run(words, log, seconds, environment=None):
    """Runs a program to its end, at most for `seconds`. Returns its exit status and all that it printed."""
    begin = log.stat().st_size if log.exists() else 0
    process = start(words, log, environment)
    try:
        in_time = wait(process, seconds)
    except BaseException:
        end(process)  # others that only this program can end may run
        raise
    status = reap(process) if in_time else end(process)
    if not in_time:
        raise Failure(f'{os.path.basename(str(words[0]))} was not done in {seconds:.0f} s: see {log}')
    with open(log, 'rb') as said:
        said.seek(begin)
        return status, said.read().decode(errors='replace')


class Limit:
    """A time, and its rest."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return max(0.0, self.end - time.monotonic())


class WorkLimit(Limit):
    """A time for work, which is over when the workers must end."""

    def left(self):
        return 0.0 if STOPPED.is_set() else super().left()


@contextlib.contextmanager
def workers(jobs):
    """Threads, which end soon if this one is interrupted."""
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            try:
                yield pool
            except BaseException:
                STOPPED.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        STOPPED.clear()
