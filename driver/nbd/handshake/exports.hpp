// The exports a server offers, as its clients see them.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::nbd {

/// What a client is told to respect, in bytes. The defaults are those the protocol assumes where
/// nothing is said.
struct BlockSize {
    std::uint32_t minimum = 1;        // a power of two, at most 65536
    std::uint32_t preferred = 4096;   // a power of two, at least 512 and at least the minimum
    std::uint32_t maximum = 1 << 25;  // of one request's data, a multiple of the minimum;
                                      // 0xffffffff: no limit
};

/// One export: what the handshake says about it, and nothing about how it is served.
struct ExportInfo {
    std::string name;         // a valid_string(), unique
    std::string description;  // a valid_string(); empty for none
    std::uint64_t size_bytes = 0;
    std::uint16_t transmission_flags = 0;  // has_flags, and what the device can do
    BlockSize block_size;
    bool is_default = false;  // answers to the empty name too
};

/// The exports, in the order a client lists them. An export is known by its index.
///
/// Units:     as the fields say.
/// Ownership: owns its copies; whoever negotiates borrows it, so it outlives them.
/// Threads:   one, the control thread's, which may put another list in its place between two steps
///            of a handshake; an index is good until then.
class Exports {
  public:
    /// Errors: throws std::system_error for what a user can get wrong: a name or description that
    ///         is not a valid_string(), a name given twice, two defaults. A size, flags or block
    ///         sizes that NBD does not allow are our bug, and abort.
    explicit Exports(std::vector<ExportInfo> list, bool may_be_listed = true);

    /// Whether clients may ask what there is; if not, they must know a name.
    [[nodiscard]] bool may_be_listed() const { return may_be_listed_; }

    /// The index of the export that a client calls `name`. The empty name means the default: the
    /// export marked so or, where none is, the only one there is.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

    [[nodiscard]] const ExportInfo& operator[](std::size_t index) const {
        assert(index < list_.size());
        return list_[index];
    }
    [[nodiscard]] std::size_t size() const { return list_.size(); }
    [[nodiscard]] auto begin() const { return list_.begin(); }
    [[nodiscard]] auto end() const { return list_.end(); }

  private:
    std::vector<ExportInfo> list_;
    std::optional<std::size_t> default_;
    bool may_be_listed_;
};

}  // namespace blkscope::nbd
