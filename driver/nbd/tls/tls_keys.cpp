#include "driver/nbd/tls/tls_keys.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace blkscope::nbd {
namespace {

std::optional<TlsKeys::Key> decode_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    TlsKeys::Key bytes(text.size() / 2);
    for (size_t i = 0; i < bytes.size(); ++i) {
        const char* digits = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(digits, digits + 2, bytes[i], 16);
        if (error != std::errc{} || end != digits + 2) return std::nullopt;
    }
    return bytes;
}

std::optional<std::string> decode_name(std::string_view text) {
    if (!text.starts_with('#')) return std::string(text);
    const auto bytes = decode_hex(text.substr(1));
    if (!bytes) return std::nullopt;
    return std::string(bytes->begin(), bytes->end());
}

std::pair<std::string, TlsKeys::Key> parse_line(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) throw std::invalid_argument("no ':'");
    auto name = decode_name(line.substr(0, colon));
    auto key = decode_hex(line.substr(colon + 1));
    if (!name || name->empty()) throw std::invalid_argument("no name before the ':'");
    if (!key) throw std::invalid_argument("no hexadecimal key after the ':'");
    if (key->size() < TlsKeys::key_bytes_min || key->size() > TlsKeys::key_bytes_max) {
        throw std::invalid_argument(fmt::format("a key of {} bytes, not {} to {}", key->size(),
                                                TlsKeys::key_bytes_min, TlsKeys::key_bytes_max));
    }
    return {std::move(*name), std::move(*key)};
}

}  // namespace

TlsKeys TlsKeys::parse(std::string_view text) {
    TlsKeys keys;
    for (size_t number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        try {
            if (!keys.keys_.insert(parse_line(line)).second) {
                throw std::invalid_argument("the name has a key already");
            }
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument(fmt::format("line {}: {}", number, error.what()));
        }
    }
    if (keys.keys_.empty()) throw std::invalid_argument("no keys");
    return keys;
}

TlsKeys::~TlsKeys() {
    for (auto& [name, key] : keys_) OPENSSL_cleanse(key.data(), key.size());
}

const TlsKeys::Key* TlsKeys::find(std::string_view name) const {
    const auto found = keys_.find(name);
    return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace blkscope::nbd
