// Feeds any text to the parsers of the names of backings: URIs of NBD, and images of a Ceph cluster. The first byte
// says which.
//
// A parser may refuse a text, by std::invalid_argument and a reason alone. The text of an accepted name means the same
// when it is read back. Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "driver/nbd/uri.hpp"
#include "rbd/place.hpp"
#include "require.hpp"

namespace {

using namespace blkscope;

// The result of a text that a name has of itself. Its refusal is a defect.
template <class Parse>
auto read_back(Parse parse) {
    try {
        return parse();
    } catch (const std::invalid_argument&) {
        std::abort();
    }
}

bool is_same(const nbd::Uri& one, const nbd::Uri& other) {
    return one.socket_path == other.socket_path && one.host == other.host &&
           one.port == other.port && one.export_name == other.export_name && one.tls == other.tls &&
           one.user == other.user && one.tls_certificates == other.tls_certificates &&
           one.tls_hostname == other.tls_hostname && one.tls_verify_peer == other.tls_verify_peer &&
           one.tls_psk_file == other.tls_psk_file;
}

// The names go to functions of C.
bool has_zero(const nbd::Uri& uri) {
    return (uri.socket_path + uri.host + uri.export_name + uri.user + uri.tls_certificates +
            uri.tls_hostname + uri.tls_psk_file)
               .find('\0') != std::string::npos;
}

void try_uri(const std::string& text) {
    const nbd::Uri uri = nbd::parse_uri(text);
    require(uri.socket_path.empty() != uri.host.empty() && uri.port != 0 && !has_zero(uri));
    const std::string canonical = uri.text();
    const nbd::Uri again = read_back([&] { return nbd::parse_uri(canonical); });
    require(is_same(again, uri) && again.text() == canonical);
}

void try_place(const std::string& text) {
    const rbd::Place place = rbd::parse_place("rbd:" + text);
    require(!place.pool.empty() && !place.image.empty());
    rbd::Place shown = read_back([&] { return rbd::parse_place(place.text()); });
    require(shown.conf.empty() && shown.user.empty());
    shown.conf = place.conf;
    shown.user = place.user;
    require(shown == place);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    try {
        data[0] % 2 == 0 ? try_uri(text) : try_place(text);
    } catch (const std::invalid_argument& refused) {
        require(!std::string_view(refused.what()).empty());
    }
    return 0;
}
