#include "tools/program/perl_syntax.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace blkscope::program {
namespace {

class Translation {
  public:
    explicit Translation(std::string_view expression) : rest_(expression) {}

    std::string result();

  private:
    std::string_view take(size_t bytes);
    void take_escaped();
    void take_group();
    void take_bracket();
    bool take_repetition();

    std::string_view rest_;
    std::string posix_;
};

// The members of the class that \d, \w and \s stand for. Empty: another letter.
std::string_view members(char letter) {
    switch (letter) {
        case 'd':
            return "[:digit:]";
        case 'w':
            return "[:alnum:]_";
        case 's':
            return "[:space:]";
        default:
            return {};
    }
}

bool is_alphanumeric(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

char lower_case(char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// What the group that begins with this text is called in perlre(1), with its first characters.
std::string name_of_group(std::string_view group) {
    if (group.starts_with("(?=") || group.starts_with("(?!")) {
        return "look-ahead, " + std::string(group.substr(0, 3)) + "...),";
    }
    if (group.starts_with("(?<=") || group.starts_with("(?<!")) {
        return "look-behind, " + std::string(group.substr(0, 4)) + "...),";
    }
    const std::string_view flags = group.substr(0, group.find_first_of(":)"));
    if (flags.find('i') != std::string_view::npos && flags.find('<') == std::string_view::npos) {
        return std::string(flags) + "), either case of a letter,";
    }
    return std::string(group.substr(0, 3)) + "...)";
}

std::string_view Translation::take(size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
}

void Translation::take_escaped() {
    const std::string_view escaped = take(2);
    const char letter = escaped.back();  // a lone backslash at the end is regcomp(3)'s to refuse
    const std::string_view set = members(lower_case(letter));
    if (!set.empty()) {
        const bool within = lower_case(letter) == letter;
        posix_.append(within ? "[" : "[^").append(set).append("]");
        return;
    }
    const bool known = letter == 'b' || letter == 'B' || (letter >= '1' && letter <= '9');
    if (is_alphanumeric(letter) && !known) {
        throw BadPattern(std::string(escaped) + " is not available in a regular expression");
    }
    posix_ += escaped;
}

void Translation::take_group() {
    if (rest_.starts_with("(?:")) {  // nothing reads what a group matched
        take(3);
        posix_ += '(';
        return;
    }
    if (rest_.starts_with("(?")) {
        throw BadPattern(name_of_group(rest_) + " is not available in a regular expression");
    }
    posix_ += take(1);
}

void Translation::take_bracket() {
    const size_t bytes = 1 + bracket_bytes(rest_.substr(1));
    std::string_view inside = take(bytes);
    bool behind_class = false;
    while (!inside.empty()) {
        const bool escaped = inside.size() > 2 && inside.front() == '\\';
        const std::string_view set = escaped ? members(inside[1]) : std::string_view();
        if (escaped && set.empty() && !members(lower_case(inside[1])).empty()) {
            throw BadPattern(std::string(inside.substr(0, 2)) +
                             " is not available in the brackets of a regular expression");
        }
        size_t size = escaped && (!set.empty() || inside[1] == '\\') ? 2 : 1;
        if (!set.empty()) {
            posix_ += set;
        } else if (behind_class && inside.front() == '-') {
            posix_ += "[.-.]";  // a class begins no range
        } else {
            posix_ += inside.substr(0, size);
        }
        behind_class = !set.empty();
        inside.remove_prefix(size);
    }
}

// Takes *, +, ? or {m,n}, and the ? that makes it lazy. False: none of these.
bool Translation::take_repetition() {
    size_t bytes = 1;
    if (rest_.starts_with('{')) {
        const size_t end = rest_.find_first_not_of("0123456789,", 1);
        if (end == std::string_view::npos || rest_[end] != '}') return false;
        bytes = end + 1;
    } else if (!rest_.starts_with('*') && !rest_.starts_with('+') && !rest_.starts_with('?')) {
        return false;
    }
    posix_ += take(bytes);
    if (rest_.starts_with('?')) take(1);
    return true;
}

std::string Translation::result() {
    while (!rest_.empty()) {
        if (take_repetition()) continue;
        switch (rest_.front()) {
            case '\\':
                take_escaped();
                break;
            case '(':
                take_group();
                break;
            case '[':
                take_bracket();
                break;
            default:
                posix_ += take(1);
        }
    }
    return posix_;
}

}  // namespace

size_t bracket_bytes(std::string_view rest) {
    size_t at = rest.starts_with('^') ? 1 : 0;
    if (rest.substr(at).starts_with(']')) ++at;
    while (at < rest.size() && rest[at] != ']') {
        const std::string_view here = rest.substr(at);
        size_t size = 1;
        if (here.starts_with("[:") || here.starts_with("[.") || here.starts_with("[=")) {
            const std::array end{here[1], ']'};
            const size_t found = here.find(std::string_view(end.data(), end.size()), 2);
            if (found != std::string_view::npos) size = found + end.size();
        }
        at += size;
    }
    return std::min(at + 1, rest.size());
}

std::string in_posix_syntax(std::string_view expression) {
    return Translation(expression).result();
}

}  // namespace blkscope::program
