#include "driver/nbd/uri.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace blkscope::nbd {
namespace {

constexpr std::string_view tcp_scheme = "nbd://";
constexpr std::string_view unix_scheme = "nbd+unix://";
constexpr std::string_view socket_parameter = "socket=";
constexpr std::string_view hex_digits = "0123456789ABCDEF";

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~/").find(c) != std::string_view::npos;
}

std::string encode(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (is_plain(c)) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += hex_digits[byte >> 4];
        out += hex_digits[byte & 15];
    }
    return out;
}

std::string decode(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned byte = 0;
        const std::string_view digits = text.substr(i + 1, 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
        if (error != std::errc{} || digits.size() < 2 || end != digits.data() + 2 || byte == 0) {
            throw std::invalid_argument("'%' without two hexadecimal digits behind it");
        }
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

uint16_t parse_port(std::string_view text) {
    uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size() || port == 0) {
        throw std::invalid_argument("port '" + std::string(text) + "' is not 1 to 65535");
    }
    return port;
}

// "host", "host:port", "[v6]", "[v6]:port".
void parse_authority(std::string_view text, Uri& uri) {
    size_t colon = text.rfind(':');
    if (text.starts_with('[')) {
        const size_t bracket = text.find(']');
        if (bracket == std::string_view::npos) throw std::invalid_argument("'[' without ']'");
        uri.host = text.substr(1, bracket - 1);
        colon = bracket + 1 < text.size() ? bracket + 1 : std::string_view::npos;
        if (colon != std::string_view::npos && text[colon] != ':') {
            throw std::invalid_argument("']' without ':' and a port behind it");
        }
    } else {
        uri.host = decode(text.substr(0, colon));
    }
    if (uri.host.empty()) throw std::invalid_argument("no host");
    if (colon != std::string_view::npos) uri.port = parse_port(text.substr(colon + 1));
}

std::string parse_socket(std::string_view query) {
    while (!query.empty()) {
        const std::string_view parameter = query.substr(0, query.find('&'));
        if (parameter.starts_with(socket_parameter)) {
            const std::string path = decode(parameter.substr(socket_parameter.size()));
            if (!path.empty()) return path;
        }
        query.remove_prefix(std::min(query.size(), parameter.size() + 1));
    }
    throw std::invalid_argument("no socket=PATH in it");
}

Uri parse(std::string_view text) {
    Uri uri;
    const bool local = text.starts_with(unix_scheme);
    if (!local && !text.starts_with(tcp_scheme)) {
        throw std::invalid_argument("neither nbd:// nor nbd+unix://");
    }
    text.remove_prefix(local ? unix_scheme.size() : tcp_scheme.size());
    const size_t question = text.find('?');
    const std::string_view query =
        question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
    text = text.substr(0, question);
    const size_t slash = text.find('/');
    if (slash != std::string_view::npos) uri.export_name = decode(text.substr(slash + 1));
    if (local) {
        uri.socket_path = parse_socket(query);
    } else {
        parse_authority(text.substr(0, slash), uri);
    }
    return uri;
}

}  // namespace

Uri parse_uri(const std::string& text) {
    try {
        return parse(text);
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument("URI '" + text + "': " + error.what());
    }
}

std::string Uri::text() const {
    if (!socket_path.empty()) {
        return std::string(unix_scheme) + "/" + encode(export_name) + "?" +
               std::string(socket_parameter) + encode(socket_path);
    }
    const bool v6 = host.find(':') != std::string::npos;
    return std::string(tcp_scheme) + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port) +
           "/" + encode(export_name);
}

}  // namespace blkscope::nbd
