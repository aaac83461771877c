#include "tools/kstat/glob.hpp"

namespace blkscope::kstat_command {
namespace {

unsigned char byte(char c) {
    return static_cast<unsigned char>(c);
}

unsigned char take(std::string_view& rest) {
    const char c = rest.front();
    rest.remove_prefix(1);
    return byte(c);
}

// The next character. After a backslash, the character behind the backslash.
unsigned char take_quoted(std::string_view& rest) {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    return take(rest);
}

bool begins_range(std::string_view rest) {
    return rest.size() > 1 && rest[0] == '-' && rest[1] != ']';
}

}  // namespace

// Takes the set behind a '[', up to and including its ']'. Without a ']': none, and `rest` stays.
std::optional<Glob::Characters> Glob::take_set(std::string_view& rest) {
    std::string_view ahead = rest;
    const bool negated = ahead.starts_with('!');
    if (negated) ahead.remove_prefix(1);
    Characters set;
    for (bool first = true; !ahead.empty(); first = false) {
        if (ahead.front() == ']' && !first) {
            rest = ahead.substr(1);
            return negated ? ~set : set;
        }
        const unsigned low = take_quoted(ahead);
        unsigned high = low;
        if (begins_range(ahead)) {
            ahead.remove_prefix(1);
            high = take_quoted(ahead);
        }
        for (unsigned c = low; c <= high; ++c) set.set(c);
    }
    return {};
}

Glob::Element Glob::take_element(std::string_view& rest) {
    if (rest.front() == '\\') return Characters{}.set(take_quoted(rest));
    const unsigned char c = take(rest);
    if (c == '*') return {};
    if (c == '?') return Characters{}.set();
    if (c == '[') {
        if (const auto set = take_set(rest)) return set;
    }
    return Characters{}.set(c);
}

Glob::Glob(std::string_view pattern) {
    while (!pattern.empty()) {
        const Element element = take_element(pattern);
        if (!element && !elements_.empty() && !elements_.back()) continue;
        elements_.push_back(element);
    }
}

// After a mismatch only the last '*' passed has to take more characters. Further characters for an
// earlier '*' never help, because the last one can take the same characters.
bool Glob::matches(std::string_view text) const {
    size_t element = 0;
    size_t at = 0;
    std::optional<size_t> star;  // the index of the element behind the last '*'
    size_t star_ends = 0;        // the end of the characters that the last '*' takes
    while (at < text.size()) {
        if (element < elements_.size() && !elements_[element]) {
            star = ++element;
            star_ends = at;
        } else if (element < elements_.size() && elements_[element]->test(byte(text[at]))) {
            ++element;
            ++at;
        } else if (star) {
            element = *star;
            at = ++star_ends;
        } else {
            return false;
        }
    }
    if (element < elements_.size() && !elements_[element]) ++element;
    return element == elements_.size();
}

}  // namespace blkscope::kstat_command
