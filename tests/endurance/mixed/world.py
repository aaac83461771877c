"""World: the servers of the mixed load, their exports and their configuration file.

    clients ──▶ server (two workers) ──▶ quiet, file, direct, modelled, faulty, crash, bait, later
                                   └──▶ front ──▶ upstream server
    scrapers ──▶ web ──▶ statistics of both servers

`quiet` is the well-behaved client's alone. `later` is in every other configuration only.

Units:     bytes; seconds of the monotonic clock.
Ownership: owns the processes that start() has started, and the folder's files.
Errors:    Failure if a server does not start, or does not end in order.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

from endurance import Failure, Skipped, children

MIB = 1 << 20
START_SECONDS = 30
RELOAD_SECONDS = 60
ADDRESS = '127.0.0.1'
PROGRAMS = ('blkscope', 'blkscope-tools', 'gstat', 'iostat', 'kstat', 'kstat2')
LIBRARY = re.compile(r'=> (/\S+)')
DEVICE = re.compile(r'^(nbd\d+) (\S+)$', re.MULTILINE)

MODELS = ('all=exp:300us', 'read=const:1ms,servers=4', 'write=lognormal:100us:2ms,flush=exp:1ms', 'hdd7200')
LIMITS = ('iops=900', 'read_bps=20M,write_iops=300', 'iops=300:2000:4000')
MILD_FAULTS = ('read:error=EIO;chance=1/50', 'write:error=ENOSPC;chance=1/50', 'all:delay=exp:1ms;every=7',
               'all:hang=300ms;chance=1/200')
ROUGH_FAULTS = ('all:disconnect;chance=1/40', 'write:drop;count=3', 'all:corrupt=2;chance=1/4', 'write:torn;every=2',
                'all:hang=2s;chance=1/30', 'all:hang;chance=1/100', 'flush:error=EIO;chance=1/2;sticky;counted')


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind((ADDRESS, 0))
        return listener.getsockname()[1]


def copy_programs(bench, folder):
    """Copies the programs and their own libraries, so that a build beside the run does not disturb it."""
    bin_folder, library_folder = folder / 'bin', folder / 'lib'
    bin_folder.mkdir()
    library_folder.mkdir()
    for name in PROGRAMS:
        program = bench.program(name)
        shutil.copy(program, bin_folder)
        linked = subprocess.run(['ldd', program], capture_output=True, text=True, check=True).stdout
        for library in LIBRARY.findall(linked):
            if pathlib.Path(library).is_relative_to(bench.build):
                shutil.copy(library, library_folder)
    return bin_folder, library_folder


class World:
    def __init__(self, bench, folder, seconds):
        self.bench = bench
        self.folder = pathlib.Path(folder)
        self.end = time.monotonic() + seconds
        self.socket = self.folder / 'nbd.socket'
        self.other_socket = self.folder / 'upstream.socket'
        self.web_socket = self.folder / 'web.socket'
        self.config = self.folder / 'mixed.json'
        self.log = bench.log('mixed-server')
        self.log.unlink(missing_ok=True)
        (self.folder / 'kstat').mkdir()
        self.programs, self.libraries = copy_programs(bench, self.folder)
        self.environment = {**os.environ, 'KSTAT_DIR': str(self.folder / 'kstat'), 'XDG_RUNTIME_DIR': str(self.folder),
                            'LD_LIBRARY_PATH': str(self.libraries)}
        self.server = self.upstream = self.web = None
        self.devices = {}  # export: nbdN
        self.port = free_port()

    # --- the configuration -------------------------------------------------------------------------

    def exports(self, variant):
        """The exports of a configuration. In-place changes and `later` differ from variant to variant."""
        def path(name):
            return str(self.folder / name)
        exports = [
            {'name': 'quiet', 'backing': 'memory:16M'},
            {'name': 'file', 'backing': path('file.img'), 'queue-depth': (16, 4, 32)[variant % 3]},
            {'name': 'direct', 'backing': path('direct.img'), 'direct': True, 'order': 'fair'},
            {'name': 'modelled', 'backing': 'memory:16M', 'queue-depth': 8,
             'model': MODELS[variant % len(MODELS)], 'limit': LIMITS[variant % len(LIMITS)],
             'faults': [MILD_FAULTS[variant % len(MILD_FAULTS)]]},
            {'name': 'faulty', 'backing': 'memory:16M', 'faults': [ROUGH_FAULTS[variant % len(ROUGH_FAULTS)]]},
            {'name': 'crash', 'backing': path('crash.img'), 'crash-cache': '2M'},
            {'name': 'bait', 'backing': 'memory:64M', 'default': True},
            {'name': 'front', 'backing': f'nbd+unix:///disk?socket={self.other_socket}', 'upstream-wait': True,
             'upstream-connections': 3},
        ]
        if variant % 2 == 1:
            exports.append({'name': 'later', 'backing': f'memory:{1 + variant % 3}M'})
        return exports

    def write_config(self, variant):
        listen = [f'unix:{self.socket}', f'{ADDRESS}:{self.port}']
        if variant % 3 == 2:
            listen.append(f'unix:{self.folder}/second.socket')
        text = json.dumps({
            'listen': listen, 'allow': [] if variant % 2 else ['127.0.0.0/8'],
            'client-by': ('peer', 'connection', 'peer', 'address')[variant % 4],
            'limits': {'workers': 2, 'recorder': 8192, 'connections': 256, 'handshake-timeout': 5},
            'tls': {'mode': 'on', 'certs': str(self.folder / 'tls')},
            'exports': self.exports(variant)}, indent=1)
        new = self.config.with_suffix('.new')
        new.write_text(text, encoding='utf-8')
        new.rename(self.config)

    def write_wrong_config(self):
        self.config.write_text('{"listen": ["unix:/nowhere/socket"], "exports": []', encoding='utf-8')

    # --- the processes -----------------------------------------------------------------------------

    def make_files(self):
        for name in ('file.img', 'direct.img', 'crash.img', 'upstream.img'):
            with open(self.folder / name, 'wb') as image:
                image.truncate(16 * MIB)
        if shutil.which('openssl') is None:
            raise Skipped('there is no openssl: tools/install-deps test')
        tls = self.folder / 'tls'
        tls.mkdir()
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1',
                        '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', tls / 'server-key.pem',
                        '-out', tls / 'server-cert.pem'], check=True, capture_output=True)
        shutil.copy(tls / 'server-cert.pem', tls / 'ca-cert.pem')

    def start(self):
        blkscope = self.program('blkscope')
        self.make_files()
        other_log = self.bench.log('mixed-upstream')
        self.upstream = children.start([blkscope, 'serve', f'disk={self.folder}/upstream.img', '--unix',
                                        self.other_socket, '--workers', '1'], other_log, self.environment)
        self.wait_for(self.other_socket.exists, self.upstream, other_log)
        self.write_config(0)
        self.server = children.start([blkscope, 'serve', '--config', self.config], self.log, self.environment)
        self.wait_for(lambda: len(DEVICE.findall(self.said())) >= 2 * len(self.exports(0)), self.server, self.log)
        for device, uri in DEVICE.findall(self.said()):
            self.devices[re.search(r'/(\w+)(\?|$)', uri)[1]] = device
        web_log = self.bench.log('mixed-web')
        self.web = children.start([blkscope, 'web', '--listen', f'unix:{self.web_socket}'], web_log, self.environment)
        self.wait_for(self.web_socket.exists, self.web, web_log)

    def stop(self):
        """Ends all in order. Returns a finding for each that did not."""
        found = []
        for name in ('web', 'server', 'upstream'):
            process = getattr(self, name)
            if process is None:
                continue
            status = children.end(process)
            if status != 0 and not (name == 'server' and self.lost_by_fault(status)):
                found.append(f'the {name} ended with {status}')
        return found

    def lost_by_fault(self, status):
        """Whether the server could not flush `faulty`, and nothing else: a rule may have failed a flush there."""
        lines = [line for line in self.said().splitlines() if 'flush at the end' in line]
        return status == 1 and bool(lines) and all(f' {self.devices["faulty"]}: ' in line for line in lines)

    def kill(self):
        for process in (self.web, self.server, self.upstream):
            if process is not None and process.returncode is None:
                children.reap(process)

    # --- for the actors ----------------------------------------------------------------------------

    def program(self, name):
        return str(self.programs / name)

    def said(self):
        return self.log.read_text(encoding='utf-8', errors='replace')

    def left(self):
        return self.end - time.monotonic()

    def uri(self, export):
        return f'nbd+unix:///{export}?socket={self.socket}'

    @staticmethod
    def wait_for(condition, process, log):
        limit = children.Limit(START_SECONDS)
        while not condition():
            if children.has_ended(process) or limit.left() == 0:
                raise Failure(f'a server did not start: see {log}')
            time.sleep(0.02)
