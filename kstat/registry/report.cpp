#include "kstat/registry/report.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace blkscope::kstat {
namespace {

// One call, so that lines of several threads or processes do not mix.
void print_line(const char* format, va_list arguments) {
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    std::fprintf(stderr, "%s\n", line);
}

}  // namespace

void warn(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

void panic(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    std::abort();
}

}  // namespace blkscope::kstat
