#include "kstat/reader/libkstat2/remote.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "kstat/reader/libkstat2/uri.hpp"

namespace blkscope::kstat2::reader {

namespace {

using kstat::wire::bytes_of;
using kstat::wire::Op;

// A faulty provider can cost a reader a small multiple of this at most.
constexpr size_t list_size_max = 64U << 20;

}  // namespace

bool fits(const Values& values, const Map& map) {
    return values.kid == map.kid &&
           std::ranges::equal(values.values, map.fields, {}, &Value::type, &Field::type);
}

std::optional<uint64_t> Remote::ask_generation() {
    const auto reply = exchange(Op::kstat2_generation, {});
    if (!reply) return std::nullopt;
    if (reply->head.error != 0) {
        forget();
        return std::nullopt;
    }
    const auto generation = wire::decode_generation(reply->body);
    if (!generation) drop();
    return generation;
}

// Nothing: no reply, an invalid one, or a list that changed between two pages. The next update asks
// again.
std::optional<std::vector<Map>> Remote::ask_list() {
    std::vector<Map> maps;
    std::optional<uint64_t> generation;
    size_t size = 0;
    for (bool more = true; more;) {
        const wire::ListFrom from{maps.empty() ? -1 : maps.back().kid, 0};
        const auto reply = exchange(Op::kstat2_list, bytes_of(from));
        if (!reply || reply->head.error != 0) return std::nullopt;
        size += reply->body.size();
        auto page = wire::decode_page(reply->body, from.after_kid);
        if (!page || size > list_size_max) {
            drop();
            return std::nullopt;
        }
        if (page->generation != generation.value_or(page->generation)) return std::nullopt;
        generation = page->generation;
        std::ranges::move(page->maps, std::back_inserter(maps));
        more = page->more;
    }
    generation_ = generation;
    return maps;
}

bool Remote::follow(const Matchers& matchers) {
    const size_t before = kstats_.size();
    const auto generation = ask_generation();
    if (!generation) return kstats_.size() != before;
    if (generation == generation_) return false;
    auto maps = ask_list();
    if (!maps) return false;
    accept(std::move(*maps), matchers);
    return true;
}

// A kstat that changed only its state keeps the reader's map.
std::shared_ptr<Listed> Remote::known(const Map& map) const {
    const auto at = kstats_.find(map.kid);
    if (at == kstats_.end()) return nullptr;
    Map same = at->second->map;
    same.flags = map.flags;
    return same == map ? at->second : nullptr;
}

void Remote::accept(std::vector<Map> maps, const Matchers& matchers) {
    Kstats listed;
    for (Map& map : maps) {
        if (const auto same = known(map)) {
            same->map.flags = map.flags;
            listed.emplace(map.kid, same);
            continue;
        }
        std::string uri = std::string(scheme) + map.path;
        if (!matchers.select(uri)) continue;
        const kid_t kid = map.kid;
        listed.emplace(kid, std::make_shared<Listed>(Listed{this, std::move(uri), std::move(map)}));
    }
    kstats_ = std::move(listed);
}

bool Remote::forget() {
    const bool had_some = !kstats_.empty();
    kstats_.clear();
    generation_.reset();
    return had_some;
}

std::optional<Values> Remote::read(const Listed& listed) {
    const auto at = kstats_.find(listed.map.kid);
    if (at == kstats_.end() || at->second.get() != &listed) return std::nullopt;
    const wire::MapId id{listed.map.kid, 0};
    const auto reply = exchange(Op::kstat2_read, bytes_of(id));
    // Another process under the same name has other kstats under these numbers.
    if (!reply || was_replaced() || reply->head.error != 0) return std::nullopt;
    auto values = wire::decode_values(reply->body);
    if (!values || !fits(*values, listed.map)) {
        drop();
        return std::nullopt;
    }
    return values;
}

std::vector<Optional> Remote::optionals() {
    const auto reply = exchange(Op::kstat2_optional_list, {});
    if (!reply || reply->head.error != 0) return {};
    auto optionals = wire::decode_optionals(reply->body);
    if (optionals) return std::move(*optionals);
    drop();
    return {};
}

int Remote::set_optional(kstat2_opt_id_t id, wire::Switch wanted) {
    const wire::SetOptional request{id, static_cast<uint32_t>(wanted)};
    const auto reply = exchange(Op::kstat2_optional_set, bytes_of(request));
    return reply ? reply->head.error : ETIMEDOUT;
}

}  // namespace blkscope::kstat2::reader
