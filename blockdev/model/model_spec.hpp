// ModelSpec: which model a device has, as the text of --model says it.
//
//     SPEC = item {"," item}
//     item = op "=" dist | "servers=" N | "per_byte=" TIME | "seed=" N | preset
//     op   = read | write | flush | trim | zeroes | cache | status | all
//
// A later item replaces an earlier one, so a preset can be followed by changes of it. Operations
// that are not named take no time. `hdd` and `ssd` are written after `all=`. Such a disk times
// reads and writes, and the other operations only if a further item names them.
//
// A FILE runs to the end of the text, so it comes last and there is one.
//
// Units:     as the grammar says.
// Ownership: a value. Threads: any.
// Errors:    parse() throws std::invalid_argument with one line.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blockdev/model/distribution.hpp"
#include "blockdev/model/hdd.hpp"
#include "blockdev/model/ssd.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope::model {

/// Reads the histogram of a file for an operation of the grammar, or for "all". Throws
/// std::invalid_argument if the file has none.
using HistogramsReader =
    std::function<Histogram(const std::string& file, std::string_view operation)>;

/// The grammar's name of an operation.
std::string_view name_of(Buf::Op op);

struct ModelSpec {
    /// Above this depth no server could be used.
    static constexpr uint64_t servers_max = 65536;

    std::array<std::optional<Distribution>, Buf::op_count> times;  // by Buf::Op
    std::optional<HddShape> hdd;                                   // of reads and writes
    std::optional<SsdShape> ssd;                                   // of reads and writes
    Time per_byte;                                                 // of reads and writes
    uint32_t servers = 0;                                          // 0: the default
    std::optional<uint64_t> seed;

    static ModelSpec parse(std::string_view text, const HistogramsReader& reader);
    /// The model of items that are apart already. Each of them may have a FILE.
    static ModelSpec parse_items(const std::vector<std::string>& items,
                                 const HistogramsReader& reader);
    /// The text in canonical form; parse() of it is the same model if it has one FILE at most.
    [[nodiscard]] std::string text() const;
    /// "read 836.682us": the means that no text says, by operation; empty if there are none.
    [[nodiscard]] std::string means() const;
    /// Lines for the log about what is allowed but unwise.
    [[nodiscard]] std::vector<std::string> warnings() const;

    [[nodiscard]] const std::optional<Distribution>& time_of(Buf::Op op) const {
        return times[static_cast<size_t>(op)];
    }
    /// Whether requests of the operation take a server.
    [[nodiscard]] bool has(Buf::Op op) const;
    /// The servers of a device with this depth.
    [[nodiscard]] uint32_t server_count(uint32_t depth) const;

    friend bool operator==(const ModelSpec&, const ModelSpec&) = default;

  private:
    void take_items(std::string_view text, const HistogramsReader& reader);
    void take_item(std::string_view item, const HistogramsReader& reader);
    void take_time(std::string_view name, std::string_view time, const HistogramsReader& reader);
    void check() const;
    [[nodiscard]] bool all_the_same() const;
};

}  // namespace blkscope::model
