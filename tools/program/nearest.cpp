#include "tools/program/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace blkscope::program {
namespace {

// The number of letters to insert, delete or replace, or of neighbours to exchange, to turn one word into
// the other.
size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::vector<size_t>> rows(one.size() + 1, std::vector<size_t>(other.size() + 1));
    std::iota(rows[0].begin(), rows[0].end(), 0);
    for (size_t i = 1; i <= one.size(); ++i) {
        rows[i][0] = i;
        for (size_t j = 1; j <= other.size(); ++j) {
            const size_t changed = rows[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
            rows[i][j] = std::min({changed, rows[i][j - 1] + 1, rows[i - 1][j] + 1});
            const bool exchanged =
                i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if (exchanged) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    }
    return rows.back().back();
}

// The dashes of two options are equal, and are no sign that the options are near.
std::string_view without_dashes(std::string_view word) {
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    return word;
}

size_t distance_of_names(std::string_view one, std::string_view other) {
    return distance(without_dashes(one), without_dashes(other));
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
    const auto found = std::ranges::min_element(
        known, {}, [&](const std::string& one) { return distance_of_names(word, one); });
    if (found == known.end()) return {};
    const size_t length = std::max(without_dashes(word).size(), without_dashes(*found).size());
    if (distance_of_names(word, *found) > length / 2) return {};
    return *found;
}

std::string no_such_option(std::string_view word, const std::vector<std::string>& known) {
    const std::string_view name = word.substr(0, word.find('='));
    if (std::ranges::find(known, name) != known.end()) {
        return fmt::format("wrong value for option '{}'", name);
    }
    const auto near = nearest(name, known);
    if (!near) return fmt::format("there is no option '{}'", name);
    return fmt::format("there is no option '{}'; the nearest is '{}'", name, *near);
}

}  // namespace blkscope::program
