"""Hostile clients. All but those with TLS come over TCP, from an address of their own.

So they have their own share of the places for handshakes, and honest clients over the Unix socket get in.
"""
import contextlib
import importlib.machinery
import importlib.util
import os
import random
import socket
import struct
import time

from endurance import Failure
from endurance.piece import TOP

SOURCE = '127.0.0.66'
ROUND_SECONDS = 3
EACH_ATTACK_SECONDS = 300  # a run of this length has each attack
ANY_ATTACK_SECONDS = 60    # a run of this length has an attack
FLAGS = struct.pack('>I', 3)


def load_bench():
    """tests/bench/hostile, whose clients this module uses. Its file has no suffix."""
    path = str(TOP / 'tests/bench/hostile')
    loader = importlib.machinery.SourceFileLoader('bench_hostile', path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('bench_hostile', loader))
    loader.exec_module(module)
    return module


def missing(kinds, counts, seconds):
    """The kinds of attack that a run of this length should have had. An attack that no server took in counts as none."""
    missed = [kind for kind in kinds if not counts.get(kind)]
    return missed if seconds > EACH_ATTACK_SECONDS or (seconds > ANY_ATTACK_SECONDS and len(missed) == len(kinds)) else []


class Attacker:
    def __init__(self, world, beat):
        self.bench = load_bench()
        self.world, self.beat = world, beat
        self.counts = {}

    def connect(self):
        client = self.bench.RawClient.__new__(self.bench.RawClient)
        client.socket = socket.create_connection(('127.0.0.1', self.world.port), 5, (SOURCE, 0))
        return client

    def rest(self, seconds=ROUND_SECONDS):
        """Lets an attack last, and beats meanwhile."""
        end = time.monotonic() + min(seconds, max(0.0, self.world.left()))
        while time.monotonic() < end:
            self.beat()
            time.sleep(0.2)

    # --- the attacks, each of which leaves with its clients closed -----------------------------------

    def takes_nothing(self):
        """Clients that ask for much and take none of it."""
        length = random.choice((4096, 1 << 18, 1 << 23))
        with contextlib.ExitStack() as open_clients:
            for _ in range(8):
                client = self.connect()
                open_clients.callback(client.close)
                client.enter('bait')
                client.socket.sendall(b''.join(self.bench.request(self.bench.READ, 0, length, i) for i in range(64)))
            self.rest()
        return 8

    def half_handshakes(self):
        with contextlib.ExitStack() as open_clients:
            for _ in range(random.randrange(20, 90)):
                client = self.connect()
                open_clients.callback(client.close)
                client.socket.send(FLAGS[:random.randrange(5)])
            self.rest()
        return 1

    def garbage(self):
        for _ in range(40):
            client = self.connect()
            if random.random() < 0.5:
                client.enter('bait')
            client.socket.sendall(os.urandom(random.randrange(1, 4096)))
            client.close()
        self.rest(1)
        return 40

    def large_requests(self):
        for _ in range(20):
            client = self.connect().enter('bait')
            command = random.choice((self.bench.READ, self.bench.WRITE, self.bench.WRITE_ZEROES, 4, 5, 7, 99))
            offset = random.choice((0, 1 << 20, (1 << 64) - 4096, (1 << 63)))
            client.socket.sendall(self.bench.request(command, offset, random.choice((0xFFFFFFFF, 1 << 25, 1 << 26))))
            client.socket.send(bytes(random.randrange(1 << 20)))
            client.close()
        self.rest(1)
        return 20

    def bad_tls_records(self):
        clients = [self.bench.bad_record(str(self.world.socket)) for _ in range(4)]
        self.rest()
        for client in clients:
            client.close()
        return 4

    def control_garbage(self):
        """Lines that are no requests, and halves of lines, to the control socket."""
        lines = (b'{"command":"set","device":"nbd99","model":"none"}\n', b'{}\n', b'[' * 10000 + b'\n',
                 os.urandom(200) + b'\n', b'{"command":"trace","device":"', b'x' * 70000)
        path = self.world.folder / 'kstat' / f'{self.world.server.pid}.ctl'
        sent = sum(self.send_to(path, random.choice(lines)) for _ in range(20))
        self.rest(1)
        return sent

    def statistics_garbage(self):
        """Bytes that are no request, to the sockets of the providers."""
        paths = (self.world.folder / 'kstat').glob('*.sock')
        sent = sum(self.send_to(path, os.urandom(random.randrange(1, 300))) for path in paths)
        self.rest(1)
        return sent

    def web_garbage(self):
        lines = (b'GET /metrics HTTP/1.1\r\nHost: evil\r\n\r\n', b'GET / HTTP/1.1\r\nX: ' + b'y' * 20000,
                 b'POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n', os.urandom(500),
                 b'GET /api/v1/kstat?name=' + b'%41' * 3000 + b' HTTP/1.1\r\nHost: localhost\r\n\r\n', b'GET')
        sent = sum(self.send_to(self.world.web_socket, random.choice(lines)) for _ in range(20))
        self.rest(1)
        return sent

    @staticmethod
    def send_to(path, data):
        """Returns whether the socket was there. The server may close the connection at any moment."""
        connected = False
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(path))
            connected = True
            client.sendall(data)
            if random.random() < 0.5:
                client.recv(4096)
        return connected

    def run(self):
        attacks = (self.takes_nothing, self.half_handshakes, self.garbage, self.large_requests, self.bad_tls_records,
                   self.control_garbage, self.statistics_garbage, self.web_garbage)
        seconds = self.world.left()
        while self.world.left() > 0:
            attack = random.choice(attacks)
            # The server may close a hostile client at any moment.
            with contextlib.suppress(OSError, ConnectionError):
                self.counts[attack.__name__] = self.counts.get(attack.__name__, 0) + attack()
            self.beat()
        missed = missing([attack.__name__ for attack in attacks], self.counts, seconds)
        if missed:
            raise Failure(f'{", ".join(missed)}: never done whole')
        return self.counts


def attack_all(world, beat):
    return Attacker(world, beat).run()
