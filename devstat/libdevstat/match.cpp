// devstat_buildmatch: from "da,scsi,pass" to a devstat_match.
#include <devstat.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "devstat/libdevstat/errors.hpp"

namespace blkscope::devstat {
namespace {

using std::string_view;

// The first keyword that is a prefix of the token decides, so "dasd" is da, and "cdrom" is cd.
constexpr std::array keywords{
    devstat_match_table{"da", DEVSTAT_TYPE_DIRECT, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"cd", DEVSTAT_TYPE_CDROM, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"scsi", DEVSTAT_TYPE_IF_SCSI, DEVSTAT_MATCH_IF},
    devstat_match_table{"ide", DEVSTAT_TYPE_IF_IDE, DEVSTAT_MATCH_IF},
    devstat_match_table{"other", DEVSTAT_TYPE_IF_OTHER, DEVSTAT_MATCH_IF},
    devstat_match_table{"nvme", DEVSTAT_TYPE_IF_NVME, DEVSTAT_MATCH_IF},
    devstat_match_table{"worm", DEVSTAT_TYPE_WORM, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"sa", DEVSTAT_TYPE_SEQUENTIAL, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"pass", DEVSTAT_TYPE_PASS, DEVSTAT_MATCH_PASS},
    devstat_match_table{"optical", DEVSTAT_TYPE_OPTICAL, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"array", DEVSTAT_TYPE_STORARRAY, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"changer", DEVSTAT_TYPE_CHANGER, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"scanner", DEVSTAT_TYPE_SCANNER, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"printer", DEVSTAT_TYPE_PRINTER, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"floppy", DEVSTAT_TYPE_FLOPPY, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"proc", DEVSTAT_TYPE_PROCESSOR, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"comm", DEVSTAT_TYPE_COMM, DEVSTAT_MATCH_TYPE},
    devstat_match_table{"enclosure", DEVSTAT_TYPE_ENCLOSURE, DEVSTAT_MATCH_TYPE},
};

constexpr size_t tokens_max = 3;

// The nonempty tokens between the commas, each ended with a NUL in `text` itself.
std::vector<char*> split(char* text) {
    std::vector<char*> tokens;
    while (char* const token = strsep(&text, ",")) {
        if (*token != '\0') tokens.push_back(token);
    }
    return tokens;
}

constexpr auto blanks = " \t\n\v\f\r";

// Without the blanks at the end; a text of blanks only stays.
string_view without_end(string_view text) {
    const size_t last = text.find_last_not_of(blanks);
    return last == string_view::npos ? text : text.substr(0, last + 1);
}

string_view without_beginning(string_view text) {
    return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

const devstat_match_table* keyword_of(string_view token) {
    for (const devstat_match_table& keyword : keywords) {
        const string_view text = keyword.match_str;
        if (token.size() >= text.size() &&
            strncasecmp(token.data(), text.data(), text.size()) == 0) {
            return &keyword;
        }
    }
    return nullptr;
}

// The error quotes the blanks before a token, and not those behind, as the original does.
int take(devstat_match& match, string_view token) {
    token = without_end(token);
    const devstat_match_table* const keyword = keyword_of(without_beginning(token));
    if (keyword == nullptr) {
        return fail("devstat_buildmatch: unknown match item \"" + std::string(token) + "\"");
    }
    if ((match.match_fields & keyword->match_field) != 0) {
        return fail(
            "devstat_buildmatch: cannot have more than one match item in a single category");
    }
    match.match_fields =
        static_cast<devstat_match_flags>(match.match_fields | keyword->match_field);
    match.device_type = static_cast<devstat_type_flags>(match.device_type | keyword->type);
    ++match.num_match_categories;
    return 0;
}

int build(char* text, devstat_match*& matches, int& count) {
    if (text == nullptr) return fail("devstat_buildmatch: no match expression");
    const std::vector<char*> tokens = split(text);
    if (tokens.size() > tokens_max) return fail("devstat_buildmatch: too many type arguments");
    if (count == 0) matches = nullptr;  // or `matches` may never have been set
    const size_t size = (static_cast<size_t>(count) + 1) * sizeof(devstat_match);
    void* const memory = std::realloc(matches, size);
    if (memory == nullptr) {
        return fail("devstat_buildmatch: Cannot allocate memory for matches list");
    }
    matches = static_cast<devstat_match*>(memory);
    devstat_match& match = matches[count];
    match = {};
    for (const char* token : tokens) {
        if (take(match, token) != 0) return -1;
    }
    ++count;
    return 0;
}

}  // namespace
}  // namespace blkscope::devstat

extern "C" __attribute__((visibility("default"))) int devstat_buildmatch(
    char* match_str, struct devstat_match** matches, int* num_matches) {
    return blkscope::devstat::build(match_str, *matches, *num_matches);
}
