// A library to be preloaded into a server: counts what the whole process takes from the heap.
//
// The count is the first eight bytes of the file that ALLOCATION_COUNT names, shared with the test.
// Every form of new ends in malloc, so C and C++ are counted alike. Freeing is not counted. The
// allocations of OpenSSL are left out: it allocates for each record, and we cannot prevent that.

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {

// glibc's own functions of these names.
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

uint64_t before_start = 0;  // counted until the file is there
uint64_t* count = &before_start;

struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
};
Range openssl;

void note_allocation(const void* caller) {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    if (address >= openssl.begin && address < openssl.end) return;
    std::atomic_ref<uint64_t>(*count).fetch_add(1, std::memory_order_relaxed);
}

// Where the code is that OpenSSL allocates with, all of which is in one of its two libraries.
int find_openssl(dl_phdr_info* library, size_t, void*) {
    if (std::strstr(library->dlpi_name, "libcrypto.so") == nullptr) return 0;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const auto& segment = library->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
        openssl.begin = library->dlpi_addr + segment.p_vaddr;
        openssl.end = openssl.begin + segment.p_memsz;
    }
    return 1;
}

__attribute__((constructor)) void open_count() {
    dl_iterate_phdr(find_openssl, nullptr);
    const char* path = std::getenv("ALLOCATION_COUNT");
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void* shared = mmap(nullptr, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared != MAP_FAILED) count = static_cast<uint64_t*>(shared);
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {
    note_allocation(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void* calloc(size_t number, size_t bytes) {
    note_allocation(__builtin_return_address(0));
    return __libc_calloc(number, bytes);
}

void* realloc(void* memory, size_t bytes) {
    note_allocation(__builtin_return_address(0));
    return __libc_realloc(memory, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
    note_allocation(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
    note_allocation(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
    note_allocation(__builtin_return_address(0));
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}
}
