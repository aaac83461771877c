// A program written for Solaris, with Solaris' headers, on this machine's kstats.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "child_process.hpp"

namespace blkscope {

namespace {

using KstatSolaris = KstatProcesses;

std::string solaris_output_of(const char* program) {
    std::string output;
    FILE* const pipe = popen(program, "r");
    for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) {
        output += static_cast<char>(c);
    }
    if (pipe != nullptr) output += "status " + std::to_string(pclose(pipe)) + "\n";
    return output;
}

TEST_F(KstatSolaris, AProgramFindsWhatItsHeadersPromise) {
    open();
    int processors = 0;
    for (const kstat_t* ks = kc->kc_chain; ks != nullptr; ks = ks->ks_next) {
        if (std::string(ks->ks_module) == "cpu" && std::string(ks->ks_name) == "sys") ++processors;
    }
    EXPECT_EQ(solaris_output_of(SOLARIS_READER),
              "active " + std::to_string(processors) +
                  "\nabsent -1\nsets 0\n"
                  "dnlc hits pick_last dir_entries_cached_current dir_reclaim_any\n"
                  "biostats buffer_cache_lookups duplicate_buffers_found\n"
                  "stamped 1\nsizes 1344 288 24 492 1\nmodules cpu cpu_info cpu_stat unix\n"
                  "ordered 1\n"
                  "status 0\n");
}

}  // namespace

}  // namespace blkscope
