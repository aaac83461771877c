// A trace file from elsewhere, of any format that is read. A refused file has a reason. An accepted file reads back from what is
// written of it, and each format takes it. If the first byte is odd, the checksums are made right
// first, as a hostile author would do.
#include <boost/crc.hpp>
#include <cstdint>
#include <span>
#include <string>

#include "require.hpp"
#include "trace/file.hpp"
#include "trace/formats.hpp"
#include "trace/model_state.hpp"
#include "trace/readers.hpp"
#include "trace/record.hpp"

namespace {

using namespace blkscope;

// Both checksums of a file whose header has a possible size.
void make_right(std::string& file) {
    constexpr size_t fixed_bytes = 56;
    constexpr size_t end_bytes = 16;
    if (file.size() < fixed_bytes + end_bytes) return;
    auto* const at = reinterpret_cast<std::byte*>(file.data());
    const size_t header = trace::get<uint32_t>(at + 16);
    if (header < fixed_bytes || header > file.size() - end_bytes) return;
    const auto crc_of = [](const std::byte* from, size_t bytes) {
        boost::crc_32_type crc;
        crc.process_bytes(from, bytes);
        return crc.checksum();
    };
    trace::put(at + 52, uint32_t{0});
    trace::put(at + 52, crc_of(at, header));
    const size_t records = file.size() - end_bytes - header;
    trace::put(at + header + records + 8, crc_of(at + header, records));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] % 2 == 1) make_right(input);
    const auto trace = trace::decode_any(std::as_bytes(std::span(input)));
    if (!trace) {
        require(!trace.error().empty());
        require(trace.error().find('\n') == std::string::npos);
        return 0;
    }
    const std::string file = trace::encode_file(*trace);
    const auto again = trace::decode_file(std::as_bytes(std::span(file)));
    require(again.has_value());
    require(again->requests == trace->requests && again->properties == trace->properties);
    require(!trace::to_csv(*trace).empty());
    require(!trace::to_json(*trace).empty());
    require(!trace::to_perfetto(*trace).empty());
    require(!trace::to_fio2(*trace).empty());
    const auto state = trace::state_of(trace->properties);
    require(state || (!state.error().empty() && state.error().find('\n') == std::string::npos));
    trace::Trace settled = *trace;
    trace::settle(settled);
    trace::drop_first(settled, settled.requests.size() / 2);
    require(trace::state_of(settled.properties).has_value() == state.has_value());
    static_cast<void>(trace::to_blktrace(*trace));
    static_cast<void>(trace::to_fio3(*trace));
    return 0;
}
