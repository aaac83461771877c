#include "tools/blkscope/models.hpp"

#include <fmt/format.h>

#include <array>
#include <span>

#include "blockdev/model/presets.hpp"
#include "tools/blkscope/help.hpp"

namespace blkscope {
namespace {

struct Form {
    const char* text;
    const char* meaning;
};

constexpr std::array<Form, 9> distributions{
    {{"const:T", "the same time for all"},
     {"uniform:A:B", "between A and B, each time with the same chance; mean (A+B)/2"},
     {"exp:T", "exponential with the mean T"},
     {"erlang:K:T", "the sum of K exponentials, with the mean T"},
     {"lognormal:P50:P99", "by its median and its 99th percentile"},
     {"pareto:MIN:ALPHA", "MIN * U^(-1/ALPHA), with a long tail; mean MIN*ALPHA/(ALPHA-1)"},
     {"empirical:FILE", "measured: the output of iostat -j -L, or of fio's json+"},
     {"hdd:RPM:SEEK_MIN:SEEK_FULL:RATE",
      "after all= only: a disk with one head. The seek grows with the square root of its distance "
      "(Ruemmler and Wilkes, An introduction to disk drive modeling, 1994)"},
     {"ssd:CHANNELS:READ:PROGRAM:GC_EVERY:GC_PAUSE",
      "after all= only: a disk of channels, each for its share of the addresses, that pause after "
      "so many written bytes"}}};

std::string presets_text(const char* title, std::span<const model::Preset> presets) {
    std::string text = title;
    for (const model::Preset& preset : presets) {
        text += "\n" + help_entry(std::string(preset.name), std::string(preset.spec));
        text += help_entry("", fmt::format("{} ({})", preset.source, preset.year));
    }
    return text;
}

}  // namespace

std::string models_text() {
    std::string text = presets_text("Presets for --model:\n", model::model_presets());
    text += presets_text("\nPresets for --limit:\n", model::limit_presets());
    text += "\nDistributions, for OP=DIST of --model and for delay=DIST of --fault:\n\n";
    for (const Form& form : distributions) text += help_entry(form.text, form.meaning);
    return text + "\nblkscope-models(7) explains them, with an example for each need.\n";
}

}  // namespace blkscope
