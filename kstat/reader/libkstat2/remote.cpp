#include "kstat/reader/libkstat2/remote.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "kstat/reader/libkstat2/uri.hpp"

namespace blkscope::kstat2::reader {
namespace {

using kstat::wire::bytes_of;
using kstat::wire::Op;

// A faulty provider can cost a reader a small multiple of this at most.
constexpr size_t list_size_max = 64U << 20;
constexpr int lists_max = 3;  // asked for at a time, if the list changes meanwhile

// The reply of a provider that has done what it was asked.
Result<kstat::Reply> without_error(Result<kstat::Reply> reply) {
    if (reply && reply->head.error != 0) return os_error(reply->head.error);
    return reply;
}

}  // namespace

bool fits(const Values& values, const Map& map) {
    return values.kid == map.kid &&
           std::ranges::equal(values.values, map.fields, {}, &Value::type, &Field::type);
}

void Remote::ask_for_generation() {
    ask_ahead(Op::kstat2_generation, {});
}

Result<uint64_t> Remote::hear_generation() {
    const auto reply = asked_ahead(Op::kstat2_generation, {});
    if (!reply) return reply.error();
    if (reply->head.error != 0) {
        // A provider without kstat2 has no answer to it.
        if (reply->head.error != EINVAL) leave_out(kstat::no_list);
        forget();
        return os_error(reply->head.error);
    }
    const auto generation = wire::decode_generation(reply->body);
    if (!generation) return invalid_reply();
    return *generation;
}

// EAGAIN: the list changed between two pages. A later update asks again, after other errors, too.
Result<std::vector<Map>> Remote::ask_list() {
    std::vector<Map> maps;
    std::optional<uint64_t> generation;
    size_t size = 0;
    for (bool more = true; more;) {
        const wire::ListFrom from{maps.empty() ? -1 : maps.back().kid, 0};
        const auto reply = without_error(ask_page(Op::kstat2_list, bytes_of(from)));
        if (!reply) return reply.error();
        size += reply->body.size();
        auto page = wire::decode_page(reply->body, from.after_kid);
        if (!page || size > list_size_max) return invalid_reply();
        if (page->generation != generation.value_or(page->generation)) return os_error(EAGAIN);
        generation = page->generation;
        std::ranges::move(page->maps, std::back_inserter(maps));
        more = page->more;
    }
    generation_ = generation;
    return maps;
}

std::error_code Remote::invalid_reply() {
    drop();
    return os_error(EPROTO);
}

bool Remote::follow(const Matchers& matchers) {
    const size_t before = kstats_.size();
    const auto generation = hear_generation();
    if (!generation) return kstats_.size() != before;
    if (*generation == generation_) return false;
    if (!list_time.may_begin()) {
        leave_out(kstat::no_list);
        return false;
    }
    list_time.begin();
    auto maps = ask_list();
    for (int i = 1; i < lists_max && !maps && maps.error().value() == EAGAIN; ++i)
        maps = ask_list();
    list_time.end(maps.has_value());
    if (!maps) {
        // A list that changed is asked for again, and a process that ended has none.
        const int error = maps.error().value();
        if (error != EAGAIN && error != ENXIO) leave_out(kstat::no_list);
        return false;
    }
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

Result<Values> Remote::read(const Listed& listed) {
    const auto at = kstats_.find(listed.map.kid);
    if (at == kstats_.end() || at->second.get() != &listed) return os_error(ENXIO);
    const wire::MapId id{listed.map.kid, 0};
    const auto reply = without_error(exchange(Op::kstat2_read, bytes_of(id)));
    // Another process under the same name has other kstats under these numbers.
    if (was_replaced()) return os_error(ENXIO);
    if (!reply) return reply.error();
    auto values = wire::decode_values(reply->body);
    if (!values || !fits(*values, listed.map)) return invalid_reply();
    return std::move(*values);
}

std::vector<Optional> Remote::optionals() {
    const auto reply = without_error(exchange(Op::kstat2_optional_list, {}));
    if (!reply) return {};
    auto optionals = wire::decode_optionals(reply->body);
    if (!optionals) {
        drop();
        return {};
    }
    return std::move(*optionals);
}

int Remote::set_optional(kstat2_opt_id_t id, wire::Switch wanted) {
    const wire::SetOptional request{id, static_cast<uint32_t>(wanted)};
    const auto reply = without_error(exchange(Op::kstat2_optional_set, bytes_of(request)));
    return reply ? 0 : reply.error().value();
}

}  // namespace blkscope::kstat2::reader
