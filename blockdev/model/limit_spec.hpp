// LimitSpec: which limits a device or a client has, as the text of --limit says it.
//
//     SPEC  = item {"," item}
//     item  = name "=" BASE [":" PEAK ":" CREDITS [":" INITIAL]] | "unit=" SIZE | preset
//     name  = iops | bps | read_iops | read_bps | write_iops | write_bps
//
// A later item replaces an earlier one. INITIAL is CREDITS unless it is given.
//
// Units:     operations or bytes, per second for BASE and PEAK.
// Ownership: a value. Threads: any.
// Errors:    parse() throws std::invalid_argument with one line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "blockdev/model/token_bucket.hpp"

namespace blkscope::model {

struct LimitSpec {
    enum class Name : uint8_t { iops, bps, read_iops, read_bps, write_iops, write_bps };
    static constexpr size_t name_count = 6;
    static constexpr std::array<std::string_view, name_count> names{
        "iops", "bps", "read_iops", "read_bps", "write_iops", "write_bps"};

    std::array<std::optional<Rate>, name_count> rates;  // by Name
    uint64_t unit_bytes = 0;  // the bytes of one operation; 0: a request is one operation

    static LimitSpec parse(std::string_view text);
    /// The text in canonical form; parse() of it is the same limits.
    [[nodiscard]] std::string text() const;

    friend bool operator==(const LimitSpec&, const LimitSpec&) = default;

  private:
    void take_item(std::string_view item);
    void take_gp2(std::string_view arguments);
    void take_gp3(std::string_view arguments);
    std::optional<Rate>& rate(Name name) { return rates[static_cast<size_t>(name)]; }
};

}  // namespace blkscope::model
