// Functions of FreeBSD's C library that Linux does not have: see the headers of the same names.
#include <err.h>
#include <libutil.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

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
    const char* const wish = secure_getenv("BLOCKSIZE");
    uint64_t bytes = smallest;
    if (wish != nullptr && *wish != '\0' &&
        (expand_number(wish, &bytes) == -1 || bytes < smallest || bytes > largest)) {
        warnx("%s: not a block size between 512 and 1G", wish);
        bytes = smallest;
    }
    *size = static_cast<long>(bytes) / smallest * smallest;
    int shift = 0;
    while (shift < 30 && *size % (1L << (shift + 10)) == 0) shift += 10;
    constexpr const char* prefixes[] = {"", "K", "M", "G"};
    *length = snprintf(title, sizeof title, "%ld%s-blocks", *size >> shift, prefixes[shift / 10]);
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
