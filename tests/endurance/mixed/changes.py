"""Changes of the running server: reloads of its file, and commands that change single devices."""
import os
import random
import re
import signal
import subprocess
import time

from endurance import Failure
from endurance.mixed.world import LIMITS, MILD_FAULTS, MODELS, RELOAD_SECONDS, ROUGH_FAULTS

RELOAD_PAUSE_SECONDS = 4
WRONG_ONE_IN = 6
COMMAND_SECONDS = 60
UNSEEN = re.compile(r"no (such )?device|there are no devices|nothing to measure|no kstat", re.IGNORECASE)
UNSEEN_MAX = 5
CRASH_ONE_IN = 12
REFUSALS = {'clear-error': (0, 1)}  # without a later sync that has succeeded


def wait_for_line(world, begin, pattern, beat):
    """A line of the server's log behind `begin`."""
    end = time.monotonic() + RELOAD_SECONDS
    while True:
        with open(world.log, 'rb') as file:
            file.seek(begin)
            found = re.search(pattern, file.read().decode(errors='replace'), re.MULTILINE)
        if found:
            return
        if time.monotonic() > end:
            raise Failure(f'the server did not say {pattern} within {RELOAD_SECONDS} s')
        beat()
        time.sleep(0.05)


def reload_often(world, beat):
    counts = {'reloads': 0, 'refused files': 0}
    variant = 0
    while world.left() > 0:
        wrong = random.randrange(WRONG_ONE_IN) == 0
        begin = world.log.stat().st_size
        if wrong:
            world.write_wrong_config()
        else:
            variant += 1
            world.write_config(variant)
        os.kill(world.server.pid, signal.SIGHUP)  # the parent waits for the server
        wait_for_line(world, begin, 'reload: .*everything stays as it was' if wrong else '^reloaded ', beat)
        counts['refused files' if wrong else 'reloads'] += 1
        pause = time.monotonic() + random.uniform(0.5, 2) * RELOAD_PAUSE_SECONDS
        while time.monotonic() < min(pause, world.end):
            beat()
            time.sleep(0.2)
    return counts


def run_program(world, name, *words, statuses=(0,), counts=None):
    """Runs a program, and returns its output. The program must succeed.

    A reader gives a server a second to answer. On a busy machine a server may need longer, and its devices are not
    seen. Then the program runs again, and `counts` has that.
    """
    for attempt in range(UNSEEN_MAX):
        done = subprocess.run([world.program(name), *words], env=world.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        if done.returncode in statuses:
            return done.stdout
        if not UNSEEN.search(done.stderr):
            break
        if counts is not None:
            counts['unseen'] = counts.get('unseen', 0) + 1
        time.sleep(1 + attempt)
    raise Failure(f'{name} {" ".join(words)}: {done.returncode}: {(done.stdout + done.stderr).strip()[-200:]}')


def run_command(world, *words, counts=None):
    return run_program(world, 'blkscope', *words, statuses=REFUSALS.get(words[0], (0,)), counts=counts)


def draw_command(world):
    device = world.devices
    modelled, faulty, crash, file = (device[name] for name in ('modelled', 'faulty', 'crash', 'file'))
    if random.randrange(CRASH_ONE_IN) == 0:
        return 'crash', crash
    return random.choice((
        ('set', modelled, f'model={random.choice((*MODELS, "none"))}'),
        ('set', modelled, f'limit={random.choice((*LIMITS, "none"))}', f'queue-depth={random.randint(1, 64)}'),
        ('set', modelled, f'client-limit={random.choice((*LIMITS, "none"))}'),
        ('set', file, f'queue-depth={random.randint(1, 64)}'),
        ('fault', modelled, 'add', random.choice(MILD_FAULTS)),
        ('fault', modelled, 'clear'),
        ('fault', faulty, 'add', random.choice(ROUGH_FAULTS)),
        ('fault', faulty, 'add', random.choice(ROUGH_FAULTS)),
        ('fault', faulty, 'clear'),
        ('fault', faulty, 'list'),
        ('clear-error', faulty)))


def change_often(world, beat):
    counts = {}
    while world.left() > 0:
        words = draw_command(world)
        run_command(world, *words, counts=counts)
        counts[words[0]] = counts.get(words[0], 0) + 1
        beat()
        time.sleep(random.uniform(0.2, 1.8))
    run_command(world, 'fault', world.devices['faulty'], 'clear')
    run_command(world, 'fault', world.devices['modelled'], 'clear')
    return counts
