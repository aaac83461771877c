#include "tools/web/access.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <limits.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "tools/program/options.hpp"

namespace blkscope::web {
namespace {

constexpr size_t token_bytes_min = 16;
constexpr size_t token_bytes_max = 1024;
constexpr size_t path_bytes_max = 107;  // of sun_path

// The host of "host:port", or of "[v6]:port" with its brackets. Empty if the port is malformed.
std::string_view without_port(std::string_view host) {
    const size_t bracket = host.rfind(']');
    const size_t from = bracket == std::string_view::npos ? 0 : bracket;
    const size_t colon = host.find(':', from);
    if (colon == std::string_view::npos) return host;
    const std::string_view port = host.substr(colon + 1);
    const bool is_port = port.empty() || program::decimal<uint16_t>(port);
    return is_port ? host.substr(0, colon) : "no name";
}

// An address of IPv4, or one of IPv6 in brackets, perhaps with a zone.
bool is_address(std::string_view host) {
    in6_addr parsed{};
    const bool is_ipv6 = host.starts_with('[') && host.ends_with(']');
    if (is_ipv6) host = host.substr(1, host.size() - 2);
    const std::string digits(is_ipv6 ? host.substr(0, host.find('%')) : host);
    return inet_pton(is_ipv6 ? AF_INET6 : AF_INET, digits.c_str(), &parsed) == 1;
}

bool is_plain_name(std::string_view host) {
    return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '_';
    });
}

std::string name_of_machine() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

[[noreturn]] void refuse(std::string_view text, const char* why) {
    throw std::invalid_argument(fmt::format("web: --listen {}: {}", text, why));
}

}  // namespace

bool ListenAddress::is_loopback() const {
    if (!unix_path.empty()) return true;
    if (is_ipv6) return host == "::1";
    in_addr address{};
    return inet_pton(AF_INET, host.c_str(), &address) == 1 &&
           (ntohl(address.s_addr) >> 24) == IN_LOOPBACKNET;
}

ListenAddress parse_listen_address(std::string_view text) {
    ListenAddress address;
    if (text.starts_with("unix:")) {
        address.unix_path = text.substr(5);
        if (address.unix_path.empty()) refuse(text, "the path is missing");
        if (address.unix_path.size() > path_bytes_max) refuse(text, "the path is too long");
        return address;
    }
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) refuse(text, "it must be ADDRESS:PORT or unix:PATH");
    const auto port = program::decimal<uint16_t>(text.substr(colon + 1));
    if (!port) refuse(text, "the port must be 0 to 65535");
    address.port = *port;
    std::string_view host = text.substr(0, colon);
    address.is_ipv6 = host.starts_with('[') && host.ends_with(']');
    if (address.is_ipv6) host = host.substr(1, host.size() - 2);
    address.host = host;
    in6_addr parsed{};
    if (inet_pton(address.is_ipv6 ? AF_INET6 : AF_INET, address.host.c_str(), &parsed) != 1) {
        refuse(text, "the address must be numeric, as 127.0.0.1 or [::1]");
    }
    return address;
}

Access::Access(const std::vector<std::string>& hosts, std::optional<std::string> token)
    : hosts_{"", "localhost", in_lower_case(name_of_machine())}, token_(std::move(token)) {
    for (const std::string& host : hosts) hosts_.push_back(in_lower_case(host));
}

// Only a name can be made to mean another address. And a browser always sends a Host.
bool Access::is_known_host(std::string_view host) const {
    if (host.starts_with(':')) return false;
    const std::string name = in_lower_case(without_port(host));
    return is_address(name) || std::ranges::find(hosts_, name) != hosts_.end();
}

// The time does not depend on the place of the first wrong byte.
bool Access::has_token(std::string_view authorization) const {
    constexpr std::string_view scheme = "bearer ";
    if (in_lower_case(authorization.substr(0, scheme.size())) != scheme) return false;
    const std::string_view given = authorization.substr(scheme.size());
    unsigned difference = given.size() == token_->size() ? 0 : 1;
    for (size_t i = 0; i < given.size(); ++i) {
        const auto expected = static_cast<unsigned char>((*token_)[i % token_->size()]);
        difference |= static_cast<unsigned char>(given[i]) ^ expected;
    }
    return difference == 0;
}

int Access::check(const Request& request) const {
    if (!is_known_host(request.host)) return 403;
    if (!request.origin.empty() && request.origin != "http://" + request.host &&
        request.origin != "https://" + request.host) {
        return 403;
    }
    const bool is_foreign = request.fetch_site == "cross-site" || request.fetch_site == "same-site";
    const bool follows_link = request.fetch_mode == "navigate" && request.path == "/";
    if (is_foreign && !follows_link) return 403;
    if (token_ && !has_token(request.authorization)) return 401;
    return 200;
}

std::string Access::refusal(const Request& request) const {
    const int status = check(request);
    assert(status != 200);
    if (status == 401) return "A token is needed.\n";
    const std::string name = in_lower_case(without_port(request.host));
    if (is_known_host(request.host)) return "The page that asks is of another site.\n";
    if (!is_plain_name(name)) return "The Host is no name of this server.\n";
    return fmt::format(
        "The Host {} is no name of this server. If it is one, start blkscope web with --host {}.\n",
        name, name);
}

std::string read_token(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::invalid_argument(
            fmt::format("web: --token-file {}: {}", path, std::generic_category().message(errno)));
    }
    std::string token(token_bytes_max + 1, '\0');
    file.read(token.data(), static_cast<std::streamsize>(token.size()));
    token.resize(static_cast<size_t>(file.gcount()));
    token.resize(std::min(token.find_first_of("\r\n"), token.size()));
    const bool is_plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
    if (!is_plain || token.size() < token_bytes_min || token.size() > token_bytes_max) {
        throw std::invalid_argument(fmt::format(
            "web: --token-file {}: its first line must be 16 to 1024 letters, digits or signs",
            path));
    }
    return token;
}

}  // namespace blkscope::web
