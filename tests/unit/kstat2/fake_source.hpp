// A source without a provider: the kstats that a test makes up, and how often each was read.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kstat/reader/libkstat2/source.hpp"
#include "kstat/reader/libkstat2/tree.hpp"

namespace blkscope::kstat2::reader {

class FakeSource : public Source {
  public:
    /// Adds a kstat with one integer, "count".
    std::shared_ptr<Listed> add(const std::string& path, uint64_t count = 0) {
        Map map;
        map.kid = next_kid_++;
        map.crtime = 7;
        map.path = path;
        map.desc = "of " + path;
        map.metatype = KSTAT2_MT_IO;
        map.fields.push_back(
            {"count", KSTAT2_NVVT_INT, {KSTAT2_NVMT_CNT, KSTAT2_NVMF_NONE, 1, -1, "events"}});
        counts[map.kid] = count;
        auto listed = std::make_shared<Listed>(Listed{this, "kstat:" + path, map});
        listing[listed->uri] = listed;
        return listed;
    }

    Result<Values> read(const Listed& listed) override {
        ++reads;
        if (silent) return os_error(ETIMEDOUT);
        return Values{listed.map.kid, 9, 0, 0, {Value{flags, counts.at(listed.map.kid)}}};
    }

    Listing listing;
    std::map<kid_t, uint64_t> counts;
    uint16_t flags = KSTAT2_NVF_NONE;
    int reads = 0;
    bool silent = false;

  private:
    kid_t next_kid_ = 1;
};

}  // namespace blkscope::kstat2::reader
