// Numbers for people, and from them: humanize_number, expand_number and strtonum.
#include <inttypes.h>
#include <libutil.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <string>

namespace {

__extension__ using Wide = unsigned __int128;

constexpr int scale_max = 6;  // exa
constexpr std::array<const char*, scale_max + 1> si{"", "k", "M", "G", "T", "P", "E"};
constexpr std::array<const char*, scale_max + 1> traditional{"", "K", "M", "G", "T", "P", "E"};
constexpr std::array<const char*, scale_max + 1> iec{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

const char* prefix_of(int scale, int flags) {
    if (scale == 0) return (flags & HN_B) != 0 ? "B" : "";
    const auto at = static_cast<size_t>(scale);
    if ((flags & HN_DIVISOR_1000) != 0) return si[at];
    return (flags & HN_IEC_PREFIXES) != 0 ? iec[at] : traditional[at];
}

Wide power(unsigned base, int exponent) {
    Wide result = 1;
    while (exponent-- > 0) result *= base;
    return result;
}

Wide rounded(Wide number, Wide divisor) {
    return (number + divisor / 2) / divisor;
}

// The least scale at which the number has at most `columns` digits.
int fitting_scale(Wide number, unsigned base, int columns) {
    const Wide limit = power(10, std::min(columns, 20));  // 64 bits have no more digits
    int scale = 0;
    while (scale < scale_max && rounded(number, power(base, scale)) >= limit) ++scale;
    return scale;
}

// With one digit behind the point, where wished for, there is room, and it is less than 10.
std::string digits_of(Wide number, Wide divisor, bool with_point) {
    const Wide tenths = rounded(number * 10, divisor);
    if (with_point && tenths < 100) {
        const auto small = static_cast<unsigned>(tenths);
        return std::to_string(small / 10) + "." + std::to_string(small % 10);
    }
    return std::to_string(static_cast<uint64_t>(rounded(number, divisor)));
}

int power_of_prefix(int prefix) {
    static constexpr char prefixes[] = "kmgtpe";
    const char* const at = prefix == '\0' ? nullptr : strchr(prefixes, std::tolower(prefix));
    return at == nullptr ? 0 : static_cast<int>(at - prefixes) + 1;
}

}  // namespace

extern "C" {

// NOLINTNEXTLINE(readability-function-size): the parameters are FreeBSD's
int humanize_number(char* buffer, size_t size, int64_t number, const char* suffix, int scale,
                    int flags) {
    if (buffer == nullptr || suffix == nullptr || scale < 0) return -1;
    const bool automatic = (scale & (HN_AUTOSCALE | HN_GETSCALE)) != 0;
    if (!automatic && scale > scale_max) return -1;
    const bool decimal_base = (flags & HN_DIVISOR_1000) != 0;
    if (decimal_base && (flags & HN_IEC_PREFIXES) != 0) return -1;
    if (size > 0) buffer[0] = '\0';

    const unsigned base = decimal_base ? 1000 : 1024;
    const bool negative = number < 0;
    const Wide magnitude = negative ? -static_cast<Wide>(number) : static_cast<Wide>(number);
    const char* const space = (flags & HN_NOSPACE) != 0 ? "" : " ";
    const size_t around = (negative ? 1 : 0) + strlen(space) + strlen(suffix) +
                          ((flags & HN_IEC_PREFIXES) != 0 ? 2 : 1) + 1;  // prefix and NUL
    if (size <= around) return -1;
    const int columns = static_cast<int>(std::min<size_t>(size - around, 20));
    const int divisions = automatic ? fitting_scale(magnitude, base, columns) : scale;
    if ((scale & HN_GETSCALE) != 0) return divisions;

    const bool with_point = (flags & HN_DECIMAL) != 0 && divisions > 0 && columns >= 3;
    const std::string digits = digits_of(magnitude, power(base, divisions), with_point);
    return std::snprintf(buffer, size, "%s%s%s%s%s", negative ? "-" : "", digits.c_str(), space,
                         prefix_of(divisions, flags), suffix);
}

int expand_number(const char* text, uint64_t* number) {
    char* end = nullptr;
    const int before = errno;
    errno = 0;
    const uintmax_t value = strtoumax(text, &end, 0);
    const int error = end == text ? EINVAL : errno;
    errno = error == 0 ? before : error;
    if (error != 0) return -1;
    const int times = power_of_prefix(*end);
    if (times > 0) ++end;
    if (std::tolower(*end) == 'b') ++end;
    const Wide expanded = static_cast<Wide>(value) << (10 * times);
    if (*end != '\0' || expanded > UINT64_MAX) {
        errno = *end != '\0' ? EINVAL : ERANGE;
        return -1;
    }
    *number = static_cast<uint64_t>(expanded);
    return 0;
}

long long strtonum(const char* text, long long min, long long max, const char** why) {
    const int before = errno;
    char* end = nullptr;
    errno = 0;
    const long long value = min > max ? 0 : strtoll(text, &end, 10);
    const char* wrong = nullptr;
    if (min > max || end == text || *end != '\0') {
        wrong = "invalid";
        errno = EINVAL;
    } else if ((errno == ERANGE && value < 0) || value < min) {
        wrong = "too small";
        errno = ERANGE;
    } else if (errno == ERANGE || value > max) {
        wrong = "too large";
        errno = ERANGE;
    } else {
        errno = before;
    }
    if (why != nullptr) *why = wrong;
    return wrong == nullptr ? value : 0;
}

}  // extern "C"
