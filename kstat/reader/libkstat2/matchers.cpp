#include "kstat/reader/libkstat2/matchers.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8

#include <fnmatch.h>
#include <pcre2.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "kstat/reader/libkstat2/uri.hpp"

namespace blkscope::kstat2::reader {
namespace {

// An ordinary expression needs a thousandth of these steps for a URI; a hostile one ends here.
constexpr uint32_t steps_max = 1'000'000;

template <class T>
T* allocated(T* pointer) {
    if (pointer == nullptr) throw std::bad_alloc();
    return pointer;
}

PCRE2_SPTR bytes(std::string_view text) {
    return reinterpret_cast<PCRE2_SPTR>(text.data());
}

pcre2_code* compiled(std::string_view expression) {
    int error = 0;
    PCRE2_SIZE at = 0;
    const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    pcre2_code* const code =
        pcre2_compile(bytes(expression), expression.size(), options, &error, &at, nullptr);
    if (code != nullptr) return code;
    if (error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
    throw std::invalid_argument("no regular expression");
}

// "/disk/x" is short for "kstat:/disk/x".
std::string with_scheme(std::string_view pattern) {
    return std::string(pattern.starts_with('/') ? scheme : "").append(pattern);
}

}  // namespace

Regex::Regex(std::string_view expression)
    : code_(compiled(expression), pcre2_code_free),
      match_data_(allocated(pcre2_match_data_create_from_pattern(code_.get(), nullptr)),
                  pcre2_match_data_free),
      limits_(allocated(pcre2_match_context_create(nullptr)), pcre2_match_context_free) {
    pcre2_set_match_limit(limits_.get(), steps_max);
}

bool Regex::matches(std::string_view text) const {
    return pcre2_match(code_.get(), bytes(text), text.size(), 0, 0, match_data_.get(),
                       limits_.get()) >= 0;
}

bool Matchers::Glob::matches(const std::string& text) const {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

void Matchers::add(kstat2_match_type_t type, std::string_view pattern) {
    switch (type) {
        case KSTAT2_M_STRING:
            matchers_.emplace_back(Exact{with_scheme(pattern)});
            return;
        case KSTAT2_M_GLOB:
            matchers_.emplace_back(Glob{with_scheme(pattern)});
            return;
        case KSTAT2_M_RE:
            matchers_.emplace_back(Regex(pattern));
            return;
    }
    throw std::invalid_argument("no type of matcher");
}

bool Matchers::select(const std::string& uri) const {
    return matchers_.empty() || std::ranges::any_of(matchers_, [&](const auto& any) {
               return std::visit([&](const auto& one) { return one.matches(uri); }, any);
           });
}

}  // namespace blkscope::kstat2::reader
