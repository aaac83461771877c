// NBD URIs: how a person or a program names an export.
//
//     nbd://HOST[:PORT]/NAME
//     nbd+unix:///NAME?socket=PATH
//
// Threads: any. Errors: parse_uri throws std::invalid_argument, saying what is wrong.
// Source:  the NBD URI specification.
#pragma once

#include <cstdint>
#include <string>

namespace blkscope::nbd {

inline constexpr uint16_t default_port = 10809;

struct Uri {
    std::string socket_path = {};  // a Unix socket; empty for TCP
    std::string host = {};
    uint16_t port = default_port;
    std::string export_name = {};  // empty for the default export

    [[nodiscard]] std::string text() const;
};

Uri parse_uri(const std::string& text);

}  // namespace blkscope::nbd
