#include "devstat/libdevstat/reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <tuple>

namespace blkscope::devstat {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

bool holds_an_entry(const kstat_t& kstat) {
    return kstat.ks_type == KSTAT_TYPE_RAW && std::strcmp(kstat.ks_module, kstat_module) == 0 &&
           std::strcmp(kstat.ks_class, kstat_module) == 0;
}

std::map<kid_t, kstat_t*> entries_of(const kstat_ctl_t& kc) {
    std::map<kid_t, kstat_t*> present;
    for (kstat_t* at = kc.kc_chain; at != nullptr; at = at->ks_next) {
        if (holds_an_entry(*at)) present.emplace(at->ks_kid, at);
    }
    return present;
}

std::string name_of(const kstat_t& kstat, const Devstat& entry) {
    if (entry.unit_number != -1) return entry.device_name + std::to_string(entry.unit_number);
    const std::string name = kstat.ks_name;
    return name.substr(0, name.rfind(kstat_suffix));
}

bool created_before(const Reader::Known& a, const Reader::Known& b) {
    const bintime& left = a.entry.creation_time;
    const bintime& right = b.entry.creation_time;
    return std::tie(left.sec, left.frac) < std::tie(right.sec, right.frac);
}

bool listed_before(const Reader::Known& a, const Reader::Known& b) {
    if (precedes(a.entry, b.entry)) return true;
    return !precedes(b.entry, a.entry) && a.entry.device_number < b.entry.device_number;
}

constexpr uint32_t flags_known =
    DEVSTAT_NO_BLOCKSIZE | DEVSTAT_NO_ORDERED_TAGS | DEVSTAT_BS_UNAVAILABLE;

// The bytes of another process may be no value of the kind. The same number without the unknown bits
// stands for it.
template <class Kind>
void mask(Kind& kind, uint32_t known) {
    uint32_t bits = 0;
    static_assert(sizeof bits == sizeof kind);
    std::memcpy(&bits, &kind, sizeof bits);
    kind = static_cast<Kind>(bits & known);
}

}  // namespace

Decoded decode(std::span<const std::byte> data) {
    uint32_t version_and_size[2] = {};
    static_assert(sizeof version_and_size == offsetof(Record, entry));
    if (data.size() >= sizeof version_and_size) {
        std::memcpy(version_and_size, data.data(), sizeof version_and_size);
    }
    Decoded decoded{static_cast<int>(version_and_size[0]), {}};
    if (version_and_size[0] != DEVSTAT_VERSION || version_and_size[1] != sizeof(Devstat) ||
        data.size() != sizeof(Record)) {
        return decoded;
    }
    Devstat& entry = decoded.entry.emplace();
    std::memcpy(&entry, data.data() + offsetof(Record, entry), sizeof entry);
    entry.device_name[DEVSTAT_NAME_LEN - 1] = '\0';
    mask(entry.flags, flags_known);
    mask(entry.device_type, DEVSTAT_TYPE_MASK | DEVSTAT_TYPE_IF_MASK | DEVSTAT_TYPE_PASS);
    mask(entry.priority, DEVSTAT_PRIORITY_MAX);
    return decoded;
}

bool precedes(const Devstat& one, const Devstat& other) {
    const auto place = [](const Devstat& entry) {
        return std::tuple(entry.unit_number == -1, -static_cast<int>(entry.priority));
    };
    return place(one) < place(other);
}

Reader::Reader() : kc_(kstat_open()) {
    if (kc_ == nullptr) fail("kstat_open");
}

void Reader::update() {
    const kid_t chain = kstat_chain_update(kc_.get());
    const bool partial = chain < 0 && (errno == EMFILE || errno == ENFILE);
    if (chain < 0 && !partial) fail("kstat_chain_update");
    moved_on_ = false;
    const bool first = generation_ == 0;
    if (chain == 0 && !first && !some_unread_) return;
    const auto present = entries_of(*kc_);
    const bool gone = drop_gone(present);
    const bool come = add_new(present);
    if (first || gone || come) ++generation_;
}

bool Reader::drop_gone(const std::map<kid_t, kstat_t*>& present) {
    const auto gone = [&](kid_t kid) { return !present.contains(kid); };
    std::erase_if(foreign_, [&](const auto& foreign) { return gone(foreign.first); });
    return std::erase_if(entries_, [&](const Known& known) { return gone(known.kid); }) > 0;
}

bool Reader::add_new(const std::map<kid_t, kstat_t*>& present) {
    some_unread_ = false;
    std::vector<Known> found;
    for (const auto& [kid, kstat] : present) {
        const bool is_known = std::ranges::find(entries_, kid, &Known::kid) != entries_.end();
        if (foreign_.contains(kid) || is_known) continue;
        Known known{kid, kstat, {}, {}};
        const Outcome outcome = take(known);
        known.name = name_of(*kstat, known.entry);
        if (outcome == Outcome::read) found.push_back(known);
        some_unread_ |= outcome == Outcome::unreadable;
    }
    std::ranges::stable_sort(found, created_before);
    for (Known& known : found) {
        if (!known.anonymous()) known.entry.device_number = next_number_++;
        entries_.push_back(known);
    }
    std::ranges::stable_sort(entries_, listed_before);
    return !found.empty();
}

// Reads an entry, and keeps its number.
Reader::Outcome Reader::take(Known& known) {
    const kid_t chain = kstat_read(kc_.get(), known.kstat, nullptr);
    moved_on_ |= chain != kc_->kc_chain_id;
    if (chain < 0) return Outcome::unreadable;
    const kstat_t& kstat = *known.kstat;
    const Decoded decoded = decode(
        {static_cast<const std::byte*>(kstat.ks_data), static_cast<size_t>(kstat.ks_data_size)});
    if (!decoded.entry) {
        foreign_[known.kid] = decoded.version;
        return Outcome::foreign;
    }
    const uint32_t number = known.entry.device_number;
    known.entry = *decoded.entry;
    known.entry.device_number = number;
    return Outcome::read;
}

bool Reader::read() {
    for (Known& known : entries_) static_cast<void>(take(known));  // failed: the old values stay
    if (!moved_on_) return true;
    const long before = generation_;
    update();
    return generation_ == before;
}

int Reader::devices() const {
    return static_cast<int>(
        std::ranges::count_if(entries_, [](const Known& known) { return !known.anonymous(); }));
}

int Reader::version() const {
    for (const auto& [kid, version] : foreign_) {
        if (version != DEVSTAT_VERSION) return version;
    }
    return DEVSTAT_VERSION;
}

}  // namespace blkscope::devstat
