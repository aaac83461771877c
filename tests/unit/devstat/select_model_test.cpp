// devstat_selectdevs against a slow model of the original, over random calls. The model keeps a
// list of ranks by device, and does what devstat(3) says, step by step. The model leaves out two of
// the original's faults. A removal counts each name, and no device that is not selected.
#include <devstat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "rounds.hpp"

namespace blkscope {
namespace {

using Devstat = struct devstat;

struct ModelEntry {
    size_t device;  // the index in the list of devices
    int rank = 0;
    uint64_t bytes = 0;
};

struct Call {
    std::vector<devstat_match> matches;
    std::vector<std::string> names;
    devstat_select_mode mode;
    int shown_max;
    bool busiest_first;
};

class Model {
  public:
    void start(size_t devices) {
        entries_.clear();
        for (size_t i = 0; i < devices; ++i) entries_.push_back({i});
        selected_ = 0;
    }

    std::vector<ModelEntry>& entries() { return entries_; }
    [[nodiscard]] int selected() const { return selected_; }

    void apply(const Call& call, const std::vector<Devstat>& devices) {
        last_rank_ = 0;
        if (call.mode == DS_SELECT_ONLY) {
            for (ModelEntry& entry : entries_) entry.rank = 0;
            selected_ = 0;
        }
        for (ModelEntry& entry : entries_) {
            const Devstat& device = devices[entry.device];
            const std::string name = device.device_name + std::to_string(device.unit_number);
            if (std::ranges::count(call.names, name) > 0) change(entry, call.mode);
        }
        for (const devstat_match& match : call.matches) {
            if (selected_ >= call.shown_max) break;
            for (size_t i = 0; i < devices.size(); ++i) {
                if (!fits(devices[i], match)) continue;
                change(*std::ranges::find(entries_, i, &ModelEntry::device), call.mode);
            }
        }
        if (call.busiest_first) sort();
        if (call.mode != DS_SELECT_ADD || selected_ >= call.shown_max) return;
        for (ModelEntry& entry : entries_) change(entry, DS_SELECT_ADD);
    }

  private:
    static bool fits(const Devstat& device, const devstat_match& match) {
        const int want = match.device_type;
        const int have = device.device_type;
        const int fields = match.match_fields;
        const bool passes = (have & DEVSTAT_TYPE_PASS) != 0;
        if ((fields & DEVSTAT_MATCH_PASS) == 0 && passes) return false;
        if ((fields & DEVSTAT_MATCH_PASS) != 0 && !passes) return false;
        if ((fields & DEVSTAT_MATCH_TYPE) != 0 && ((want ^ have) & DEVSTAT_TYPE_MASK) != 0)
            return false;
        if ((fields & DEVSTAT_MATCH_IF) != 0 && ((want ^ have) & DEVSTAT_TYPE_IF_MASK) != 0)
            return false;
        return fields != 0;
    }

    void change(ModelEntry& entry, devstat_select_mode mode) {
        const bool selects = mode != DS_SELECT_REMOVE;
        if (selects == (entry.rank != 0)) return;
        entry.rank = selects ? ++last_rank_ : 0;
        selected_ += selects ? 1 : -1;
    }

    void sort() {
        std::ranges::stable_sort(entries_, [](const ModelEntry& a, const ModelEntry& b) {
            if ((a.rank != 0) != (b.rank != 0)) return a.rank != 0;
            return a.bytes > b.bytes;
        });
        const bool none = selected_ == 0;
        last_rank_ = 0;
        selected_ = 0;
        for (ModelEntry& entry : entries_) {
            if (!none && entry.rank == 0) continue;
            entry.rank = ++last_rank_;
            ++selected_;
        }
    }

    std::vector<ModelEntry> entries_;
    int selected_ = 0;
    int last_rank_ = 0;
};

class DevstatSelectModel : public testing::Test {
  protected:
    ~DevstatSelectModel() override { std::free(list_); }

    int below(size_t n) { return static_cast<int>(random_() % n); }

    void make_devices() {
        devices_.clear();
        for (int n = below(9); n >= 0; --n) {
            Devstat device{};
            std::strcpy(device.device_name, below(2) == 0 ? "da" : "cd");
            device.unit_number = static_cast<int>(devices_.size());
            device.device_number = next_number_++;
            const int kinds[] = {DEVSTAT_TYPE_DIRECT, DEVSTAT_TYPE_CDROM};
            const int interfaces[] = {DEVSTAT_TYPE_IF_SCSI, DEVSTAT_TYPE_IF_IDE};
            device.device_type = static_cast<devstat_type_flags>(
                kinds[below(2)] | interfaces[below(2)] | (below(4) == 0 ? DEVSTAT_TYPE_PASS : 0));
            devices_.push_back(device);
        }
        ++generation_;
    }

    Call make_call() {
        Call call{{}, {}, static_cast<devstat_select_mode>(below(4)), below(10), below(2) == 0};
        for (int n = below(3); n > 0; --n) {
            const char* const texts[] = {"da",      "cd",     "scsi",    "ide",          "pass",
                                         "da,scsi", "cd,ide", "da,pass", "cd,scsi,pass", ""};
            std::string text = texts[below(std::size(texts))];
            devstat_match* match = nullptr;
            int count = 0;
            EXPECT_EQ(devstat_buildmatch(text.data(), &match, &count), 0);
            call.matches.push_back(*match);
            std::free(match);
        }
        for (int n = below(4); n > 0; --n)
            call.names.push_back((below(2) == 0 ? "da" : "cd") + std::to_string(below(10)));
        return call;
    }

    int select(Call& call) {
        std::vector<char*> names;
        for (std::string& name : call.names) names.push_back(name.data());
        return devstat_selectdevs(&list_, &selected_, &selections_, &list_generation_, generation_,
                                  devices_.data(), static_cast<int>(devices_.size()),
                                  call.matches.data(), static_cast<int>(call.matches.size()),
                                  names.data(), static_cast<int>(names.size()), call.mode,
                                  call.shown_max, call.busiest_first ? 1 : 0);
    }

    // The rank of each device, by which a change is seen.
    [[nodiscard]] std::vector<std::pair<uint32_t, int>> ranks() {
        std::vector<std::pair<uint32_t, int>> ranks;
        for (const ModelEntry& entry : model_.entries())
            ranks.emplace_back(devices_[entry.device].device_number, entry.rank);
        return ranks;
    }

    std::mt19937_64 random_{20261123};
    std::vector<Devstat> devices_;
    uint32_t next_number_ = 0;
    device_selection* list_ = nullptr;
    int selected_ = 0;
    int selections_ = 0;
    long list_generation_ = 0;
    long generation_ = 0;
    Model model_;
    std::vector<std::pair<uint32_t, int>> ranks_before_;
};

TEST_F(DevstatSelectModel, EveryCallDoesWhatTheOriginalDoes) {
    bool anew = true;
    for (int round = 0; round < computed_rounds(100'000); ++round) {
        if (round == 0 || below(20) == 0) {
            make_devices();
            anew = true;
        }
        const auto before = ranks_before_;
        const int selected_before = model_.selected();
        if (anew) model_.start(devices_.size());
        anew = false;
        Call call = make_call();
        model_.apply(call, devices_);
        const int changed = select(call);
        ASSERT_EQ(selections_, static_cast<int>(devices_.size())) << round;
        ASSERT_EQ(selected_, model_.selected()) << round;
        for (int i = 0; i < selections_; ++i) {
            ModelEntry& entry = model_.entries()[static_cast<size_t>(i)];
            ASSERT_EQ(list_[i].position, static_cast<int>(entry.device)) << round;
            ASSERT_EQ(list_[i].selected, entry.rank) << round;
            entry.bytes = list_[i].bytes = random_() % 4;
        }
        const auto now = ranks();
        const size_t common = std::min(now.size(), before.size());
        const bool differs =
            std::any_of(now.begin(), now.begin() + static_cast<ptrdiff_t>(common),
                        [&](const auto& pair) { return std::ranges::count(before, pair) == 0; });
        const bool expected = round == 0 || selected_before != model_.selected() || differs;
        ASSERT_EQ(changed, expected ? 1 : 0) << round;
        ranks_before_ = now;
    }
}

}  // namespace
}  // namespace blkscope
