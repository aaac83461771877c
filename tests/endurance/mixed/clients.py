"""Clients of the mixed load: those that verify what they read, and those that come and go.

A verifying client writes numbered data to a region of its own, and accepts only what the region may hold:

    a write that succeeded           its own data
    a write that failed              its own data or the data before it
    after a loss of power            in each sector any data since the last flush

Data is in Python's own bytes, because an nbd.Buffer that a request had is never freed by libnbd 1.14.

Units:     blocks of 4 KiB; seconds.
Errors:    Failure for a wrong byte, an error without a fault, and a server that does not answer.
"""
import errno
import random
import struct
import time

from endurance import Failure

BLOCK, SECTOR = 4096, 512
ANSWER_SECONDS = 30  # for any request of a verifying client
REGION_BLOCKS = 1024
SIZES = (1, 1, 1, 1, 2, 4, 16, 64)
FILL_BYTES = 4 << 20
ENTRY_SECONDS = 20   # for a handshake of an honest client


def connect(nbd, world, export, tls=False, gaps=None):
    """A connected client. The client may have to wait for a place, but not for long.

    `gaps` gets the times between the client's looks at its handshake.
    """
    handle = nbd.NBD()
    if tls:
        handle.set_tls(nbd.TLS_REQUIRE)
        handle.set_tls_verify_peer(False)
        handle.set_tls_certificates(str(world.folder / 'tls'))
    handle.set_export_name(export)
    handle.aio_connect_unix(str(world.socket))
    looked = time.monotonic()
    end = looked + ENTRY_SECONDS
    while handle.aio_is_connecting():
        if time.monotonic() > end:
            raise Failure(f'no handshake with {export} within {ENTRY_SECONDS} s')
        try:
            handle.poll(200)
        finally:
            before, looked = looked, time.monotonic()
            if gaps is not None:
                gaps.append(looked - before)
    return handle


def fill(nbd, world, export):
    """Writes zeroes everywhere, so that a memory export has all its memory from the start. Faults may refuse some."""
    handle = connect(nbd, world, export)
    for at in range(0, handle.get_size(), FILL_BYTES):
        try:
            handle.pwrite(bytes(FILL_BYTES), at)
        except nbd.Error:
            if is_over(handle):
                handle = connect(nbd, world, export)


def is_over(handle):
    return handle.aio_is_dead() or handle.aio_is_closed()


class Region:
    """The versions that each block of a region may hold now, and after a loss of power."""

    def __init__(self, first_block, blocks):
        self.first, self.blocks = first_block, blocks
        self.version = 0
        self.allowed = [[0] for _ in range(blocks)]
        self.unflushed = [[0] for _ in range(blocks)]

    def word(self, block, version):
        return struct.pack('<Q', version << 32 | block + 1) if version else bytes(8)

    def data(self, at, count, version):
        return b''.join(self.word(at + i, version) * (BLOCK // 8) for i in range(count))

    def ended(self, at, count, version, succeeded, stable=False):
        """A write has its answer. `stable`: it was written through."""
        for block in range(at, at + count):
            self.allowed[block] = [version] if succeeded else self.allowed[block] + [version]
            kept = succeeded and stable
            self.unflushed[block] = [version] if kept else self.unflushed[block] + [version]

    def flushed(self):
        self.unflushed = [list(versions) for versions in self.allowed]

    def lost_power(self):
        self.allowed = [list(versions) for versions in self.unflushed]

    def check(self, at, data):
        for i in range(len(data) // BLOCK):
            block, part = at + i, data[i * BLOCK:(i + 1) * BLOCK]
            versions = self.allowed[block]
            if part == self.word(block, versions[-1]) * (BLOCK // 8):
                continue
            good = [self.word(block, version) * (SECTOR // 8) for version in versions]
            for first in range(0, BLOCK, SECTOR):
                if part[first:first + SECTOR] not in good:
                    raise Failure(f'block {block}: {part[first:first + 8].hex()}, allowed: versions {versions[-4:]}')


class Verifier:
    def __init__(self, nbd, world, export, beat, errors, loses_power):
        self.nbd, self.world, self.export, self.beat = nbd, world, export, beat
        self.errors, self.loses_power = errors, loses_power
        self.region = Region(0, REGION_BLOCKS)
        self.handle = connect(nbd, world, export)
        self.counts = {'requests': 0, 'bytes': 0, 'errors': 0, 'reconnects': 0}

    def draw_batch(self):
        """Runs of blocks that do not overlap: [(first, count, kind)]."""
        batch, at = [], random.randrange(64)
        for _ in range(random.randint(1, 8)):
            count = random.choice(SIZES)
            if at + count > REGION_BLOCKS:
                break
            batch.append((at, count, random.choice(('read', 'read', 'write', 'write', 'zeroes'))))
            at += count + random.randrange(REGION_BLOCKS // 8)
        return batch

    def begin(self, at, count, kind, version, flags):
        """Returns the cookie and the buffer of a read."""
        handle = self.handle
        if kind == 'read':
            buffer = bytearray(count * BLOCK)
            return handle.aio_pread(buffer, at * BLOCK), buffer
        if kind == 'write':
            data = self.region.data(at, count, version)
            return handle.aio_pwrite(data, at * BLOCK, flags=flags), None
        return handle.aio_zero(count * BLOCK, at * BLOCK, flags=flags), None

    def wait(self, cookie):
        """The errno of a request; 0 for none. The connection may be over then."""
        end = time.monotonic() + ANSWER_SECONDS
        try:
            while not self.handle.aio_command_completed(cookie):
                if is_over(self.handle):
                    return errno.ENOTCONN
                if time.monotonic() > end:
                    raise Failure(f'{self.export}: no answer within {ANSWER_SECONDS} s')
                self.handle.poll(1000)
                self.beat()
            return 0
        except self.nbd.Error as error:
            return error.errnum or errno.EIO

    def judge(self, error):
        """Refuses an error that nothing explains."""
        self.counts['errors'] += 1
        if is_over(self.handle):
            if not self.loses_power:
                raise Failure(f'{self.export}: the connection was closed')
        elif error not in self.errors:
            raise Failure(f'{self.export}: {errno.errorcode.get(error, error)} without a fault')

    def run_batch(self):
        requests = []
        for at, count, kind in self.draw_batch():
            self.region.version += 1
            version = 0 if kind == 'zeroes' else self.region.version
            fua = random.choice((0, 0, 0, self.nbd.CMD_FLAG_FUA))
            try:
                requests.append((at, count, kind, version, fua, *self.begin(at, count, kind, version, fua)))
            except self.nbd.Error as error:
                self.judge(error.errnum)
                break
        for at, count, kind, version, fua, cookie, buffer in requests:
            error = self.wait(cookie)
            self.counts['requests'] += 1
            self.counts['bytes'] += count * BLOCK
            if error:
                self.judge(error)
            if kind != 'read':
                self.region.ended(at, count, version, error == 0, fua != 0)
            elif not error:
                self.region.check(at, bytes(buffer))

    def flush(self):
        try:
            error = self.wait(self.handle.aio_flush())
        except self.nbd.Error as failed:
            error = failed.errnum
        if error:
            return self.judge(error)
        return self.region.flushed()

    def come_back(self):
        """After a loss of power: all blocks hold what they may hold, and are then written anew."""
        self.counts['reconnects'] += 1
        self.handle = connect(self.nbd, self.world, self.export)
        self.region.lost_power()
        try:
            if self.read_all() and self.write_all():
                self.flush()
        except self.nbd.Error:
            if not is_over(self.handle):  # the power is lost again
                raise

    def read_all(self):
        for at in range(0, REGION_BLOCKS, 64):
            buffer = bytearray(64 * BLOCK)
            error = self.wait(self.handle.aio_pread(buffer, at * BLOCK))
            if error:
                self.judge(error)
                return False
            self.region.check(at, bytes(buffer))
        return True

    def write_all(self):
        self.region.version += 1
        for at in range(0, REGION_BLOCKS, 64):
            data = self.region.data(at, 64, self.region.version)
            cookie = self.handle.aio_pwrite(data, at * BLOCK)
            error = self.wait(cookie)
            self.region.ended(at, 64, self.region.version, not error)
            if error:
                self.judge(error)
                return False
        return True

    def run(self, pause_seconds):
        while self.world.left() > 0:
            self.beat()
            if is_over(self.handle):
                self.come_back()
                continue
            self.run_batch()
            if random.random() < 0.1:
                self.flush()
            time.sleep(random.uniform(0, 2 * pause_seconds))
        return self.counts


def verify(export, errors=(), loses_power=False, pause_seconds=0.05):
    """A verifying client of an export, on which only these errors are allowed."""
    def run(world, beat):
        import nbd  # pylint: disable=import-outside-toplevel
        return Verifier(nbd, world, export, beat, errors, loses_power).run(pause_seconds)
    return run


# --- clients that come and go ----------------------------------------------------------------------

EXPORTS = ('file', 'direct', 'modelled', 'faulty', 'crash', 'bait', 'front', 'later')
TAIL_BYTES = 4 << 20   # the last part of each export, which no client verifies
PATIENCE_SECONDS = 3   # with an export that has faults
HELD_UP_SECONDS = 2    # a client that takes longer between two looks is too late by itself


def visit(nbd, world, export):
    """A few requests of any kind. Returns how the visit ended."""
    gaps = []
    try:
        handle = connect(nbd, world, export, tls=random.random() < 0.1, gaps=gaps)
    except nbd.Error as error:
        if max(gaps, default=0) > HELD_UP_SECONDS:
            return 'held up by the machine'
        if export != 'later':
            raise Failure(f'{export} refused an honest client after {sum(gaps):.1f} s: {error}') from error
        return 'refused'
    size = handle.get_size()
    end = time.monotonic() + PATIENCE_SECONDS
    try:
        cookies = [begin_any(nbd, handle, size) for _ in range(random.randint(1, 24))]
        if random.random() < 0.2:
            return 'closed at once'  # the handle is dropped with requests under way
        while cookies and time.monotonic() < end:
            handle.poll(100)
            cookies = [cookie for cookie in cookies if not completed(nbd, handle, cookie)]
        if cookies:
            return 'lost patience'
        handle.shutdown()
        return 'answered'
    except nbd.Error:
        return 'closed by the server'


def begin_any(nbd, handle, size):
    length = min(size, random.choice((512, 4096, 4096, 65536, 1 << 20)))
    offset = random.randrange(max(0, size - TAIL_BYTES), size - length + 1) // 512 * 512
    draw = random.random()
    if draw < 0.5:
        return handle.aio_pread(bytearray(length), offset)
    if draw < 0.8:
        return handle.aio_pwrite(bytes(length), offset)
    if draw < 0.9:
        return handle.aio_flush()
    return handle.aio_trim(length, offset)


def completed(nbd, handle, cookie):
    try:
        return handle.aio_command_completed(cookie)
    except nbd.Error:
        if is_over(handle):
            raise
        return True


def come_and_go(world, beat):
    import nbd  # pylint: disable=import-outside-toplevel
    counts = {}
    while world.left() > 0:
        ended = visit(nbd, world, random.choice(EXPORTS))
        counts[ended] = counts.get(ended, 0) + 1
        beat()
        time.sleep(random.uniform(0, 0.2))
    return counts
