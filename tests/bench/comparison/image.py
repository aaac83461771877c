"""The image that the servers share: how the page cache holds it decides more than any server's code.

The kernel keeps a file's pages in folios, runs of pages that are managed together. A file that was read
in sequence with read-ahead has large ones; a file that was read 4 KiB at a time at random, as a database
leaves it, has a folio for each page. On ext4 since Linux 6.16 each write(2) walks all buffers of the folio
that it changes: a small write costs several times more in large folios. A copy to a mapping costs more in
small ones, which need a page fault for each page.

Some machines take idle page cache away within seconds. A server of the image would then be timed with
disk reads, and one that serves its own memory would not. So the image is locked into memory (mlock).
"""
import ctypes
import errno
import mmap
import os
import random
import resource
import statistics
import struct
import sys

from comparison import Failure

MIB = 1 << 20
FOLIOS = ('large', 'small')
PFN_MASK = (1 << 55) - 1  # of an entry of /proc/PID/pagemap
COMPOUND_TAIL = 1 << 16   # of an entry of /proc/kpageflags: a page of a folio that is not its first

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
for call in (libc.mlock, libc.munmap):
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
MAP_FAILED = ctypes.c_void_p(-1).value


def warn(text):
    print(f'compare: {text}', file=sys.stderr)


class Image:
    """A file of ones (\\x01, not zeroes, which a server might not send), and our mapping of it."""

    def __init__(self, path, mib):
        assert mib > 0
        self.path = path
        self.bytes = mib * MIB
        self.mapping = None

    def create(self):
        with open(self.path, 'wb') as file:
            for _ in range(self.bytes // MIB):
                file.write(b'\x01' * MIB)
            file.flush()
            os.fsync(file.fileno())  # or the first cases would share the machine with write-back

    def load(self, folios):
        """Reads the whole image into the page cache anew, in such folios, and pins it there. No other
        process may have it mapped. Returns folio_kib(), or None if the image could not be pinned."""
        assert folios in FOLIOS
        self.unpin()
        fd = os.open(self.path, os.O_RDWR)
        try:
            os.fsync(fd)  # a dirty page would stay
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            self.map(fd)
            if (resident := self.resident_pages()) > 0:
                warn(f'{resident} pages of the image stayed in the page cache: their folios are as they were')
            small = folios == 'small'
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM if small else os.POSIX_FADV_SEQUENTIAL)
            step = mmap.PAGESIZE if small else MIB
            offsets = list(range(0, self.bytes, step))
            if small:
                random.Random(1).shuffle(offsets)
            for offset in offsets:
                os.pread(fd, step, offset)
        finally:
            os.close(fd)
        return self.folio_kib() if self.pin() else None

    def map(self, fd):
        assert self.mapping is None
        self.mapping = libc.mmap(None, self.bytes, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if self.mapping == MAP_FAILED:
            self.mapping = None
            raise Failure(f'cannot map the image: {os.strerror(ctypes.get_errno())}')

    def resident_pages(self):
        assert self.mapping is not None
        vector = (ctypes.c_ubyte * (self.bytes // mmap.PAGESIZE))()
        if libc.mincore(self.mapping, self.bytes, vector) != 0:
            raise Failure(f'mincore: {os.strerror(ctypes.get_errno())}')
        return sum(page & 1 for page in vector)

    def pin(self):
        """Locks the image into memory until unpin(). Returns whether this was allowed."""
        assert self.mapping is not None
        soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
        if libc.mlock(self.mapping, self.bytes) == 0:
            return True
        error = ctypes.get_errno()
        why = os.strerror(error)
        if error in (errno.ENOMEM, errno.EPERM, errno.EAGAIN) and 0 <= hard < self.bytes:
            why = (f'RLIMIT_MEMLOCK allows {hard // 1024} KiB of its {self.bytes // 1024}; raise the limit'
                   ' (ulimit -l), or be root')
        warn(f'the image is not pinned in the page cache, so servers of it may be timed with disk reads: {why}')
        return False

    def unpin(self):
        if self.mapping is not None:
            libc.munmap(self.mapping, self.bytes)
            self.mapping = None

    def folio_kib(self):
        """Half of the image's pages are in folios of so many KiB or more. None if only root may read that.
        The mean of all folios would say less: the few small ones of an image outnumber its large ones."""
        assert self.mapping is not None and self.mapping % mmap.PAGESIZE == 0
        pages = self.bytes // mmap.PAGESIZE
        sizes = []  # in pages, of the folios as they follow each other in the file
        try:
            with open('/proc/self/pagemap', 'rb', buffering=0) as pagemap, \
                    open('/proc/kpageflags', 'rb', buffering=0) as flags:
                pagemap.seek(self.mapping // mmap.PAGESIZE * 8)
                for entry in struct.unpack(f'{pages}Q', pagemap.read(pages * 8)):
                    flag, = struct.unpack('Q', os.pread(flags.fileno(), 8, (entry & PFN_MASK) * 8))
                    if flag & COMPOUND_TAIL and sizes:
                        sizes[-1] += 1
                    else:
                        sizes.append(1)
        except (OSError, struct.error):
            return None
        assert sum(sizes) == pages
        return statistics.median_low(size for size in sizes for _ in range(size)) * mmap.PAGESIZE // 1024
