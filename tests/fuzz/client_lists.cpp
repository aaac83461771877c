// Feeds any text to the parsers of two lists of clients: the addresses that may connect, and shared keys. The first
// byte says which.
//
// A parser may refuse a text, by std::invalid_argument alone. A list allows exactly the addresses whose first bits are those
// of an entry, as a second computation here says. A file has the keys of its lines, however they end. The reason of a refusal
// has nothing of a key. Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "driver/nbd/server/allow_list.hpp"
#include "driver/nbd/tls/tls_keys.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::nbd;

__extension__ using Wide = unsigned __int128;

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    for (;;) {
        const size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        if (end == text.npos) return lines;
        text.remove_prefix(end + 1);
    }
}

// ---- Addresses ----

// The address as a number, with its length in bits.
struct Number {
    Wide value = 0;
    unsigned bits = 0;
};

Number number_of(const IpAddress& address) {
    Number number;
    for (const unsigned char byte : address.bytes()) number.value = number.value << 8 | byte;
    number.bits = static_cast<unsigned>(address.bytes().size()) * 8;
    return number;
}

// Whether the entry, which the list has accepted, has the client.
bool contains(const std::string& entry, const Number& client) {
    const size_t slash = std::min(entry.find('/'), entry.size());
    const auto address = IpAddress::parse(entry.substr(0, slash));
    require(address.has_value());
    const Number first = number_of(*address);
    unsigned bits = first.bits;
    if (slash < entry.size())
        std::from_chars(entry.data() + slash + 1, entry.data() + entry.size(), bits);
    require(bits <= first.bits);
    if (first.bits != client.bits) return false;
    const unsigned rest = first.bits - bits;
    return rest >= 128 || first.value >> rest == client.value >> rest;
}

void try_clients(const AllowList& list, const std::vector<std::string>& entries,
                 const IpAddress& client) {
    const Number number = number_of(client);
    const bool expected =
        entries.empty() || std::ranges::any_of(entries, [&](const std::string& entry) {
            return contains(entry, number);
        });
    require(list.allows(client) == expected);
}

// The address with one bit changed.
IpAddress changed(const IpAddress& address, unsigned bit) {
    std::vector<unsigned char> bytes(address.bytes().begin(), address.bytes().end());
    const unsigned at = bit % (static_cast<unsigned>(bytes.size()) * 8);
    bytes[at / 8] = static_cast<unsigned char>(bytes[at / 8] ^ 1U << at % 8);
    return IpAddress(bytes);
}

void try_addresses(std::string_view text) {
    std::vector<std::string> entries = lines_of(text);
    const std::string last = entries.back();  // a client
    entries.pop_back();
    const AllowList list(entries);
    if (const auto client = IpAddress::parse(last)) {
        require(IpAddress::parse(client->text()) == client);
        try_clients(list, entries, *client);
    }
    for (const std::string& entry : entries) {
        const auto first = IpAddress::parse(entry.substr(0, entry.find('/')));
        require(first.has_value() && list.allows(*first));
        for (unsigned bit = 0; bit < 128; bit += 3)
            try_clients(list, entries, changed(*first, bit));
    }
}

// ---- Keys ----

constexpr std::array<std::string_view, 6> reasons{"no ':'",
                                                  "no name before the ':'",
                                                  "no hexadecimal key after the ':'",
                                                  "the name has a key already",
                                                  "no keys",
                                                  " bytes, not 16 to 256"};

std::optional<std::string> refusal_of(std::string_view text) {
    try {
        static_cast<void>(TlsKeys::parse(text));
        return {};
    } catch (const std::invalid_argument& refused) {
        return refused.what();
    }
}

// A reason has a fixed text, and numbers.
bool is_harmless(std::string why) {
    if (why == "no keys") return true;
    if (!why.starts_with("line ")) return false;
    why.erase(0, std::min(why.find(": ") + 2, why.size()));
    return std::ranges::any_of(reasons, [&](std::string_view known) {
        return why == known || (why.starts_with("a key of ") && why.ends_with(known));
    });
}

void try_keys(std::string_view text) {
    const auto refused = refusal_of(text);
    require(!refused || is_harmless(*refused));
    std::string other_ends;
    for (const char c : text) {
        if (c == '\n') other_ends += '\r';
        other_ends += c;
    }
    const bool ends_known = text.find('\r') == text.npos;
    if (ends_known) require(refusal_of(other_ends) == refused);
    if (refused) return;
    const std::string added = "the-name:" + std::string(64, '7');
    const auto more = refusal_of(std::string(text) + "\n" + added);
    const bool is_new = TlsKeys::parse(text).find("the-name") == nullptr;
    require(more.has_value() != is_new);
    require(refusal_of(std::string(text) + "\n" + added + "\n" + added).has_value());
    for (const std::string& line : lines_of(text)) {
        const std::string name = line.substr(0, line.find(':'));
        if (name.empty() || name.starts_with('#') || name.find('\r') != name.npos) continue;
        const TlsKeys keys = TlsKeys::parse(text);
        const TlsKeys::Key* const key = keys.find(name);
        require(key != nullptr && key->size() >= TlsKeys::key_bytes_min);
        require(key->size() <= TlsKeys::key_bytes_max);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        data[0] % 2 == 0 ? try_addresses(text) : try_keys(text);
    } catch (const std::invalid_argument& refused) {
        require(!std::string_view(refused.what()).empty());
    }
    return 0;
}
