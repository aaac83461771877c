// Feeds any line to the parser of requests at the control socket.
//
// The parser may refuse a line, by std::invalid_argument and one line alone. An accepted request means the same when it is
// printed and parsed again. Its texts do not break the log's line. Built twice: with libFuzzer (BLKSCOPE_FUZZ), and into
// a test that runs the corpus and random bytes.
#include "tools/blkscope/control_request.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "require.hpp"

namespace {

using namespace blkscope;

bool is_same(const ControlRequest& one, const ControlRequest& other) {
    const bool histograms = std::ranges::equal(
        one.histograms, other.histograms, [](const SentHistogram& a, const SentHistogram& b) {
            return a.file == b.file && a.operation == b.operation && a.histogram == b.histogram;
        });
    return histograms && one.command == other.command && one.device == other.device &&
           one.all == other.all && one.model == other.model && one.limit == other.limit &&
           one.client_limit == other.client_limit && one.queue_depth == other.queue_depth &&
           one.rule == other.rule && one.id == other.id && one.from == other.from &&
           one.over_ns == other.over_ns;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    ControlRequest request;
    try {
        request = parse_request(line);
    } catch (const std::invalid_argument& refused) {
        const std::string_view why = refused.what();
        require(!why.empty() && why.find('\n') == why.npos);
        return 0;
    }
    require(request.all == request.device.empty());
    require(is_printable(request.model.value_or("")) && is_printable(request.rule));
    require(is_printable(request.limit.value_or("") + request.client_limit.value_or("")));
    const std::string text = text_of(request);
    require(is_printable(text));
    require(is_same(parse_request(text), request) && text_of(parse_request(text)) == text);
    return 0;
}
