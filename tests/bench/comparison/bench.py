"""The bench: a scratch folder with the image, the servers that run, and the rounds."""
import os
import shutil
import subprocess
import sys
import tempfile

from comparison import Failure, loads, servers
from comparison.image import Image
from comparison.processes import end_all_children

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
CERTIFICATES = {
    'ca': 'cn = "compare"\nca\ncert_signing_key\nexpiration_days = 2\n',
    'server': f'cn = "localhost"\ndns_name = "localhost"\nip_address = "{servers.HOST}"\n'
              'tls_www_server\nsigning_key\nencryption_key\nexpiration_days = 2\n',
    # nbd-server alone asks for it.
    'client': 'cn = "localhost"\ntls_www_client\nsigning_key\nencryption_key\nexpiration_days = 2\n',
}


class Bench:
    def __init__(self, options):
        self.options = options
        self.transport = options.transport
        self.folder = tempfile.mkdtemp(prefix='compare.', dir=options.dir)
        self.image = Image(self.path('disk.img'), options.image_mib)
        self.servers = []
        os.mkdir(self.path('kstat'), 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop_servers()
        end_all_children()
        self.image.unpin()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def limit_binary(self):
        binary = self.path('limit_server')
        if not os.path.exists(binary):
            subprocess.run(['cc', '-std=gnu11', '-O2', '-o', binary,
                            os.path.join(HERE, 'limit_server.c')], check=True)
        return binary

    def certificates(self):
        """The folder of a certificate for this machine, made once, under the file names that all servers use."""
        folder = self.path('tls')
        if os.path.isdir(folder):
            return folder
        os.mkdir(folder, 0o700)
        authority = ['--load-ca-certificate', f'{folder}/ca-cert.pem',
                     '--load-ca-privkey', f'{folder}/ca-key.pem']
        for name, template in CERTIFICATES.items():
            with open(f'{folder}/{name}.template', 'w', encoding='ascii') as file:
                file.write(template)
            self.certtool('--generate-privkey', '--key-type', 'ecdsa', '--outfile', f'{folder}/{name}-key.pem')
            self.certtool(*(['--generate-self-signed'] if name == 'ca' else
                            ['--generate-certificate', *authority]),
                          '--load-privkey', f'{folder}/{name}-key.pem',
                          '--template', f'{folder}/{name}.template', '--outfile', f'{folder}/{name}-cert.pem')
        return folder

    @staticmethod
    def certtool(*words):
        if shutil.which('certtool') is None:
            raise Failure('certtool is not installed; run tools/install-deps test')
        run = subprocess.run(['certtool', *words], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, check=False)
        if run.returncode != 0:
            raise Failure(f'certtool {words[0]}: {run.stderr.strip()}')

    def available(self, names):
        """The names of the servers that can take part; prints the names of those that cannot."""
        there = []
        for name in names:
            if why := servers.why_missing(name, self.options):
                print(f'{name} is missing: {why}', file=sys.stderr)
            else:
                there.append(name)
        if not there:
            raise Failure('none of the servers is here; install one with tools/install-deps test')
        return there

    def load_image(self, folios):
        """Puts the image into the page cache in such folios. No server may run: its mapping of the image
        would keep the pages, and their folios, where they are."""
        assert not self.servers
        if not os.path.exists(self.image.path):
            self.image.create()
        kib = self.image.load(folios)
        print(f'\npage cache in {folios} folios' + ('' if kib is None else f' of {kib} KiB'),
              flush=True)
        return kib

    def start_servers(self, names):
        """Starts them, and writes every block once through each."""
        for name in self.available(names):
            self.start_server(servers.make_server(name, self))
            loads.touch_all(self.servers[-1])

    def start_server(self, server):
        self.servers.append(server)
        server.start()
        assert server.pid is not None

    def stop_servers(self):
        while self.servers:
            self.servers.pop().stop()

    def rounds(self, cases, count):
        """{case: {server: its samples, one a round}} of cases that take turns in each round. A peer that
        cannot do a case is left out of it: in a grid of an hour that is no reason to stop."""
        samples = {case: {server.name: [] for server in self.servers} for case in cases}
        for number in range(count):
            first = number % len(self.servers)
            for case in cases:
                for server in self.servers[first:] + self.servers[:first]:
                    if server.name not in samples[case]:
                        continue
                    try:
                        samples[case][server.name].append(loads.sample(server, case))
                    except Failure as failure:
                        if server.name not in servers.PEERS:
                            raise
                        del samples[case][server.name]
                        print(f'{server.name} is left out of {case}: {failure}', file=sys.stderr)
        if not all(samples.values()):
            raise Failure('no server could do a case')
        assert all(len(rounds) == count for by_name in samples.values() for rounds in by_name.values())
        return samples
