// TlsKeys: the keys that a server shares with its clients, each with the name that a client sends.
//
// Units:     bytes.
// Ownership: owns the keys, and wipes their memory on destruction.
// Threads:   constant after construction.
// Errors:    parse() throws std::invalid_argument with the line's number, never its text.
// Source:    psktool(1): a line is NAME:HEX, or #HEXNAME:HEX for a name that is not text.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace blkscope::nbd {

class TlsKeys {
  public:
    using Key = std::vector<unsigned char>;
    /// A shorter key can be guessed from a recorded handshake.
    static constexpr size_t key_bytes_min = 16;
    static constexpr size_t key_bytes_max = 256;

    static TlsKeys parse(std::string_view text);

    TlsKeys(TlsKeys&&) = default;
    TlsKeys& operator=(TlsKeys&&) = delete;
    ~TlsKeys();

    /// Returns nullptr for a name without a key.
    [[nodiscard]] const Key* find(std::string_view name) const;

  private:
    TlsKeys() = default;

    std::map<std::string, Key, std::less<>> keys_;
};

}  // namespace blkscope::nbd
