// Presets: models and limits of well-known disks, as lines of their grammars.
//
//     "hdd7200" ── find_model_preset ──▶ "all=hdd:7200:500us:14.94ms:163M"
//
// Each line names the source of its figures and the year of the source. A figure that no source
// gives is called an assumption there.
//
// Ownership: static. Threads: any. Errors: none.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace blkscope::model {

struct Preset {
    std::string_view name;
    std::string_view spec;    // for limits: the form, whose arguments change the figures
    std::string_view source;  // of the figures
    int year = 0;             // of the source
};

std::span<const Preset> model_presets();
std::span<const Preset> limit_presets();

/// "hdd7200, sata-ssd and nvme", for a message.
std::string names_of_model_presets();

/// The preset with this name, or nullptr.
const Preset* find_model_preset(std::string_view name);

}  // namespace blkscope::model
