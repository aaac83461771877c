// The templates of this process.
//
// A template's number is its place in a list that only grows. So the number stays valid until the
// process ends, and the template itself is never removed.
#pragma once
#include <functional>

#include "stats/layout.hpp"

namespace blkscope::stats {

/// Calls f with the template of that number while no thread may change the template.
/// Errors: false if there is none.
bool with_template(int64_t id, const std::function<void(const statsblob_tpl&)>& f);

/// The same for the newest one with that hash.
bool with_template_of_hash(uint32_t hash, const std::function<void(const statsblob_tpl&)>& f);

/// For each, oldest first.
void for_each_template(const std::function<void(const statsblob_tpl&)>& f);

}  // namespace blkscope::stats
