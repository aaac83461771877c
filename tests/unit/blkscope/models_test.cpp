// The list of presets and distributions.
#include "tools/blkscope/models.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "blockdev/model/presets.hpp"

namespace blkscope {
namespace {

TEST(Models, HasEveryPresetWithTheYearOfItsSource) {
    const std::string text = models_text();
    for (const auto presets : {model::model_presets(), model::limit_presets()}) {
        for (const model::Preset& preset : presets) {
            const size_t at = text.find("\n  " + std::string(preset.name) + " ");
            ASSERT_NE(at, std::string::npos) << preset.name;
            EXPECT_NE(text.find(std::string(preset.spec), at), std::string::npos) << preset.name;
            EXPECT_NE(text.find("(" + std::to_string(preset.year) + ")", at), std::string::npos);
        }
    }
}

TEST(Models, FitsTheScreen) {
    std::istringstream lines(models_text());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace blkscope
