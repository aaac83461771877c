#include "driver/nbd/uri.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/decimal.hpp"

namespace blkscope::nbd {
namespace {

struct Scheme {
    std::string_view text;
    bool local;
    bool tls;
};
constexpr std::array<Scheme, 4> schemes{{{"nbd://", false, false},
                                         {"nbds://", false, true},
                                         {"nbd+unix://", true, false},
                                         {"nbds+unix://", true, true}}};
constexpr std::string_view hex_digits = "0123456789ABCDEF";

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~/").find(c) != std::string_view::npos;
}

std::string encode(std::string_view text, bool keep_slash = true) {
    std::string out;
    for (const char c : text) {
        if (is_plain(c) && (c != '/' || keep_slash)) {
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

// An address of IPv6 stands in brackets, in which nothing is decoded. Any other host is encoded.
std::string encode_host(const std::string& host) {
    const bool v6 = host.find(':') != std::string::npos;
    const bool fits = host.find_first_of("]/?@") == std::string::npos;
    return v6 && fits ? "[" + host + "]" : encode(host, false);
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
            throw std::invalid_argument("'%' without two hexadecimal digits after it");
        }
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

uint16_t parse_port(std::string_view text) {
    const auto port = decimal<uint16_t>(text);
    if (!port || *port == 0) {
        throw std::invalid_argument("port '" + std::string(text) + "' is not 1 to 65535");
    }
    return *port;
}

// Accepts "host", "host:port", "[v6]", "[v6]:port".
void parse_authority(std::string_view text, Uri& uri) {
    size_t colon = text.rfind(':');
    if (text.starts_with('[')) {
        const size_t bracket = text.find(']');
        if (bracket == std::string_view::npos) throw std::invalid_argument("'[' without ']'");
        uri.host = text.substr(1, bracket - 1);
        colon = bracket + 1 < text.size() ? bracket + 1 : std::string_view::npos;
        if (colon != std::string_view::npos && text[colon] != ':') {
            throw std::invalid_argument("']' without ':' and a port after it");
        }
    } else {
        uri.host = decode(text.substr(0, colon));
    }
    if (uri.host.empty()) throw std::invalid_argument("no host");
    if (colon != std::string_view::npos) uri.port = parse_port(text.substr(colon + 1));
}

// The first value of `name` in "name=value&name=value" that is not empty.
std::string parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const std::string_view item = query.substr(0, query.find('&'));
        const size_t equals = item.find('=');
        if (equals != std::string_view::npos && item.substr(0, equals) == name) {
            std::string value = decode(item.substr(equals + 1));
            if (!value.empty()) return value;
        }
        query.remove_prefix(std::min(query.size(), item.size() + 1));
    }
    return {};
}

// Removes "user@" from the front of the authority.
void parse_user(std::string_view& authority, Uri& uri) {
    const size_t at = authority.find('@');
    if (at == std::string_view::npos) return;
    uri.user = decode(authority.substr(0, at));
    authority.remove_prefix(at + 1);
}

bool parse_flag(const std::string& name, const std::string& value) {
    if (value.empty() || value == "true" || value == "1") return true;
    if (value == "false" || value == "0") return false;
    throw std::invalid_argument(name + "=" + value + " is neither true nor false");
}

const Scheme& parse_scheme(std::string_view text) {
    const auto found = std::find_if(schemes.begin(), schemes.end(), [&](const Scheme& scheme) {
        return text.starts_with(scheme.text);
    });
    if (found == schemes.end()) {
        throw std::invalid_argument("none of nbd://, nbds://, nbd+unix:// and nbds+unix://");
    }
    return *found;
}

Uri parse(std::string_view text) {
    const Scheme& scheme = parse_scheme(text);
    Uri uri;
    uri.tls = scheme.tls;
    text.remove_prefix(scheme.text.size());
    const size_t question = text.find('?');
    const std::string_view query =
        question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
    text = text.substr(0, question);
    const size_t slash = text.find('/');
    if (slash != std::string_view::npos) uri.export_name = decode(text.substr(slash + 1));
    std::string_view authority = text.substr(0, slash);
    parse_user(authority, uri);
    if (scheme.local) {
        uri.socket_path = parameter(query, "socket");
        if (uri.socket_path.empty()) throw std::invalid_argument("no socket=PATH");
    } else {
        parse_authority(authority, uri);
    }
    uri.tls_certificates = parameter(query, "tls-certificates");
    uri.tls_hostname = parameter(query, "tls-hostname");
    uri.tls_verify_peer = parse_flag("tls-verify-peer", parameter(query, "tls-verify-peer"));
    uri.tls_psk_file = parameter(query, "tls-psk-file");
    return uri;
}

}  // namespace

Uri parse_uri(const std::string& text) {
    // The parts go to functions of C, which would end them there.
    if (text.find('\0') != std::string::npos)
        throw std::invalid_argument("URI: it has a zero byte");
    try {
        return parse(text);
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument("URI '" + text + "': " + error.what());
    }
}

std::string Uri::text() const {
    const bool local = !socket_path.empty();
    const auto scheme = std::find_if(schemes.begin(), schemes.end(), [&](const Scheme& one) {
        return one.local == local && one.tls == tls;
    });
    assert(scheme != schemes.end());
    std::string out(scheme->text);
    if (!user.empty()) out += encode(user, false) + "@";
    if (!local) out += encode_host(host) + ":" + std::to_string(port);
    out += "/" + encode(export_name);
    char separator = '?';
    const auto add = [&](std::string_view name, const std::string& value) {
        if (value.empty()) return;
        out.append(1, std::exchange(separator, '&')).append(name).append("=").append(encode(value));
    };
    add("socket", socket_path);
    add("tls-certificates", tls_certificates);
    add("tls-hostname", tls_hostname);
    add("tls-verify-peer", tls_verify_peer ? "" : "false");
    add("tls-psk-file", tls_psk_file);
    return out;
}

}  // namespace blkscope::nbd
