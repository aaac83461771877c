// The clients that may read: the address to listen on, and the checks of each request.
//
//     a page of another site ──▶ the user's browser ──▶ 127.0.0.1:9410
//
// A browser sends the requests of any page to this machine, too. Two checks keep a page of another
// site from reading. The Host must be a name of this server or any address: a site may let its own
// name mean 127.0.0.1 (DNS rebinding), but not an address. And the fields that browsers add about
// the page's origin must name this server.
//
// Beyond the loopback addresses, a server has a token or was made public on purpose.
//
// Threads: any.
// Errors:  std::invalid_argument for an address or a combination of options that is refused.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/web/request.hpp"

namespace blkscope::web {

/// ADDRESS:PORT or unix:PATH.
struct ListenAddress {
    std::string unix_path;  // empty for TCP
    std::string host;       // of TCP: numeric, without brackets
    uint16_t port = 0;
    bool is_ipv6 = false;

    [[nodiscard]] bool is_loopback() const;
};

[[nodiscard]] ListenAddress parse_listen_address(std::string_view text);

class Access {
  public:
    /// `hosts` are names of this server beside localhost and the machine's own. Without a token
    /// every client may read.
    Access(const std::vector<std::string>& hosts, std::optional<std::string> token);

    /// 200 if the request may be answered, else the status of the refusal.
    [[nodiscard]] int check(const Request& request) const;
    /// Why a request is refused, for the one who sent it.
    [[nodiscard]] std::string refusal(const Request& request) const;

  private:
    [[nodiscard]] bool is_known_host(std::string_view host) const;
    [[nodiscard]] bool has_token(std::string_view authorization) const;

    std::vector<std::string> hosts_;  // in lower case, without ports
    std::optional<std::string> token_;
};

/// The token in a file: its first line, of 16 bytes or more.
[[nodiscard]] std::string read_token(const std::string& path);

}  // namespace blkscope::web
