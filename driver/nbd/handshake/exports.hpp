// The exports that a server offers, as its clients see them.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::nbd {

/// Block sizes that clients should respect, in bytes. The defaults are the protocol's own.
struct BlockSize {
    uint32_t minimum = 1;        // a power of two, at most 65536
    uint32_t preferred = 4096;   // a power of two, at least 512 and at least the minimum
    uint32_t maximum = 1 << 25;  // of one request's data, a multiple of the minimum;
                                 // 0xffffffff: no limit
};

/// The handshake's view of one export. How the export is served is not part of it.
struct ExportInfo {
    std::string name;         // a valid_string(), unique
    std::string description;  // a valid_string(); empty for none
    uint64_t size_bytes = 0;
    uint16_t transmission_flags = 0;  // has_flags, and the device's abilities
    BlockSize block_size;
    bool is_default = false;  // found by the empty name too
    bool allocation = true;   // base:allocation is offered
};

/// The exports, in the order of a LIST. Callers refer to an export by its index.
///
/// Units:     as the fields say.
/// Ownership: owns its copies. A Handshake borrows the list, which outlives it.
/// Threads:   the control thread. Between two steps of a handshake it may assign another list; an
///            index is valid until then.
class Exports {
  public:
    /// Errors: throws std::invalid_argument for a user's mistake: a name or description that is no
    ///         valid_string(), a repeated name, two defaults. Numbers that NBD forbids are our bug,
    ///         and abort.
    explicit Exports(std::vector<ExportInfo> list, bool may_be_listed = true);

    /// True if clients may list the exports. Otherwise a client must give a name.
    [[nodiscard]] bool may_be_listed() const { return may_be_listed_; }

    /// The index of the export with this name. The empty name means the default export, or the only
    /// export if none is marked as default.
    [[nodiscard]] std::optional<size_t> find(std::string_view name) const;

    [[nodiscard]] const ExportInfo& operator[](size_t index) const {
        assert(index < list_.size());
        return list_[index];
    }
    /// The export has grown.
    void set_size(size_t index, uint64_t size_bytes) {
        assert(index < list_.size() && list_[index].size_bytes <= size_bytes);
        list_[index].size_bytes = size_bytes;
    }
    [[nodiscard]] size_t size() const { return list_.size(); }
    [[nodiscard]] auto begin() const { return list_.begin(); }
    [[nodiscard]] auto end() const { return list_.end(); }

  private:
    std::vector<ExportInfo> list_;
    std::optional<size_t> default_;
    bool may_be_listed_;
};

}  // namespace blkscope::nbd
