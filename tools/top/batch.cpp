#include "tools/top/batch.hpp"

#include "tools/iostat/format.hpp"
#include "tools/top/table.hpp"

namespace blkscope::top {

std::string batch_report(const Model& model) {
    iostat::Options options = column_options();
    options.microseconds = false;
    std::string text;
    if (!model.news().empty()) text = "<<" + model.news() + ">>\n";
    text += iostat::vertical_header(iostat::name_width_min, options);
    for (const Tracked* tracked : sorted_devices(model, SortKey::name)) {
        if (tracked->is_gone()) continue;
        text += iostat::vertical_line(tracked->name(), printed(tracked->figures),
                                      iostat::name_width_min, options);
    }
    return text;
}

}  // namespace blkscope::top
