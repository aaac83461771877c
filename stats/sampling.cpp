// Which template the next object is to be measured with: sample rates, rolled and as text.
#include <blkscope/stats.h>
#include <sys/random.h>
#include <sys/sbuf.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/templates.hpp"

namespace blkscope::stats {
namespace {

// The finaliser of splitmix64: every bit of the input moves every bit of the output.
uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

uint64_t hash_of(const void* bytes, size_t size) {
    uint64_t hash = size;
    for (size_t i = 0; i < size; ++i)
        hash = mixed(hash + 0x9e3779b97f4a7c15 + static_cast<const uint8_t*>(bytes)[i]);
    return hash;
}

uint64_t random_number() {
    static thread_local uint64_t state = 0;
    if (state == 0 && getrandom(&state, sizeof state, GRND_NONBLOCK) != sizeof state)
        state = reinterpret_cast<uintptr_t>(&state);
    state += 0x9e3779b97f4a7c15;
    return mixed(state);
}

// The first entry whose part of the 100 the roll falls into.
template <class F>
int chosen(std::span<const stats_tpl_sample_rate> rates, F is_below) {
    uint32_t sum = 0;
    for (const stats_tpl_sample_rate& rate : rates) {
        sum += rate.tpl_sample_pct;
        if (rate.tpl_sample_pct != 0 && is_below(sum)) return rate.tpl_slot_id;
    }
    return -1;
}

std::span<const stats_tpl_sample_rate> entries(const stats_tpl_sample_rate* rates, int count) {
    if (rates == nullptr || count <= 0) return {};
    return {rates, static_cast<size_t>(count)};
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\n";
    const size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// A decimal number that is the whole text.
bool parse_number(std::string_view text, uint64_t max, uint32_t& number) {
    uint64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return false;
        value = value * 10 + static_cast<uint64_t>(c - '0');
        if (value > max) return false;
    }
    number = static_cast<uint32_t>(value);
    return !text.empty();
}

// "name":hash, name:hash, name, or :hash. The id, or a negative errno.
int parse_template(std::string_view text) {
    std::string name;
    bool named = false;
    if (!text.empty() && text.front() == '"') {
        const size_t end = text.find('"', 1);
        if (end == std::string_view::npos) return -EINVAL;
        name = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        named = true;
    } else if (const size_t end = text.rfind(':'); end != 0) {
        name = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end);
        named = true;
    }
    uint32_t hash = 0;
    if (!text.empty() && (text.front() != ':' || !parse_number(text.substr(1), UINT32_MAX, hash)))
        return -EINVAL;
    if (named && name.empty()) return -EINVAL;
    return stats_tpl_fetch_allocid(named ? name.c_str() : nullptr, hash);
}

// The next entry up to a comma that is in no quotes.
std::string_view take_entry(std::string_view& text) {
    bool quoted = false;
    size_t end = 0;
    for (; end < text.size() && (quoted || text[end] != ','); ++end)
        if (text[end] == '"') quoted = !quoted;
    const std::string_view entry = text.substr(0, end);
    text.remove_prefix(end < text.size() ? end + 1 : end);
    return trimmed(entry);
}

int parse_entry(std::string_view entry, stats_tpl_sample_rate& rate) {
    const size_t equals = entry.rfind('=');
    if (equals == std::string_view::npos) return EINVAL;
    if (!parse_number(entry.substr(equals + 1), 100, rate.tpl_sample_pct)) return EINVAL;
    const int id = parse_template(entry.substr(0, equals));
    if (id < 0) return -id;
    rate.tpl_slot_id = id;
    return 0;
}

int parse(std::string_view text, std::vector<stats_tpl_sample_rate>& rates) {
    uint32_t sum = 0;
    text = trimmed(text);
    if (!text.empty() && text.back() == ',') return EINVAL;
    while (!text.empty()) {
        stats_tpl_sample_rate rate{};
        const int error = parse_entry(take_entry(text), rate);
        if (error != 0) return error;
        sum += rate.tpl_sample_pct;
        if (sum > 100) return EINVAL;
        rates.push_back(rate);
    }
    return 0;
}

void cat_template(sbuf* buf, const statsblob_tpl& tpl, bool first) {
    sbuf_printf(buf, "%s\"%s\":%u", first ? "" : ",", tpl.mb->tplname, tpl.mb->tplhash);
}

// What a sysctl of sample rates reads and replaces: the list of a subsystem, behind its callback.
class Subsystem {
  public:
    Subsystem(stats_tpl_sr_cb_t callback, void* context) : callback_(callback), context_(context) {}

    int get(std::vector<stats_tpl_sample_rate>& rates) const;
    int put(const std::vector<stats_tpl_sample_rate>& rates) const;

  private:
    stats_tpl_sr_cb_t callback_;
    void* context_;
};

// A copy, so that the subsystem's lock is not held while a text is made and copied out.
int Subsystem::get(std::vector<stats_tpl_sample_rate>& rates) const {
    stats_tpl_sample_rate* list = nullptr;
    int count = 0;
    if (const int error = callback_(TPL_SR_RLOCKED_GET, &list, &count, context_)) return error;
    int error = 0;
    try {
        const auto all = entries(list, count);
        rates.assign(all.begin(), all.end());
    } catch (const std::bad_alloc&) {
        error = ENOMEM;  // the lock is to be given back all the same
    }
    const int unlocking = callback_(TPL_SR_RUNLOCK, nullptr, nullptr, context_);
    return error != 0 ? error : unlocking;
}

int Subsystem::put(const std::vector<stats_tpl_sample_rate>& rates) const {
    stats_tpl_sample_rate* list = nullptr;
    int count = static_cast<int>(rates.size());
    if (count > 0) {
        const size_t bytes = rates.size() * sizeof(stats_tpl_sample_rate);
        list = static_cast<stats_tpl_sample_rate*>(std::malloc(bytes));
        if (list == nullptr) return ENOMEM;
        std::memcpy(list, rates.data(), bytes);
    }
    const int error = callback_(TPL_SR_PUT, &list, &count, context_);
    std::free(list);  // the old list, or ours if it was not taken
    return error;
}

int read_rates(const Subsystem& subsystem, sysctl_req* req) {
    std::vector<stats_tpl_sample_rate> rates;
    if (const int error = subsystem.get(rates)) return error;
    const std::unique_ptr<sbuf, void (*)(sbuf*)> buf(sbuf_new_auto(), sbuf_delete);
    if (buf == nullptr) return ENOMEM;
    const int error =
        stats_tpl_rates_tostr(rates.data(), static_cast<int>(rates.size()), buf.get());
    if (error != 0) return error;
    if (sbuf_finish(buf.get()) != 0) return ENOMEM;
    return SYSCTL_OUT(req, sbuf_data(buf.get()), static_cast<size_t>(sbuf_len(buf.get())) + 1);
}

int replace_rates(const Subsystem& subsystem, sysctl_req* req) {
    std::string text(req->newlen - req->newidx, '\0');
    if (const int error = SYSCTL_IN(req, text.data(), text.size())) return error;
    std::vector<stats_tpl_sample_rate> rates;
    if (const int error = parse(text.c_str(), rates)) return error;  // up to a NUL, if it has one
    return subsystem.put(rates);
}

}  // namespace
}  // namespace blkscope::stats

using namespace blkscope::stats;

extern "C" int stats_tpl_sample_rollthedice(stats_tpl_sample_rate* rates, int nrates,
                                            void* seed_bytes, size_t seed_len) {
    const uint64_t number = seed_bytes != nullptr ? hash_of(seed_bytes, seed_len) : random_number();
    const uint64_t roll = ((number >> 32) * 100) >> 32;  // 0 to 99
    return chosen(entries(rates, nrates), [&](uint32_t sum) { return roll < sum; });
}

extern "C" int stats_tpl_sample_rollthedice_compat(stats_tpl_sample_rate* rates, int nrates,
                                                   void* seed_bytes, size_t seed_len) {
    uint32_t hash = 0;
    if (seed_bytes != nullptr) {
        for (size_t i = 0; i < seed_len; ++i)
            hash = hash * 33 + static_cast<const uint8_t*>(seed_bytes)[i];
    } else {
        hash = static_cast<uint32_t>(random_number());
    }
    const uint32_t roll = hash / (UINT32_MAX / 100);
    return chosen(entries(rates, nrates), [&](uint32_t sum) { return roll <= sum; });
}

extern "C" int stats_tpl_rates_tostr(const stats_tpl_sample_rate* rates, int nrates, sbuf* buf) {
    if (buf == nullptr) return EINVAL;
    bool first = true;
    for (const stats_tpl_sample_rate& rate : entries(rates, nrates)) {
        const bool found = with_template(rate.tpl_slot_id, [&](const statsblob_tpl& tpl) {
            cat_template(buf, tpl, first);
            sbuf_printf(buf, "=%u", rate.tpl_sample_pct);
        });
        if (!found) return ESRCH;
        first = false;
    }
    return sbuf_error(buf);
}

extern "C" int stats_tpl_rates_parse(const char* text, stats_tpl_sample_rate* rates, int* nrates) {
    if (text == nullptr || nrates == nullptr || (rates == nullptr && *nrates > 0)) return EINVAL;
    try {
        std::vector<stats_tpl_sample_rate> parsed;
        const int error = parse(text, parsed);
        if (error != 0) return error;
        if (parsed.size() > static_cast<size_t>(std::max(*nrates, 0))) return EOVERFLOW;
        for (size_t i = 0; i < parsed.size(); ++i) rates[i] = parsed[i];
        *nrates = static_cast<int>(parsed.size());
        return 0;
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

extern "C" int stats_tpl_list_tostr(sbuf* buf) {
    if (buf == nullptr) return EINVAL;
    bool first = true;
    for_each_template([&](const statsblob_tpl& tpl) {
        cat_template(buf, tpl, first);
        first = false;
    });
    return sbuf_error(buf);
}

// oidp, arg1, arg2 and req are the macro's.
extern "C" int stats_tpl_sample_rates(SYSCTL_HANDLER_ARGS) {
    (void)oidp;
    const auto callback = reinterpret_cast<stats_tpl_sr_cb_t>(arg1);
    if (callback == nullptr || req == nullptr || arg2 < 0) return EINVAL;
    const std::unique_ptr<void, void (*)(void*)> context(
        arg2 > 0 ? std::calloc(1, static_cast<size_t>(arg2)) : nullptr, std::free);
    if (arg2 > 0 && context == nullptr) return ENOMEM;
    const Subsystem subsystem(callback, context.get());
    try {
        const int error = read_rates(subsystem, req);
        if (error != 0 || req->newptr == nullptr) return error;
        return replace_rates(subsystem, req);
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}
