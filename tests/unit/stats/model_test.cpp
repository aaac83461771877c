// Random templates, random values, copies and resets, against the simplest model. The model is the
// list of all values since the last reset.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "fixture.hpp"
#include "rounds.hpp"

namespace blkscope::stats {

namespace {

struct Model {
    std::vector<int64_t> values;
    int64_t last = 0;
    bool relative = false;
    std::vector<voi_stype> kinds;

    int64_t sum() const { return std::accumulate(values.begin(), values.end(), int64_t{0}); }
    int64_t max() const { return *std::max_element(values.begin(), values.end()); }
    int64_t min() const { return *std::min_element(values.begin(), values.end()); }
    uint64_t between(int64_t from, int64_t to) const {
        return static_cast<uint64_t>(std::count_if(values.begin(), values.end(),
                                                   [&](int64_t v) { return from <= v && v < to; }));
    }
};
using Models = std::map<int32_t, Model>;

class StatsModel : public testing::Test {
  protected:
    void make_template() {
        tpl_ = new_template();
        models_.clear();
        for (size_t vois = 1 + random_() % 5; vois > 0; --vois) {
            const auto id = static_cast<int32_t>(random_() % 12);
            if (models_.count(id) == 0) add_voi(id);
        }
        blob_ = blob_of(tpl_);
    }

    void add_voi(int32_t id) {
        auto buckets = stats_hist_lin(VSD_DTYPE_CRHIST32, 0, 90, 10);
        auto digest = stats_tdgst(VSD_DTYPE_TDGSTCLUST64, 16, 16);
        const voistatspec all[] = {STATS_VSS_SUM(), STATS_VSS_MAX(), STATS_VSS_MIN(),
                                   stats_vss_hist(buckets), stats_vss_tdgst(digest)};
        std::vector<voistatspec> chosen;
        for (const voistatspec& spec : all)
            if (random_() % 2 == 0) chosen.push_back(spec);
        if (chosen.empty()) chosen.push_back(all[0]);
        std::shuffle(chosen.begin(), chosen.end(), random_);
        Model& model = models_[id];
        model.relative = random_() % 2 == 0;
        for (const voistatspec& spec : chosen) model.kinds.push_back(spec.stype);
        std::sort(model.kinds.begin(), model.kinds.end());
        ASSERT_EQ(add(tpl_, id, VSD_DTYPE_INT_S64, chosen, model.relative ? SB_VOI_RELUPDATE : 0),
                  0);
    }

    void feed() {
        auto& [id, model] =
            *std::next(models_.begin(), static_cast<ptrdiff_t>(random_() % models_.size()));
        auto value = static_cast<int64_t>(random_() % 140) - 20;
        if (model.relative && random_() % 2 == 0) {
            ASSERT_EQ(stats_voi_update_rel_s64(blob_.get(), id, value - model.last), 0);
        } else {
            ASSERT_EQ(stats_voi_update_abs_s64(blob_.get(), id, value), 0);
        }
        model.last = value;
        model.values.push_back(value);
    }

    static void check_histogram(const Model& model, const voistatdata_crhist32& hist) {
        EXPECT_EQ(hist.oob, model.between(INT64_MIN, 0));
        for (int i = 0; i < 9; ++i) EXPECT_EQ(hist.bkts[i].cnt, model.between(i * 10, i * 10 + 10));
        EXPECT_EQ(hist.bkts[9].cnt, model.between(90, INT64_MAX));
    }

    static void check_one(const Model& model, const sb_visit& visit) {
        const bool fed = !model.values.empty();
        int64_t number;
        std::memcpy(&number, visit.vs_data, sizeof number);
        switch (visit.vs_stype) {
            case VS_STYPE_VOISTATE:
                EXPECT_EQ(number, model.last);
                return;
            case VS_STYPE_SUM:
                EXPECT_EQ(number, model.sum());
                return;
            case VS_STYPE_MAX:
                EXPECT_EQ(number, fed ? model.max() : INT64_MIN);
                return;
            case VS_STYPE_MIN:
                EXPECT_EQ(number, fed ? model.min() : INT64_MAX);
                return;
            case VS_STYPE_HIST:
                return check_histogram(model, visit.vs_data->crhist32);
            default:
                EXPECT_EQ(visit.vs_data->tdgstclust64.smplcnt, model.values.size());
        }
    }

    // A visit sees every statistic of every VOI, in order, with what the model says.
    void check(statsblob* blob) {
        ASSERT_EQ(stats_blob_validate(blob, blob->cursz), 0);
        struct Walk {
            const Models* models;
            std::vector<std::pair<int32_t, int>> seen;
        } walk{&models_, {}};
        const auto note = [](sb_visit* visit, void* context) {
            auto& w = *static_cast<Walk*>(context);
            w.seen.emplace_back(visit->voi_id, visit->vs_stype);
            check_one(w.models->at(visit->voi_id), *visit);
            return 0;
        };
        ASSERT_EQ(stats_blob_visit(blob, note, &walk), 0);
        std::vector<std::pair<int32_t, int>> expected;
        for (const auto& [id, model] : models_) {
            if (model.relative) expected.emplace_back(id, VS_STYPE_VOISTATE);
            for (const voi_stype kind : model.kinds) expected.emplace_back(id, kind);
        }
        ASSERT_EQ(walk.seen, expected);
    }

    void snapshot(bool reset) {
        statsblob* copy = nullptr;
        const uint32_t flags = SB_CLONE_ALLOCDST | (reset ? SB_CLONE_RSTSRC : 0);
        ASSERT_EQ(stats_blob_snapshot(&copy, 0, blob_.get(), flags), 0);
        const BlobPtr owner(copy);
        check(copy);
        if (!reset) return;
        for (auto& [id, model] : models_) model.values.clear();
        check(blob_.get());
    }

    std::mt19937_64 random_{20261121};
    int tpl_ = -1;
    Models models_;
    BlobPtr blob_;
};

TEST_F(StatsModel, WhateverHappensABlobIsTheListOfItsValues) {
    for (int round = 0; round < computed_rounds(100); ++round) {
        make_template();
        for (int step = 0; step < 300; ++step) {
            const auto dice = random_() % 50;
            if (dice < 2)
                snapshot(dice == 0);
            else
                feed();
        }
        check(blob_.get());
        if (HasFailure()) return;
    }
}

}  // namespace

}  // namespace blkscope::stats
