// Feeds any bytes to the parser of HTTP requests, and its results to the checks and to patterns of devices.
//
// A request that is accepted is accepted at its last byte and not before, whatever follows it. Built
// twice: with libFuzzer (BLKSCOPE_FUZZ), and into a test that runs the corpus and random bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.hpp"
#include "require.hpp"
#include "tools/kstat/glob.hpp"
#include "tools/web/access.hpp"
#include "tools/web/exposition.hpp"
#include "tools/web/request.hpp"
#include "tools/web/response.hpp"

namespace {

using namespace blkscope::web;

void check_accepted(std::string_view text, const ParsedRequest& parsed) {
    require(parsed.bytes > 0 && parsed.bytes <= text.size() && parsed.bytes <= head_bytes_max);
    require(parsed.request.path.starts_with('/'));
    require(parse_request(text.substr(0, parsed.bytes)).status == 200);
    require(parse_request(text.substr(0, parsed.bytes - 1)).status == 0);
    require(parse_request(text.substr(0, parsed.bytes / 2)).status == 0);
}

// The values of a query are patterns of names. The number of a pattern's stars does not matter for the time.
void match(const Request& request) {
    static const std::string name(31, 'a');
    for (const auto& [key, value] : request.query) {
        require(request.parameter(key).has_value());
        const blkscope::kstat_command::Glob glob(value);
        require(!glob.matches(name) || !value.empty());
        require(blkscope::kstat_command::Glob("*" + value).matches(name) || !glob.matches(name));
    }
}

void check_further(const Request& request) {
    match(request);
    static const Access access({"lab7"}, "0123456789abcdef");
    const int status = access.check(request);
    require(status == 200 || status == 401 || status == 403);
    static_cast<void>(format_for(request.accept));
    const std::string label = label_text(request.path);
    require(blkscope::is_utf8(label) && label.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const ParsedRequest parsed = parse_request(text);
    require(parsed.status == 0 || parsed.status == 200 || !reason_of(parsed.status).empty());
    if (parsed.status == 200) check_accepted(text, parsed);
    check_further(parsed.request);
    return 0;
}
