#include "tools/kstat/regex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace blkscope::kstat_command {

namespace {

// Names have 30 characters at most. A usual expression needs a few hundred steps for a name.
constexpr uint32_t steps_max = 100'000;
constexpr uint32_t depth_max = 10'000;
constexpr uint32_t heap_max_kib = 8 * 1024;
constexpr size_t expression_bytes_max = 4096;

PCRE2_SPTR bytes(std::string_view text) {
    return reinterpret_cast<PCRE2_SPTR>(text.data());  // PCRE2 takes unsigned characters
}

[[noreturn]] void refuse(int error) {
    std::array<PCRE2_UCHAR, 256> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    throw BadPattern(reinterpret_cast<const char*>(message.data()));
}

template <class Pointer>
Pointer allocated(Pointer pointer) {
    if (pointer == nullptr) throw std::bad_alloc();
    return pointer;
}

// Rewrites an extended expression where PCRE2 would give it another meaning.
class Translation {
  public:
    explicit Translation(std::string_view expression) : rest_(expression) {}

    std::string run();

  private:
    void copy(size_t count);
    void take_escape();
    void take_parenthesis();
    void take_bracket();
    bool take_bracketed_element();

    std::string_view rest_;
    std::string pattern_;
    size_t open_ = 0;  // parentheses that are open
};

std::string Translation::run() {
    while (!rest_.empty()) {
        switch (rest_.front()) {
            case '\\':
                take_escape();
                break;
            case '(':
            case ')':
                take_parenthesis();
                break;
            case '[':
                take_bracket();
                break;
            default:
                copy(1);
        }
    }
    return pattern_;
}

void Translation::copy(size_t count) {
    count = std::min(count, rest_.size());
    pattern_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
}

// \Q quotes everything up to \E, brackets and parentheses included.
void Translation::take_escape() {
    if (!rest_.starts_with("\\Q")) return copy(2);
    const size_t end = rest_.find("\\E");
    copy(end == std::string_view::npos ? rest_.size() : end + 2);
}

void Translation::take_parenthesis() {
    if (rest_.front() == '(') {
        ++open_;
    } else if (open_ > 0) {
        --open_;
    } else {
        pattern_ += '\\';
    }
    copy(1);
}

// Takes a set up to the ']' that ends it. A ']' that comes first in the set does not end it.
void Translation::take_bracket() {
    copy(1);
    if (rest_.starts_with('^')) copy(1);
    if (rest_.starts_with(']')) copy(1);
    while (!rest_.empty()) {
        if (take_bracketed_element()) continue;
        const char c = rest_.front();
        if (c == '\\') pattern_ += '\\';
        copy(1);
        if (c == ']') return;
    }
}

// Takes [:class:], which PCRE2 supports, or [.x.] or [=x=], which PCRE2 does not support.
bool Translation::take_bracketed_element() {
    if (rest_.size() < 2 || rest_[0] != '[') return false;
    const char kind = rest_[1];
    if (kind != ':' && kind != '.' && kind != '=') return false;
    const std::array end{kind, ']'};
    const size_t at = rest_.find(std::string_view(end.data(), end.size()), 3);  // x may be ']'
    if (at == std::string_view::npos) return false;
    if (kind != ':' && at == 3) {
        pattern_ += fmt::format("\\x{{{:02x}}}", static_cast<unsigned char>(rest_[2]));
        rest_.remove_prefix(at + end.size());
    } else {
        copy(at + end.size());
    }
    return true;
}

}  // namespace

struct Regex::Compiled {
    explicit Compiled(std::string_view expression);
    ~Compiled() { release(); }
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;

    void release() {
        pcre2_match_data_free(match_data);
        pcre2_match_context_free(limits);
        pcre2_code_free(code);
    }

    pcre2_code* code = nullptr;
    pcre2_match_context* limits = nullptr;
    pcre2_match_data* match_data = nullptr;
};

Regex::Compiled::Compiled(std::string_view expression) {
    if (expression.size() > expression_bytes_max) {
        throw BadPattern("the regular expression is too long");
    }
    const std::string pattern = Translation(expression).run();
    constexpr uint32_t options =
        PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF | PCRE2_NEVER_UCP;
    int error = 0;
    size_t where = 0;
    code = pcre2_compile(bytes(pattern), pattern.size(), options, &error, &where, nullptr);
    if (code == nullptr) refuse(error);
    try {
        limits = allocated(pcre2_match_context_create(nullptr));
        pcre2_set_match_limit(limits, steps_max);
        pcre2_set_depth_limit(limits, depth_max);
        pcre2_set_heap_limit(limits, heap_max_kib);
        match_data = allocated(pcre2_match_data_create_from_pattern(code, nullptr));
    } catch (const std::bad_alloc&) {
        release();
        throw;
    }
}

Regex::Regex(std::string_view expression)
    : compiled_(std::make_shared<const Compiled>(expression)) {}

bool Regex::matches(std::string_view text) const {
    const int result = pcre2_match(compiled_->code, bytes(text), text.size(), 0, 0,
                                   compiled_->match_data, compiled_->limits);
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result < 0) refuse(result);
    return true;
}

}  // namespace blkscope::kstat_command
