// Functions of FreeBSD's C library that Linux does not have: see the headers of the same names.
#include <err.h>
#include <libutil.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <string_view>

namespace {

// A number of bytes is count << shift.
struct BlockSize {
    long count;
    int shift;
};

// Reads decimal digits and at most one of K, M and G. A letter alone counts as one. NULL is no wish.
BlockSize wished_block_size(const char* wish) {
    constexpr BlockSize usual{.count = 512, .shift = 0};
    if (wish == nullptr || *wish == '\0') return usual;
    char* end = nullptr;
    const long digits = strtol(wish, &end, 10);
    const long count = digits < 0 ? 0 : std::max(digits, 1L);
    constexpr std::string_view letters = "kmg";
    const auto letter =
        letters.find(static_cast<char>(std::tolower(static_cast<unsigned char>(*end))));
    if (*end == '\0') return {.count = count, .shift = 0};
    if (letter == letters.npos || end[1] != '\0') {
        warnx("%s: unknown blocksize", wish);
        return usual;
    }
    return {.count = count, .shift = 10 * (static_cast<int>(letter) + 1)};
}

}  // namespace

extern "C" {

size_t strlcpy(char* to, const char* from, size_t size) {
    const size_t length = strlen(from);
    if (size > 0) {
        const size_t fits = std::min(length, size - 1);
        memcpy(to, from, fits);
        to[fits] = '\0';
    }
    return length;
}

size_t strlcat(char* to, const char* from, size_t size) {
    const size_t before = strnlen(to, size);
    return before + strlcpy(to + before, from, size - before);
}

char* strnstr(const char* in, const char* what, size_t size) {
    return static_cast<char*>(memmem(in, strnlen(in, size), what, strlen(what)));
}

const char* getprogname(void) {
    return program_invocation_short_name;
}

void setprogname(const char* name) {
    const char* const slash = strrchr(name, '/');
    program_invocation_short_name = __DECONST(char*, slash != nullptr ? slash + 1 : name);
}

void* reallocf(void* memory, size_t size) {
    void* const grown = realloc(memory, size);
    if (grown == nullptr && size != 0) free(memory);
    return grown;
}

char* getbsize(int* length, long* size) {
    constexpr long smallest = 512;
    constexpr long largest = 1L << 30;
    static char title[32];
    const BlockSize wish = wished_block_size(secure_getenv("BLOCKSIZE"));
    BlockSize unit = wish;
    if (wish.count > largest >> wish.shift) {
        warnx("maximum blocksize is 1G");
        unit.count = largest >> wish.shift;
    } else if (wish.count << wish.shift < smallest) {
        warnx("minimum blocksize is 512");
        unit = {.count = smallest, .shift = 0};
    }
    *size = unit.count << unit.shift;
    constexpr const char* suffixes[] = {"", "K", "M", "G"};
    *length = snprintf(title, sizeof title, "%ld%s-blocks", unit.count, suffixes[unit.shift / 10]);
    return title;
}

int getosreldate(void) {
    return __FreeBSD_version;
}

void verrc(int status, int error, const char* format, va_list arguments) {
    errno = error;
    verr(status, format, arguments);
}

void errc(int status, int error, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    verrc(status, error, format, arguments);
}

void vwarnc(int error, const char* format, va_list arguments) {
    const int before = errno;
    errno = error;
    vwarn(format, arguments);
    errno = before;
}

void warnc(int error, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vwarnc(error, format, arguments);
    va_end(arguments);
}

}  // extern "C"
