#include "driver/nbd/server/served_exports.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "blockdev/ring/planted.hpp"
#include "driver/nbd/server/export.hpp"
#include "driver/nbd/server/workers.hpp"

namespace blkscope::nbd {

NewExports::NewExports(ServedExports& exports) : exports_(exports) {}

NewExports::NewExports(NewExports&&) noexcept = default;

NewExports::~NewExports() {
    for (auto& exp : made_) exports_.workers_.close_export(std::move(exp));
}

void NewExports::add(ExportOptions options) {
    made_.push_back(exports_.make(std::move(options)));
}

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

// The list changes in place: a handshake under way answers its next option from the new list. If
// this throws, the old list stays.
void ServedExports::offer(bool may_be_listed) {
    std::vector<ExportInfo> infos;
    for (const auto& exp : exports_) infos.push_back(exp->info());
    names_ = Exports(std::move(infos), may_be_listed);
    assert(names_.size() == exports_.size());
}

const Exports& ServedExports::current_names() {
    assert(names_.size() == exports_.size());
    for (size_t i = 0; i < exports_.size(); ++i) {
        names_.set_size(i, exports_[i]->device.size_bytes());
    }
    return names_;
}

// All steps that can fail come first. An index in the list of names is an index in exports_, so
// both change together, or neither.
void ServedExports::change(const std::vector<std::string>& removed, NewExports added) {
    assert(names_.size() == exports_.size());
    assert(&added.exports_ == this);
    const auto stays = [&](const std::unique_ptr<Export>& exp) {
        return std::find(removed.begin(), removed.end(), exp->name) == removed.end();
    };
    List& new_exports = added.made_;
    std::vector<ExportInfo> infos;
    for (const auto& exp : exports_) {
        if (stays(exp)) infos.push_back(exp->info());
    }
    for (const auto& exp : new_exports) infos.push_back(exp->info());
    try {
        Exports names(std::move(infos), names_.may_be_listed());
        exports_.reserve(exports_.size() + new_exports.size());
        names_ = std::move(names);
    } catch (...) {
        if (planted("failed-change-reorders")) {
            std::stable_partition(exports_.begin(), exports_.end(), stays);
        }
        throw;
    }
    const auto first_removed = std::stable_partition(exports_.begin(), exports_.end(), stays);
    List removed_exports(std::make_move_iterator(first_removed),
                         std::make_move_iterator(exports_.end()));
    exports_.erase(first_removed, exports_.end());
    std::move(new_exports.begin(), new_exports.end(), std::back_inserter(exports_));
    new_exports.clear();
    assert(names_.size() == exports_.size());
    for (auto& exp : removed_exports) workers_.close_export(std::move(exp));
}

void ServedExports::close_all() {
    for (auto& exp : exports_) workers_.close_export(std::move(exp));
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
