"""Crew: the processes of the load. An actor is a function of the world and of its own heartbeat.

An actor returns its figures at the world's end, or raises what it has found. The crew ends early if an actor has
raised. The same holds for an actor whose heart has stopped: a request that is never answered.

Units:     seconds.
Ownership: owns the processes.
"""
import multiprocessing
import os
import random
import time
import traceback
import zlib

from endurance.children import end_with_parent

SILENCE_SECONDS = 90  # after which an actor hangs; longer than any wait of its own
GRACE_SECONDS = 45    # after the world's end


class Actor:
    def __init__(self, name, function, world, niceness):
        self.name = name
        self.heart = multiprocessing.Value('d', time.monotonic(), lock=False)
        self.receiver, sender = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=play, args=(self, function, world, niceness, sender), daemon=True)
        self.result = None  # (figures, None) or (None, what was found)
        self.process.start()
        sender.close()

    def beat(self):
        self.heart.value = time.monotonic()

    def look(self):
        """Takes in the result if there is one. Returns whether the actor has ended."""
        if self.result is None and self.receiver.poll():
            try:
                self.result = self.receiver.recv()
            except EOFError:
                self.process.join()
                self.result = (None, f'the process ended with {self.process.exitcode}')
        return self.result is not None

    def is_silent(self):
        return self.result is None and time.monotonic() - self.heart.value > SILENCE_SECONDS


def play(actor, function, world, niceness, sender):
    """The actor's process."""
    end_with_parent()
    os.nice(niceness)
    random.seed(zlib.crc32(actor.name.encode()))
    try:
        result = (function(world, actor.beat), None)
    except BaseException as error:  # pylint: disable=broad-except
        result = (None, f'{type(error).__name__}: {error} ({where(error)})')
    sender.send(result)
    os._exit(0)  # libnbd's handles need no orderly end


def where(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f'{os.path.basename(frame.filename)}:{frame.lineno}'


class Crew:
    def __init__(self, world):
        self.world = world
        self.actors = []

    def add(self, name, function, niceness=0):
        self.actors.append(Actor(name, function, self.world, niceness))

    def watch(self, each_second):
        """Until the world's end, or until something is found."""
        while self.world.left() > 0:
            each_second()
            for actor in self.actors:
                actor.look()
            if self.findings():
                return
            time.sleep(1)

    def gather(self):
        """Waits for the actors' figures. Returns {name: figures}, and what was found."""
        end = time.monotonic() + (0 if self.findings() else GRACE_SECONDS)
        while not all([actor.look() for actor in self.actors]) and time.monotonic() < end:
            time.sleep(0.1)
        found = self.findings() or [f'{actor.name} did not end' for actor in self.actors if actor.result is None]
        self.kill()
        return {actor.name: actor.result[0] for actor in self.actors if actor.result and actor.result[0]}, found

    def findings(self):
        found = [f'{actor.name}: {actor.result[1]}' for actor in self.actors if actor.result and actor.result[1]]
        return found + [f'{actor.name} hangs' for actor in self.actors if actor.is_silent()]

    def kill(self):
        for actor in self.actors:
            actor.process.kill()
            actor.process.join()
