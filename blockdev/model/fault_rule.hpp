// FaultRule: a fault and the requests that it strikes, as the text of --fault says it.
//
//     RULE = op ":" kind { ";" condition }
//     op   = read | write | flush | trim | zeroes | all
//     kind = error=ERRNO | delay=DIST | hang[=TIME] | drop | corrupt[=BYTES] | torn | disconnect
//     condition = sectors=A-B | chance=1/N | after=N | count=N | every=N | for=TIME | counted | sticky
//
//     read:error=EIO;sectors=2048-4095;chance=1/100;after=1000;count=5
//
// `drop` and `torn` concern writes, and `corrupt` concerns reads and writes: `all` means these then.
// `counted` makes an error count as one of the device. `sticky` makes the error of a sync stay.
//
// Units:     sectors of 512 bytes; bytes.
// Ownership: a value. Threads: any.
// Errors:    parse() throws std::invalid_argument with one line; also for a rule that can never
//            match.
// Source:    the words of the conditions follow the error injection of Linux' block layer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "blockdev/model/distribution.hpp"
#include "blockdev/model/grammar.hpp"
#include "blockdev/queue/buf.hpp"

namespace blkscope::model {

struct FaultRule {
    enum class Kind : uint8_t { error, delay, hang, drop, corrupt, torn, disconnect };
    static constexpr uint64_t sector_bytes = 512;

    /// From the first to the last sector, both included.
    struct Sectors {
        uint64_t first = 0;
        uint64_t last = 0;
    };

    std::optional<Buf::Op> op;  // nothing: all
    Kind kind = Kind::error;
    int error = 0;                      // of `error`
    std::optional<Distribution> delay;  // of `delay`
    std::optional<Time> hang;           // of `hang`; nothing: until the rule is removed
    uint64_t corrupt_bytes = 1;         // of `corrupt`
    std::optional<Sectors> sectors;
    uint64_t chance = 1;  // one in this many
    uint64_t after = 0;   // matching requests that are left alone first
    uint64_t count = std::numeric_limits<uint64_t>::max();
    uint64_t every = 1;
    std::optional<Time> lasts;  // since the rule was added
    bool counted = false;
    bool sticky = false;

    /// For a device of `size_bytes`.
    static FaultRule parse(std::string_view text, uint64_t size_bytes,
                           const HistogramReader& reader);
    /// The text in canonical form; parse() of it is the same rule.
    [[nodiscard]] std::string text() const;
    /// A line for the log about a rule that clients see differently; empty for none.
    [[nodiscard]] std::string warning() const;

    /// Whether operation and sectors match. The other conditions depend on earlier requests.
    [[nodiscard]] bool concerns(const Buf& buf) const;

  private:
    void take_kind(std::string_view text, const HistogramReader& reader);
    void take_condition(std::string_view text);
    void check(uint64_t size_bytes) const;
    [[nodiscard]] bool allows(Buf::Op op) const;
    [[nodiscard]] std::string kind_text() const;
};

/// The number of an errno by its name, as ENOSPC. Throws std::invalid_argument.
int parse_errno(std::string_view name);
/// The name of an errno.
std::string text_of_errno(int error);

}  // namespace blkscope::model
