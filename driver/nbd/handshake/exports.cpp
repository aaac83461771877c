#include "driver/nbd/handshake/exports.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <utility>

#include "driver/nbd/protocol.hpp"
#include "driver/nbd/text.hpp"

namespace blkscope::nbd {
namespace {

// A wrong string is the user's mistake.
void check_strings(const ExportInfo& exp) {
    if (!valid_string(exp.name)) {
        throw std::invalid_argument(
            fmt::format("export name \"{}\" is not UTF-8 of at most {} bytes", printable(exp.name),
                        string_bytes_max));
    }
    if (!valid_string(exp.description)) {
        throw std::invalid_argument(
            fmt::format("description of export \"{}\" is not UTF-8 of at most {} bytes",
                        printable(exp.name), string_bytes_max));
    }
}

// A wrong number is our bug: the code that made the device computed it.
void check_numbers(const ExportInfo& exp) {
    namespace flag = transmission_flag;
    // Clients keep offsets in a signed 64-bit integer.
    assert(exp.size_bytes <= uint64_t{std::numeric_limits<int64_t>::max()});
    assert((exp.transmission_flags & flag::has_flags) != 0);
    // The handshake adds these flags for a client that has negotiated the features.
    assert((exp.transmission_flags & (flag::send_df | flag::block_status_payload)) == 0);
    assert((exp.transmission_flags & flag::send_fast_zero) == 0 ||
           (exp.transmission_flags & flag::send_write_zeroes) != 0);

    const BlockSize& block = exp.block_size;
    assert(std::has_single_bit(block.minimum) && block.minimum <= 65536);
    assert(std::has_single_bit(block.preferred) && block.preferred >= 512);
    assert(block.preferred >= block.minimum && block.preferred <= block.maximum);
    assert(block.maximum == std::numeric_limits<uint32_t>::max() ||
           block.maximum % block.minimum == 0);
}

}  // namespace

Exports::Exports(std::vector<ExportInfo> list, bool may_be_listed)
    : list_(std::move(list)), may_be_listed_(may_be_listed) {
    for (size_t i = 0; i < list_.size(); ++i) {
        check_strings(list_[i]);
        check_numbers(list_[i]);
        const auto same_name = [&](const ExportInfo& exp) { return exp.name == list_[i].name; };
        const auto here = list_.begin() + static_cast<ptrdiff_t>(i);
        if (std::any_of(list_.begin(), here, same_name)) {
            throw std::invalid_argument(
                fmt::format("export name \"{}\" is given twice", printable(list_[i].name)));
        }
        if (!list_[i].is_default) continue;
        if (default_) {
            throw std::invalid_argument(
                fmt::format("exports \"{}\" and \"{}\" are both the default",
                            printable(list_[*default_].name), printable(list_[i].name)));
        }
        default_ = i;
    }
    if (!default_ && list_.size() == 1) default_ = 0;
}

std::optional<size_t> Exports::find(std::string_view name) const {
    const auto named = std::ranges::find(list_, name, &ExportInfo::name);
    if (named != end()) return static_cast<size_t>(named - begin());
    return name.empty() ? default_ : std::nullopt;
}

}  // namespace blkscope::nbd
