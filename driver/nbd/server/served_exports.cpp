#include "driver/nbd/server/served_exports.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "driver/nbd/server/export.hpp"
#include "driver/nbd/server/workers.hpp"

namespace blkscope::nbd {

ServedExports::ServedExports(Workers& workers) : workers_(workers), names_({}) {}

ServedExports::~ServedExports() {
    assert(exports_.empty());
}

std::unique_ptr<Export> ServedExports::make(ExportOptions options) {
    auto exp = workers_.make_export(std::move(options));
    assert(exp != nullptr);
    assert(exp->serial == 0);
    exp->serial = ++last_serial_;
    assert(last_serial_ > 0);
    return exp;
}

void ServedExports::add(ExportOptions options) {
    exports_.push_back(make(std::move(options)));
}

// In place: a handshake that is under way answers its next option from the new list. If it throws,
// the old one stays.
void ServedExports::offer(bool may_be_listed) {
    std::vector<ExportInfo> infos;
    for (const auto& exp : exports_) infos.push_back(exp->info());
    names_ = Exports(std::move(infos), may_be_listed);
    assert(names_.size() == exports_.size());
}

void ServedExports::change(const std::vector<std::string>& removed,
                           std::vector<ExportOptions> added) {
    assert(names_.size() == exports_.size());
    const auto stays = [&](const std::unique_ptr<Export>& exp) {
        return std::find(removed.begin(), removed.end(), exp->name) == removed.end();
    };
    const auto first_leaver = std::stable_partition(exports_.begin(), exports_.end(), stays);
    List leavers(std::make_move_iterator(first_leaver), std::make_move_iterator(exports_.end()));
    exports_.erase(first_leaver, exports_.end());
    const size_t kept = exports_.size();
    assert(kept + leavers.size() == names_.size());
    try {
        for (ExportOptions& options : added) exports_.push_back(make(std::move(options)));
        offer(names_.may_be_listed());
    } catch (...) {
        for (size_t i = kept; i < exports_.size(); ++i) workers_.retire(std::move(exports_[i]));
        exports_.resize(kept);
        std::move(leavers.begin(), leavers.end(), std::back_inserter(exports_));
        assert(names_.size() == exports_.size());
        throw;
    }
    for (auto& exp : leavers) workers_.retire(std::move(exp));
}

void ServedExports::retire_all() {
    for (auto& exp : exports_) workers_.retire(std::move(exp));
    exports_.clear();
}

Export& ServedExports::operator[](size_t index) const {
    assert(index < exports_.size());
    assert(exports_[index] != nullptr);
    return *exports_[index];
}

Export* ServedExports::find(uint64_t serial) const {
    assert(serial > 0);
    assert(serial <= last_serial_);
    const auto found = std::find_if(exports_.begin(), exports_.end(),
                                    [&](const auto& exp) { return exp->serial == serial; });
    return found == exports_.end() ? nullptr : found->get();
}

}  // namespace blkscope::nbd
