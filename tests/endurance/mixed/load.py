"""The mixed load: one server and everything at it at once, and the piece that judges it.

Two things are wanted. A well-behaved client notices nothing of all the others. What the server holds stays flat.
Whatever else fails is a finding, too: a wrong byte, a request without an answer, a program that fails.
"""
import errno
import os
import tempfile

from endurance import Skipped
from endurance.mixed import changes, clients, hostile, probe, readers
from endurance.mixed.crew import Crew
from endurance.mixed.samples import Samples
from endurance.mixed.world import World
from endurance.piece import Outcome, Piece

NICENESS = 5  # of all but the client that is measured, which are many for a small machine
ERRORS = (errno.EIO, errno.ENOSPC)
LONG_SECONDS = 540    # a shorter run is judged mildly
SET_UP_SECONDS = 120  # for the start, the last answers and the end
BAD_LINES = ('Assertion', 'terminate called', 'AddressSanitizer')


def need_libnbd():
    try:
        import nbd  # pylint: disable=import-outside-toplevel,unused-import
        return nbd
    except ImportError:
        raise Skipped('there is no python3-libnbd: tools/install-deps test') from None


def add_actors(crew, top):
    """The client that is measured has no niceness, nor have the clocks."""
    crew.add('probe', probe.probe)
    for processor in sorted(os.sched_getaffinity(0)):
        crew.add(f'clock-{processor}', probe.clock(processor))
    crew.add('delays', probe.delays)
    loads = {
        'verify-file': clients.verify('file'), 'verify-direct': clients.verify('direct'),
        'verify-modelled': clients.verify('modelled', ERRORS), 'verify-front': clients.verify('front'),
        'verify-crash': clients.verify('crash', loses_power=True),
        'visits-1': clients.come_and_go, 'visits-2': clients.come_and_go, 'hostile': hostile.attack_all,
        'reloads': changes.reload_often, 'changes': changes.change_often, 'programs': readers.read_programs,
        'traces': readers.read_traces, 'scraper': readers.scrape, 'stream': readers.watch_stream,
        'top': readers.watch_top(top)}
    for name, load in loads.items():
        crew.add(name, load, NICENESS)


def bad_lines(world):
    return [f'the server said: {line[:200]}' for line in world.said().splitlines()
            if any(bad in line for bad in BAD_LINES)]


def run_world(world):
    """Returns the actors' figures, the samples and what was found."""
    crew, top = Crew(world), None
    try:
        world.start()
        for export in ('quiet', 'bait', 'modelled', 'faulty'):
            clients.fill(need_libnbd(), world, export)
        top = readers.Top(world)
        samples = Samples(world, {'server': world.server.pid, 'upstream': world.upstream.pid, 'web': world.web.pid,
                                  'top': top.process.pid})
        add_actors(crew, top)
        crew.watch(samples.take_when_due)
        figures, found = crew.gather()
        found += samples.findings()
        if not found and top.end() != 0:
            found.append('top did not end by its key q')
        found += world.stop() + bad_lines(world)
        return figures, samples, found
    finally:
        crew.kill()
        if top is not None and top.process.returncode is None:
            top.process.kill()
            top.process.wait()
        world.kill()


def texts_of(world, figures, samples):
    """The figures of the loads, one text for each."""
    verified = [value for name, value in figures.items() if name.startswith('verify')]
    texts = {'verified requests': f"{sum(one['requests'] for one in verified):,}",
             'verified GB': f"{sum(one['bytes'] for one in verified) / 1e9:.1f}",
             'losses of power': figures.get('changes', {}).get('crash', 0)}
    for name in ('reloads', 'changes', 'hostile'):
        texts[name] = sum(figures.get(name, {}).values())
    texts['answers that came too late for a reader'] = sum(
        counts.get('unseen', 0) for name, counts in figures.items() if name not in ('probe', 'delays'))
    held = samples.text()
    texts['server'] = f"({held.get('server')}, {held.get('chain')})"
    texts['highest kid'] = samples.highest_kid
    texts['log of the server'] = f'{world.log.stat().st_size / 1e6:.1f} MB'
    loads = {name: counts for name, counts in figures.items() if not name.startswith(('probe', 'clock', 'delays'))}
    return {**texts, 'more': {'loads': loads, 'processes': held}}


def run_mixed(bench):
    need_libnbd()
    seconds = max(5.0, bench.seconds - (SET_UP_SECONDS if bench.seconds > 2 * SET_UP_SECONDS else 0))
    with tempfile.TemporaryDirectory(prefix='endurance.', dir=bench.folder) as folder:
        world = World(bench, folder, seconds)
        figures, samples, found = run_world(world)
        texts = {}
        if all(name in figures for name in ('probe', 'delays')):
            texts, more = probe.evaluate(figures, seconds >= LONG_SECONDS)
            found += more
        return Outcome({**texts, **texts_of(world, figures, samples)}, found)


PIECE = Piece('mixed', 'a server under mixed load, with reloads, live changes and hostile clients', 7200, run_mixed,
              'two hours, all flat, no stall of more than 0.25 s')
