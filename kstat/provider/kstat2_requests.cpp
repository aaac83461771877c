// The replies to kstat2 requests.
#include <cerrno>

#include "kstat/provider/requests.hpp"
#include "kstat/wire/kstat2.hpp"

namespace blkscope::kstat {
namespace {

namespace wire2 = kstat2::wire;

Kstat2Answer list(const Kstat2Source& source, const Session& session, wire::Bytes body) {
    const auto from = wire::take<wire2::ListFrom>(body);
    if (!from || !body.empty()) return {EINVAL, {}};
    const auto page = source.maps.list(session.viewer, from->after_kid, wire2::page_size);
    return {0, wire2::encode_page(page.generation, page.maps, page.more)};
}

Kstat2Answer read(const Kstat2Source& source, const Session& session, wire::Bytes body) {
    const auto wanted = wire::take<wire2::MapId>(body);
    if (!wanted || !body.empty()) return {EINVAL, {}};
    const auto reading = source.maps.read(session.viewer, wanted->kid);
    if (reading.error != 0) return {reading.error, {}};
    auto encoded = wire2::encode_values(reading.values);
    if (!encoded) return {EFBIG, {}};
    return {0, std::move(*encoded)};
}

// The privilege is checked first, before the request itself.
Kstat2Answer set_optional(const Kstat2Source& source, const Session& session, wire::Bytes body) {
    if (!session.may_write) return {EPERM, {}};
    const auto request = wire2::decode_set_optional(body);
    if (!request) return {EINVAL, {}};
    if (request->wanted == static_cast<uint32_t>(wire2::Switch::by_default)) {
        return {source.optionals.set_as_by_default(request->id), {}};
    }
    const bool on = request->wanted == static_cast<uint32_t>(wire2::Switch::on);
    return {source.optionals.set(request->id, on), {}};
}

}  // namespace

Kstat2Answer answer_kstat2(const Kstat2Source& source, const Session& session, wire::Op op,
                           wire::Bytes body) {
    switch (op) {
        case wire::Op::kstat2_generation:
            return {0, wire2::encode_generation(source.maps.generation(session.viewer))};
        case wire::Op::kstat2_list:
            return list(source, session, body);
        case wire::Op::kstat2_read:
            return read(source, session, body);
        case wire::Op::kstat2_optional_list:
            return {0, wire2::encode_optionals(source.optionals.list())};
        case wire::Op::kstat2_optional_set:
            return set_optional(source, session, body);
        default:
            return {EINVAL, {}};
    }
}

}  // namespace blkscope::kstat
