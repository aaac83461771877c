// devstat_selectdevs: the devices that a client shows, and their order.
//
//     names ─▶ matches ─▶ bytes (perf_select) ─▶ place in the list (DS_SELECT_ADD)
//
// The more precise request of the caller comes first.
#include <devstat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "devstat/libdevstat/errors.hpp"

namespace blkscope::devstat {
namespace {

using Devstat = struct ::devstat;
using Selection = device_selection;

// The caller's variables, which it keeps between its calls. At the first call the caller passes
// them uninitialised, except for the list, which is then null.
struct Kept {
    Selection*& list;
    int& selected;
    int& selections;
    long& generation;
};

struct Wanted {
    long generation;
    std::span<Devstat> devices;
    std::span<const devstat_match> matches;
    std::span<char*> names;
    devstat_select_mode mode;
    int shown_max;
    bool busiest_first;
};

bool is_named(const Selection& entry, std::span<char*> names) {
    const std::string name = entry.device_name + std::to_string(entry.unit_number);
    return std::ranges::any_of(names, [&](const char* wanted) { return name == wanted; });
}

// The match asks for something, and the device has all of it.
bool fits(const Devstat& device, const devstat_match& match) {
    const auto asks = [&](devstat_match_flags field) { return (match.match_fields & field) != 0; };
    const auto same = [&](int mask) {
        return ((device.device_type ^ match.device_type) & mask) == 0;
    };
    const bool passes_through = (device.device_type & DEVSTAT_TYPE_PASS) != 0;
    // da and scsi are about devices. A pass-through device is one of them only if the match asks
    // for it.
    const bool may_be = asks(DEVSTAT_MATCH_PASS) || !passes_through;
    int held = 0;
    if (asks(DEVSTAT_MATCH_TYPE) && same(DEVSTAT_TYPE_MASK) && may_be) ++held;
    if (asks(DEVSTAT_MATCH_IF) && same(DEVSTAT_TYPE_IF_MASK) && may_be) ++held;
    if (asks(DEVSTAT_MATCH_PASS) && passes_through) ++held;
    return match.num_match_categories > 0 && held >= match.num_match_categories;
}

// The state of one call.
class Selecting {
  public:
    Selecting(const Kept& kept, const Wanted& wanted) : kept_(kept), wanted_(wanted) {}

    int run();

  private:
    [[nodiscard]] std::span<Selection> entries() const {
        return {kept_.list, static_cast<size_t>(kept_.selections)};
    }
    bool prepare();
    bool resize();
    void start_anew();
    void clear();
    void select(Selection& entry);
    void deselect(Selection& entry);
    void apply(Selection& entry);
    void by_name();
    void by_match();
    void by_bytes();
    void by_place();
    [[nodiscard]] bool changed() const;

    Kept kept_;
    const Wanted& wanted_;
    std::vector<Selection> before_;
    bool first_ = false;
    int selected_before_ = 0;
    int last_rank_ = 0;
};

// False: no memory.
bool Selecting::resize() {
    // At least one byte: a null pointer must mean that there is no memory.
    const size_t size = std::max<size_t>(wanted_.devices.size() * sizeof(Selection), 1);
    void* const memory = std::realloc(kept_.list, size);
    if (memory == nullptr) return false;
    kept_.list = static_cast<Selection*>(memory);
    return true;
}

bool Selecting::prepare() {
    const auto count = static_cast<int>(wanted_.devices.size());
    first_ = kept_.list == nullptr;
    const bool another_size = first_ || kept_.selections != count;
    const bool anew = another_size || kept_.generation < wanted_.generation;
    if (!first_) {
        selected_before_ = kept_.selected;
        before_.assign(entries().begin(), entries().end());
    }
    if (another_size && !resize()) return false;
    if (anew) start_anew();
    return true;
}

void Selecting::start_anew() {
    kept_.generation = wanted_.generation;
    kept_.selections = static_cast<int>(wanted_.devices.size());
    kept_.selected = 0;
    int position = 0;
    for (Selection& entry : entries()) {
        const Devstat& device = wanted_.devices[static_cast<size_t>(position)];
        entry = {};
        entry.device_number = device.device_number;
        std::memcpy(entry.device_name, device.device_name, sizeof entry.device_name - 1);
        entry.unit_number = device.unit_number;
        entry.position = position++;
    }
}

void Selecting::clear() {
    for (Selection& entry : entries()) entry.selected = 0;
    kept_.selected = 0;
}

void Selecting::select(Selection& entry) {
    if (entry.selected != 0) return;
    entry.selected = ++last_rank_;
    ++kept_.selected;
}

void Selecting::deselect(Selection& entry) {
    if (entry.selected == 0) return;
    entry.selected = 0;
    --kept_.selected;
}

void Selecting::apply(Selection& entry) {
    wanted_.mode == DS_SELECT_REMOVE ? deselect(entry) : select(entry);
}

void Selecting::by_name() {
    for (Selection& entry : entries()) {
        if (is_named(entry, wanted_.names)) apply(entry);
    }
}

// A match is completed once begun, though it may select more devices than are shown. The ranks
// follow the order of the devices, which a sort by bytes does not change.
void Selecting::by_match() {
    std::vector<Selection*> in_order;
    for (Selection& entry : entries()) in_order.push_back(&entry);
    std::ranges::sort(in_order, {}, &Selection::position);
    for (const devstat_match& match : wanted_.matches) {
        if (kept_.selected >= wanted_.shown_max) return;
        for (Selection* const entry : in_order) {
            if (fits(wanted_.devices[static_cast<size_t>(entry->position)], match)) apply(*entry);
        }
    }
}

void Selecting::by_bytes() {
    std::ranges::stable_sort(entries(), [](const Selection& a, const Selection& b) {
        const bool first = a.selected != 0;
        const bool second = b.selected != 0;
        return first != second ? first : a.bytes > b.bytes;
    });
    const bool none = kept_.selected == 0;
    last_rank_ = 0;
    for (Selection& entry : entries()) {
        if (none || entry.selected != 0) entry.selected = ++last_rank_;
    }
    kept_.selected = last_rank_;
}

// Selects all other devices, not only as many as are shown: clients skip a rank that is too high.
void Selecting::by_place() {
    for (Selection& entry : entries()) select(entry);
}

// Whether a device has another rank than before, or another device has its rank.
bool Selecting::changed() const {
    if (first_ || kept_.selected != selected_before_) return true;
    const auto same = [](const Selection& a, const Selection& b) {
        return a.device_number == b.device_number && a.selected == b.selected;
    };
    const size_t common = std::min(entries().size(), before_.size());
    return std::ranges::any_of(entries().first(common), [&](const Selection& entry) {
        return std::ranges::none_of(before_,
                                    [&](const Selection& old) { return same(entry, old); });
    });
}

int Selecting::run() {
    if (!prepare()) {
        return fail(std::string("devstat_selectdevs: Cannot ") +
                    (first_ ? "allocate" : "reallocate") + " memory for dev_select argument");
    }
    if (wanted_.mode == DS_SELECT_ONLY) clear();
    by_name();
    by_match();
    if (wanted_.busiest_first) by_bytes();
    if (wanted_.mode == DS_SELECT_ADD && kept_.selected < wanted_.shown_max) by_place();
    return changed() ? 1 : 0;
}

template <class T>
std::span<T> span_of(T* first, int count) {
    if (first == nullptr || count <= 0) return {};
    return {first, static_cast<size_t>(count)};
}

}  // namespace
}  // namespace blkscope::devstat

// NOLINTNEXTLINE(readability-function-size): the signature is FreeBSD's
extern "C" __attribute__((visibility("default"))) int devstat_selectdevs(
    struct device_selection** dev_select, int* num_selected, int* num_selections,
    long* select_generation, long current_generation, struct devstat* devices, int numdevs,
    struct devstat_match* matches, int num_matches, char** dev_selections, int num_dev_selections,
    devstat_select_mode select_mode, int maxshowdevs, int perf_select) try {
    using namespace blkscope::devstat;
    if (dev_select == nullptr || devices == nullptr || numdevs < 0) return -1;
    const Wanted wanted{current_generation,
                        span_of(devices, numdevs),
                        span_of<const devstat_match>(matches, num_matches),
                        span_of(dev_selections, num_dev_selections),
                        select_mode,
                        maxshowdevs,
                        perf_select != 0};
    return Selecting({*dev_select, *num_selected, *num_selections, *select_generation}, wanted)
        .run();
} catch (const std::bad_alloc&) {
    return blkscope::devstat::fail(
        "devstat_selectdevs: Cannot allocate memory for selection list backup");
}
