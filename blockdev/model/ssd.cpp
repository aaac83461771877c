#include "blockdev/model/ssd.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace blkscope::model {
namespace {

// A product of a shape's figures may be longer than any time that the grammar allows.
hrtime_t times(uint64_t count, Time time) {
    constexpr double longest_ns = Time{Time::max_ps}.ns();
    return std::llround(std::min(static_cast<double>(count) * time.ns(), longest_ns));
}

}  // namespace

SsdShape SsdShape::parse(std::string_view arguments) {
    const auto parts = split(arguments, ':');
    expect_parts(parts, 5, "ssd:CHANNELS:READ:PROGRAM:GC_EVERY:GC_PAUSE");
    const uint64_t channels = parse_count(parts[0], "CHANNELS", 1);
    if (channels > channels_max) {
        throw std::invalid_argument("CHANNELS is more than " + std::to_string(channels_max));
    }
    return {static_cast<uint32_t>(channels), parse_time(parts[1]), parse_time(parts[2]),
            parts[3] == "0" ? 0 : parse_bytes(parts[3], "GC_EVERY"), parse_time(parts[4])};
}

std::string SsdShape::text() const {
    return "ssd:" + std::to_string(channels) + ":" + text_of(read) + ":" + text_of(program) + ":" +
           text_of_bytes(gc_every_bytes) + ":" + text_of(gc_pause);
}

Ssd::Ssd(const SsdShape& shape) : shape_(shape), written_bytes_(shape.channels) {
    assert(shape_.channels > 0);
}

Stay Ssd::take(Servers& channels, const Request& request) {
    assert(channels.count() == shape_.channels);
    assert(request.bytes > 0);
    const Time stripe_time = request.write ? shape_.program : shape_.read;
    const uint64_t first = request.offset / stripe_bytes;
    const uint64_t last = (request.offset + request.bytes - 1) / stripe_bytes;
    const uint64_t used = std::min<uint64_t>(last - first + 1, shape_.channels);
    const auto channel_of = [&](uint64_t i) {
        return static_cast<uint32_t>((first + i) % shape_.channels);
    };
    const auto stripes_of = [&](uint64_t i) { return (last - first - i) / shape_.channels + 1; };
    Stay whole{};
    for (uint64_t i = 0; i < used; ++i) {
        const Stay stay =
            channels.take_server(channel_of(i), request.ready, times(stripes_of(i), stripe_time));
        const hrtime_t begin = i == 0 ? stay.begin : std::min(whole.begin, stay.begin);
        if (i == 0 || stay.end > whole.end) whole = stay;
        whole.begin = begin;
    }
    whole.end = channels.take_server(whole.server, whole.end, request.extra).end;
    for (uint64_t i = 0; request.write && i < used; ++i) {
        pause(channels, channel_of(i), stripes_of(i) * stripe_bytes);
    }
    return whole;
}

// Lets the channel pause if enough bytes, with these, were written to it.
void Ssd::pause(Servers& channels, uint32_t channel, uint64_t bytes) {
    assert(channel < written_bytes_.size());
    if (shape_.gc_every_bytes == 0) return;
    uint64_t& written = written_bytes_[channel];
    written += bytes;
    const uint64_t pauses = written / shape_.gc_every_bytes;
    written %= shape_.gc_every_bytes;
    if (pauses == 0) return;
    constexpr hrtime_t long_ago = std::numeric_limits<hrtime_t>::min();
    static_cast<void>(channels.take_server(channel, long_ago, times(pauses, shape_.gc_pause)));
}

}  // namespace blkscope::model
