"""The simulator, hour after hour: each run begins with the seed after the last one.

A life that fails ends its batch. The seed is a finding, and the next batch begins behind it.
"""
import re
import resource
import threading

from endurance import Failure
from endurance.children import WorkLimit, run, workers
from endurance.piece import Outcome, Piece

BATCH = 2000
GRACE_SECONDS = 120  # a life of a slow machine, and the repetition of one that failed
LIVES = re.compile(r'^(\d+) lives, (\d+) answers, (\d+) events', re.MULTILINE)
FAILED = re.compile(r'^seed (\d+) FAILED: (.*)$', re.MULTILINE)


class Seeds:
    """Gives batches of seeds to several threads, and adds up what they return."""

    def __init__(self, first):
        self.lock = threading.Lock()
        self.next = first
        self.lives = self.answers = 0
        self.found = []

    def take(self):
        with self.lock:
            first = self.next
            self.next += BATCH
            return first

    def add(self, lives, answers):
        with self.lock:
            self.lives += lives
            self.answers += answers

    def give_back(self, seed, end):
        """The seeds from `seed` to the end of a batch were not run. The next run begins there, if it was the last."""
        with self.lock:
            if self.next == end:
                self.next = seed

    def find(self, text):
        with self.lock:
            self.found.append(text)


def run_batch(bench, seeds, limit, worker):
    """The lives of one batch, until the time is over."""
    first = seeds.take()
    seed, end = first, first + BATCH
    while seed < end and limit.left() > 0:
        words = [bench.program('simulation'), '--from', seed, '--seeds', end - seed, '--for', f'{limit.left():.1f}']
        status, said = run(words, bench.log(f'simulation-{worker}'), limit.left() + GRACE_SECONDS)
        if status == 0:
            done = LIVES.search(said)
            if done is None:
                raise Failure(f'the simulator said nothing of its lives: {said[-200:]}')
            seeds.add(int(done[1]), int(done[2]))
            return seeds.give_back(seed + int(done[1]), end)
        failed = FAILED.search(said)
        if failed is None:
            raise Failure(f'the simulator ended with {status}: {said[-200:]}')
        seeds.find(f'seed {failed[1]}: {failed[2][:160]}')
        seeds.add(int(failed[1]) - seed + 1, 0)
        seed = int(failed[1]) + 1
    return seeds.give_back(seed, end)


def processor_seconds():
    """The cost of the processes that have ended. On a busy machine less than the time that passed."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def simulate(bench):
    before = processor_seconds()
    first = max((row['figures']['next seed'] for row in bench.earlier), default=1)
    seeds = Seeds(first)
    limit = WorkLimit(bench.seconds)

    def work(worker):
        try:
            while limit.left() > 0:
                run_batch(bench, seeds, limit, worker)
        except Failure as failure:
            seeds.find(str(failure))

    with workers(bench.jobs) as pool:
        for done in [pool.submit(work, worker) for worker in range(bench.jobs)]:
            done.result()
    figures = {'first seed': first, 'next seed': seeds.next, 'lives': seeds.lives, 'answers': seeds.answers,
               'processor seconds': round(processor_seconds() - before)}
    return Outcome(figures, seeds.found)


def together(rows):
    figures = [row['figures'] for row in rows]
    hours = sum(one['processor seconds'] for one in figures) / 3600
    return (f"{sum(one['lives'] for one in figures):,} lives of the seeds {figures[0]['first seed']} to"
            f" {figures[-1]['next seed'] - 1}, {sum(one['answers'] for one in figures):,} answers,"
            f' {hours:.1f} hours of a processor')


PIECE = Piece('simulation', 'lives of the simulator, from the seed after the last run on', 6600, simulate,
              'eight hours in all', together)
