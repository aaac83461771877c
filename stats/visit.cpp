#include "stats/validate.hpp"
#include "stats/walk.hpp"

namespace blkscope::stats {
namespace {

// One statistic is held back until the next has come, which tells whether it was a last one.
class Visit {
  public:
    Visit(Blob* blob, stats_blob_visitcb_t callback, void* context)
        : blob_(blob), callback_(callback), context_(context) {
        walk(blob, false, [this](size_t, const Voi& voi, int, const VoiStat&) {
            if (first_voi_ < 0) first_voi_ = voi.id;
            last_voi_ = voi.id;
            return 0;
        });
    }

    int show(const Voi& voi, const VoiStat& vs) {
        const bool first = held_.vs_data == nullptr;
        const bool other_voi = first || held_.voi_id != voi.id;
        if (!first && call(other_voi ? SB_IT_LAST_VOISTAT : 0) != 0) return 1;
        held_ = {};
        held_.vs_data = data_of(blob_, vs);
        held_.tplhash = blob_->tplhash;
        held_.voi_id = voi.id;
        held_.vs_dsz = static_cast<int16_t>(vs.dsz);  // the header's type: large ones look negative
        held_.vs_errs = vs.errs;
        held_.voi_dtype = static_cast<vsd_dtype>(voi.dtype);
        held_.vs_dtype = static_cast<vsd_dtype>(vs.dtype);
        held_.vs_stype = vs.stype;
        held_.flags = (first ? SB_IT_FIRST_CB : 0u) | (other_voi ? SB_IT_FIRST_VOISTAT : 0u) |
                      (voi.id == first_voi_ ? SB_IT_FIRST_VOI : 0u) |
                      (voi.id == last_voi_ ? SB_IT_LAST_VOI : 0u);
        return 0;
    }

    void end() {
        if (held_.vs_data != nullptr) call(SB_IT_LAST_VOISTAT | SB_IT_LAST_CB);
    }

  private:
    int call(uint32_t more) {
        held_.flags |= more;
        return callback_(&held_, context_);
    }

    Blob* blob_;
    stats_blob_visitcb_t callback_;
    void* context_;
    int first_voi_ = -1;
    int last_voi_ = -1;
    sb_visit held_{};
};

}  // namespace
}  // namespace blkscope::stats

using namespace blkscope::stats;

extern "C" int stats_v1_blob_visit(statsblobv1* sb, stats_blob_visitcb_t func, void* usrctx) {
    if (func == nullptr || validate(sb) != 0) return EINVAL;
    Visit visit(sb, func, usrctx);
    bool stopped = false;
    walk(sb, false, [&](size_t, const Voi& voi, int, const VoiStat& vs) {
        stopped = visit.show(voi, vs) != 0;
        return stopped;
    });
    if (!stopped) visit.end();
    return 0;
}
