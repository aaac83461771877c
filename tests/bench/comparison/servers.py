"""The servers under test: how each is started on an address, asked whether it answers, and ended."""
import dataclasses
import os
import shutil
import socket
import subprocess

from comparison import Failure
from comparison.processes import end_process, has_ended, wait_until

READY_SECONDS = 15
HOST = '127.0.0.1'
CONNECTIONS_MAX = 64

OURS = ('ours', 'ours-simple', 'ours-mem', 'front', 'versus')
BASES = ('base', 'base-mem')
PEERS = ('nbdkit-file', 'nbdkit-mem', 'qemu-nbd', 'nbd-server')
PEERS_ON_THE_IMAGE = ('nbdkit-file', 'qemu-nbd', 'nbd-server')
LIMITS = ('limit', 'limit-sr')
ALL = OURS + BASES + PEERS + LIMITS
NOT_BY_DEFAULT = ('ours-simple', 'ours-mem', 'front', 'base-mem')
OF_MEMORY = ('ours-mem', 'base-mem', 'nbdkit-mem', 'limit')
OF_MANY_EXPORTS = ('ours', 'base', 'nbdkit-file', 'nbd-server')


@dataclasses.dataclass(frozen=True)
class Address:
    """Where a server listens: a Unix socket, or a port of this machine's own. `tls` is the folder of
    the certificates, if clients have to speak TLS."""
    path: str
    port: int = 0
    tls: str = ''

    def uri(self, export):
        scheme = 'nbds' if self.tls else 'nbd'
        query = f'?tls-certificates={self.tls}' if self.tls else ''
        if self.port:
            return f'{scheme}://{HOST}:{self.port}/{export}{query}'
        return f'{scheme}+unix:///{export}?socket={self.path}'

    def greets(self):
        """Whether an NBD server is there: its socket exists before all servers listen."""
        with socket.socket(socket.AF_INET if self.port else socket.AF_UNIX) as probe:
            probe.settimeout(1)
            try:
                probe.connect((HOST, self.port) if self.port else self.path)
                return probe.recv(8) == b'NBDMAGIC'
            except OSError:
                return False


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


class Server:
    """A server under test, started once and used in every round. Its socket, log and (if it has any)
    configuration stand in the scratch folder under its name. `recipe` makes its command line from an
    address."""

    export = ''
    ATTEMPTS = 5

    def __init__(self, name, recipe, bench):
        self.name = name
        self.recipe = recipe
        self.bench = bench
        self.address = None
        self.log = bench.path(f'{name}.log')
        self.pid = None

    @property
    def uri(self):
        assert self.address is not None
        return self.address.uri(self.export)

    def start(self):
        # Nothing reserves a port across the exec: another process may take it first, so we try again.
        for _ in range(self.ATTEMPTS if self.bench.transport != 'unix' else 1):
            self.address = self.new_address()
            self.spawn()
            if self.pid is not None and self.becomes_ready():
                return
            self.stop()
        with open(self.log, encoding='utf-8', errors='replace') as log:
            said = log.read().strip() or 'it said nothing'
        raise Failure(f'{self.name} did not start: {said}')

    def new_address(self):
        tcp = self.bench.transport != 'unix'
        return Address(path=self.bench.path(f'{self.name}.sock'), port=free_port() if tcp else 0,
                       tls=self.bench.certificates() if self.bench.transport == 'tls' else '')

    def becomes_ready(self):
        wait_until(lambda: self.address.greets() or has_ended(self.pid), READY_SECONDS)
        return not has_ended(self.pid) and self.address.greets()

    def spawn(self):
        environment = dict(os.environ, KSTAT_DIR=self.bench.path('kstat'))
        with open(self.log, 'wb') as log:
            # Kept, or the module would wait for it behind our back.
            self.process = subprocess.Popen(self.recipe(self.address), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=environment)
        self.pid = self.process.pid

    def stop(self):
        if self.pid is not None:
            end_process(self.pid)
            self.pid = None
        if os.path.exists(self.address.path):
            os.unlink(self.address.path)


class Behind(Server):
    """The server behind another one. No load is for it."""

    def new_address(self):
        return Address(path=self.bench.path(f'{self.name}.sock'))


class Front(Server):
    """Ours in front of another one of ours. The other's processor time does not count."""

    def __init__(self, bench, binary, backing):
        self.behind = Behind('behind', blkscope(binary, [backing]), bench)
        super().__init__('front', lambda address: blkscope(binary, [f'disk={self.behind.uri}'])(address), bench)

    def start(self):
        self.behind.start()
        super().start()

    def stop(self):
        super().stop()
        self.behind.stop()


class NbdServer(Server):
    """nbd-server always leaves the foreground and always needs a TCP port beside its Unix socket."""

    ATTEMPTS = 5

    def __init__(self, bench, exports):
        super().__init__('nbd-server', self.configure, bench)
        assert exports
        self.exports = exports  # {name: path}
        self.export = next(iter(exports))

    def start(self):
        for attempt in range(self.ATTEMPTS):
            try:
                return super().start()
            except Failure:
                if attempt == self.ATTEMPTS - 1:
                    raise

    def configure(self, address):
        path = self.bench.path(f'{self.name}.conf')
        lines = ['[generic]', f'listenaddr = {HOST}', f'port = {address.port or free_port()}']
        if not address.port:
            lines.append(f'unixsock = {address.path}')
        if address.tls:
            lines += [f'certfile = {address.tls}/server-cert.pem', f'keyfile = {address.tls}/server-key.pem',
                      f'cacertfile = {address.tls}/ca-cert.pem', 'force_tls = true']
        for name, file in self.exports.items():
            lines += [f'[{name}]', f'exportname = {file}']
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
        return path

    def spawn(self):
        pid_file = self.bench.path(f'{self.name}.pid')
        with open(self.log, 'wb') as log:
            subprocess.run(['nbd-server', '-C', self.configure(self.address), '-p', pid_file],
                           check=False, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = wait_until(lambda: self.daemon_pid(pid_file), 2)
        if self.pid is not None:
            os.unlink(pid_file)

    @staticmethod
    def daemon_pid(pid_file):
        try:
            with open(pid_file, encoding='utf-8') as file:
                return int(file.read())
        except (OSError, ValueError):
            return None


# --- command lines -------------------------------------------------------------------------------


def shares_by_force(binary):
    """Whether the server has the option; an older build shares an image without it."""
    return '--force-shared' in subprocess.run([binary, 'serve', '--help'], capture_output=True, text=True,
                                              check=False).stdout


def blkscope(binary, backings, *more):
    """All servers are up at once, on one image: each load is for one of them at a time."""
    def recipe(address):
        where = ['--port', str(address.port), '--bind', HOST] if address.port else ['--unix', address.path]
        tls = ['--tls', 'require', '--tls-certs', address.tls] if address.tls else []
        shared = ['--force-shared'] if shares_by_force(binary) else []
        return [binary, 'serve', *backings, *where, *tls, *shared, *more]
    return recipe


def nbdkit(*plugin):
    def recipe(address):
        where = ['-i', HOST, '-p', str(address.port)] if address.port else ['-U', address.path]
        tls = ['--tls=require', f'--tls-certificates={address.tls}'] if address.tls else []
        return ['nbdkit', '-f', *where, *tls, *plugin]
    return recipe


def qemu_nbd(image):
    def recipe(address):
        where = ['-b', HOST, '-p', str(address.port)] if address.port else ['-k', address.path]
        tls = ['--object', f'tls-creds-x509,id=tls,endpoint=server,verify-peer=no,dir={address.tls}',
               '--tls-creds', 'tls'] if address.tls else []
        return ['qemu-nbd', '-t', *where, *tls, '-f', 'raw', '-e', str(CONNECTIONS_MAX),
                '--aio=io_uring', image]
    return recipe


def limit_server(binary, mib, form):
    def recipe(address):
        return [binary, str(address.port) if address.port else address.path, str(mib), *form]
    return recipe


# --- by name -------------------------------------------------------------------------------------


def why_missing(name, options):
    """Why a server cannot take part; None if it can."""
    if name in LIMITS:
        if options.transport == 'tls':
            return 'it speaks no TLS'
        return None if shutil.which('cc') else 'no C compiler (cc)'
    if name == 'versus' and not options.versus:
        return 'name a second build with --versus'
    if name in BASES and not options.base:
        return 'name a second build with --against'
    binary = binary_of(name, options)
    if shutil.which(binary) is not None:
        return None
    if name in OURS + BASES:
        return f'no {binary}' + ('; build it, or name it with --server' if name.startswith('ours') else '')
    return f'{binary} is not installed'


def binary_of(name, options):
    assert name in ALL and name not in LIMITS
    return {'versus': options.versus, 'base': options.base, 'base-mem': options.base,
            'nbdkit-file': 'nbdkit', 'nbdkit-mem': 'nbdkit'}.get(
                name, options.server if name in OURS else name)


def make_server(name, bench):
    """The server of that name on the image, or on memory of the image's size."""
    options = bench.options
    assert why_missing(name, options) is None
    image = bench.image.path
    size = f'{options.image_mib}M'
    if name == 'nbd-server':
        return NbdServer(bench, {'default': image})
    if name == 'front':
        return Front(bench, options.server, image)
    if name in LIMITS:
        form = ['structured'] if name == 'limit-sr' else []
        return Server(name, limit_server(bench.limit_binary(), options.image_mib, form), bench)
    return Server(name, {
        'ours': blkscope(options.server, [image]),
        'ours-simple': blkscope(options.server, [image], '--replies', 'simple'),
        'ours-mem': blkscope(options.server, [f'memory:{size}']),
        'versus': blkscope(options.versus, [image], *options.versus_options),
        'base': blkscope(options.base, [image]),
        'base-mem': blkscope(options.base, [f'memory:{size}']),
        'nbdkit-file': nbdkit('file', image),
        'nbdkit-mem': nbdkit('memory', size),
        'qemu-nbd': qemu_nbd(image),
    }[name], bench)


def make_server_of_many(name, bench, exports):
    """The server of that name with many exports, {name: path}, all in one folder."""
    assert name in OF_MANY_EXPORTS and why_missing(name, bench.options) is None
    if name == 'nbd-server':
        return NbdServer(bench, exports)
    if name == 'nbdkit-file':
        server = Server(name, nbdkit('file', f'dir={os.path.dirname(next(iter(exports.values())))}'), bench)
    else:
        server = Server(name, blkscope(binary_of(name, bench.options),
                                       [f'{export}={path}' for export, path in exports.items()]), bench)
    server.export = next(iter(exports))
    return server
