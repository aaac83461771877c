#include "tools/program/regex.hpp"

#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

namespace blkscope::program {
namespace {

constexpr size_t expression_bytes_max = 4096;
constexpr uint64_t characters_max = 10'000;

// Counts the characters of an expression whose repetitions are written out, as regcomp(3) does. The
// count is an upper bound: a{3} counts as 4, and a+ as 2 because it is compiled as aa*.
class Expansion {
  public:
    explicit Expansion(std::string_view expression) : rest_(expression) {}

    uint64_t count();  // a count above characters_max is not exact

  private:
    void begin_atom();
    void end_group();
    void skip_escaped();
    bool take_repetition();
    void repeat(uint64_t copies) { atom_ = std::min(atom_ * copies, characters_max + 1); }

    std::string_view rest_;
    std::vector<uint64_t> groups_{0};  // the characters of each open group, without the last atom
    uint64_t atom_ = 0;
};

// The last atom is complete: no repetition follows it.
void Expansion::begin_atom() {
    groups_.back() = std::min(groups_.back() + atom_, characters_max + 1);
    atom_ = 1;
}

void Expansion::end_group() {
    begin_atom();
    if (groups_.size() == 1) return;  // a parenthesis without a partner is a character
    atom_ = groups_.back() + 1;
    groups_.pop_back();
}

// The C library takes \1 for a back-reference, and a few of them need a time without a bound.
void Expansion::skip_escaped() {
    if (rest_.empty()) return;
    if (rest_.front() >= '1' && rest_.front() <= '9') {
        throw BadPattern("an extended regular expression has no back-references");
    }
    rest_.remove_prefix(1);
}

// Takes the rest of {m}, {m,} or {m,n}. False: none of these.
bool Expansion::take_repetition() {
    const size_t end = rest_.find('}');
    if (end == std::string_view::npos) return false;
    uint64_t copies = 1;
    const char* at = rest_.data();
    const char* const last = at + end;
    while (at < last) {
        uint64_t number = 0;
        const auto parsed = std::from_chars(at, last, number);
        if (parsed.ec == std::errc::result_out_of_range) number = characters_max;
        copies = std::max(copies, std::min(number, characters_max));
        at = parsed.ptr + 1;
    }
    rest_.remove_prefix(end + 1);
    repeat(copies + 1);
    return true;
}

uint64_t Expansion::count() {
    while (!rest_.empty()) {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        switch (c) {
            case '(':
                begin_atom();
                atom_ = 0;
                groups_.push_back(0);
                break;
            case ')':
                end_group();
                break;
            case '+':
                repeat(2);
                break;
            case '*':
            case '?':
                break;
            case '{':
                if (!take_repetition()) begin_atom();
                break;
            case '[':
                begin_atom();
                rest_.remove_prefix(bracket_bytes(rest_));
                break;
            case '\\':
                begin_atom();
                skip_escaped();
                break;
            default:
                begin_atom();
        }
    }
    while (groups_.size() > 1) end_group();
    begin_atom();
    return groups_.back();
}

}  // namespace

struct Regex::Compiled {
    explicit Compiled(const std::string& expression);
    ~Compiled() { regfree(&code); }
    Compiled& operator=(Compiled&&) = delete;

    regex_t code{};
};

Regex::Compiled::Compiled(const std::string& expression) {
    const int error = regcomp(&code, expression.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    std::array<char, 256> message{};
    regerror(error, &code, message.data(), message.size());
    throw BadPattern(message.data());
}

Regex::Regex(std::string_view expression) {
    if (expression.size() > expression_bytes_max) {
        throw BadPattern("the regular expression is too long");
    }
    const std::string posix = in_posix_syntax(expression);
    if (Expansion(posix).count() > characters_max) {
        throw BadPattern("the regular expression has too many repetitions");
    }
    compiled_ = std::make_shared<const Compiled>(posix);
}

bool Regex::matches(std::string_view text) const {
    return regexec(&compiled_->code, std::string(text).c_str(), 0, nullptr, 0) == 0;
}

}  // namespace blkscope::program
