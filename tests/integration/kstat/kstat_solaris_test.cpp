// A program written for Solaris, with Solaris' headers, on this machine's kstats.
#include <gtest/gtest.h>

#include <string>

#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatSolaris = KstatProcesses;

TEST_F(KstatSolaris, AProgramFindsWhatItsHeadersPromise) {
    open();
    int processors = 0;
    for (const kstat_t* ks = kc->kc_chain; ks != nullptr; ks = ks->ks_next) {
        if (std::string(ks->ks_module) == "cpu" && std::string(ks->ks_name) == "sys") ++processors;
    }
    const Outcome outcome = run_shell(SOLARIS_READER);
    EXPECT_EQ(
        outcome.out,
        "active " + std::to_string(processors) +
            "\nabsent -1\nprocessor 1 1 1 0\nabsent -1 1, texts 16 32\nown time 1\nsets 0\n"
            "dnlc hits pick_last dir_entries_cached_current dir_reclaim_any\n"
            "biostats buffer_cache_lookups duplicate_buffers_found\n"
            "stamped 1\nsizes 1344 288 24 492 1\n"
            "areas 1 1, left 1, 1 1\nkernel 1, states 1 6\nmodules cpu cpu_info cpu_stat unix\n"
            "ordered 1\n");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
}

}  // namespace

}  // namespace blkscope
