// OptionReplies: the bytes sent in answer to an option.
//
// Units:     bytes.
// Ownership: owns the bytes, which are valid until clear().
// Threads:   the control thread.
// Errors:    none.
// Source:    the NBD protocol document, "Option reply types".
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "driver/nbd/handshake/exports.hpp"
#include "driver/nbd/protocol.hpp"

namespace blkscope::nbd {

class OptionReplies {
  public:
    /// Following replies answer this option.
    void begin(Option option) { option_ = option; }
    void clear() { bytes_.clear(); }
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

    template <std::unsigned_integral T>
    void put(T value) {
        std::array<std::byte, sizeof(T)> bytes{};
        store_be<T>(bytes, value);
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    void put(std::string_view text);
    void put_zeroes(size_t bytes) { bytes_.resize(bytes_.size() + bytes); }

    /// Writes the head of a reply; the caller then puts `data_bytes` of data.
    void reply(OptionReply type, size_t data_bytes);
    void refuse(OptionReply error, std::string_view why);
    /// Writes the reply that names one export of a LIST.
    void listed(const ExportInfo& exp);
    /// Writes the information that INFO and GO give about an export.
    void infos(const ExportInfo& exp, uint16_t flags, bool name, bool description);

  private:
    void text_info(Info what, std::string_view text);

    Option option_{};
    std::vector<std::byte> bytes_;
};

}  // namespace blkscope::nbd
