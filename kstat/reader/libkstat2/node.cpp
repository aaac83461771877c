#include "kstat/reader/libkstat2/node.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "kstat/reader/libkstat2/tree.hpp"
#include "kstat/reader/libkstat2/uri.hpp"

namespace blkscope::kstat2::reader {
namespace {

constexpr std::string_view crtime_name = "crtime";
constexpr std::string_view snaptime_name = "snaptime";
constexpr uint64_t ns_per_s = 1'000'000'000;

// The two pairs that every map of a kstat has in addition to its own.
const std::array<Field, 2> added_fields{
    Field{std::string(crtime_name),
          KSTAT2_NVVT_INT,
          {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, ns_per_s, -1, "when it was created"}},
    Field{std::string(snaptime_name),
          KSTAT2_NVVT_INT,
          {KSTAT2_NVMT_T_REL, KSTAT2_NVMF_FRACT, ns_per_s, -1, "when its values were taken"}},
};

const Metadata* metadata_in(const auto& fields, std::string_view name) {
    const auto at = std::ranges::find(fields, name, &Field::name);
    return at == std::end(fields) ? nullptr : &at->md;
}

auto find_in(auto& entries, std::string_view name) {
    return std::ranges::find_if(entries, [&](const auto& entry) { return entry->name() == name; });
}

Value integer(hrtime_t time) {
    return {KSTAT2_NVF_NONE, static_cast<uint64_t>(time)};
}

}  // namespace

Node::Node(Tree& tree, Node* parent, std::string uri)
    : tree_(tree),
      parent_(parent),
      uri_(std::move(uri)),
      anchor_(std::make_shared<std::atomic<Node*>>(this)) {}

Node::~Node() {
    *anchor_ = nullptr;
}

Node* Node::child(std::string_view segment) const {
    const auto at = children_.find(segment);
    return at == children_.end() ? nullptr : at->second.get();
}

void Node::add_entry(std::string_view segment, Node& child) {
    auto entry = std::make_unique<Entry>(segment, KSTAT2_NVK_MAP);
    entry->set(&child);
    others_.push_back(std::move(entry));
    ++others_version_;
}

Node& Node::add_child(std::string_view segment) {
    auto made = std::make_unique<Node>(tree_, this, uri_below(uri_, segment));
    Node& child = *children_.emplace(segment, std::move(made)).first->second;
    add_entry(segment, child);
    return child;
}

void Node::remove_child(const std::string& segment) {
    Node* const gone = child(segment);
    std::erase_if(others_, [&](const auto& entry) {
        return entry->is_of(KSTAT2_NVK_MAP) && entry->nv()->kstat2_map == gone;
    });
    children_.erase(segment);
    ++others_version_;
}

void Node::replace_child(const std::string& segment) {
    auto made = std::make_unique<Node>(tree_, this, uri_below(uri_, segment));
    made->adopt(*child(segment));
    remove_child(segment);
    add_entry(segment, *made);
    children_.emplace(segment, std::move(made));
}

void Node::adopt(Node& old) {
    children_ = std::move(old.children_);
    for (auto& [segment, child] : children_) {
        child->parent_ = this;
        add_entry(segment, *child);
    }
}

void Node::fetch() {
    if (!kstat_ || fetched_in_ == tree_.generation()) return;
    fetched_in_ = tree_.generation();  // also after a failure: the next update fetches again
    auto values = kstat_->source->read(*kstat_);
    if (values) {
        accept(std::move(*values));
    } else {
        system_.clear();
    }
}

void Node::accept(Values values) {
    const Map& map = kstat_->map;
    size_t count = 0;
    for (; count < map.fields.size(); ++count) {
        set_system(count, map.fields[count].name, std::move(values.values[count]));
    }
    const std::array times{integer(map.crtime), integer(values.snaptime)};
    for (size_t i = 0; i < added_fields.size(); ++i) {
        // If a provider has a pair of this name, that pair is shown.
        if (metadata_in(map.fields, added_fields[i].name) != nullptr) continue;
        set_system(count++, added_fields[i].name, times[i]);
    }
}

// A kstat's fields never change, so its entries stay, too.
void Node::set_system(size_t index, std::string_view name, Value value) {
    if (index == system_.size()) system_.push_back(std::make_unique<Entry>(name, KSTAT2_NVK_SYS));
    system_[index]->set(std::move(value));
}

std::vector<const Entry*> Node::entries(uint32_t kinds) {
    std::vector<const Entry*> found;
    if ((kinds & KSTAT2_NVK_SYS) != 0) {
        fetch();
        for (const auto& entry : system_) found.push_back(entry.get());
    }
    for (const auto& entry : others_) {
        if (entry->is_of(kinds)) found.push_back(entry.get());
    }
    return found;
}

const Entry* Node::find(std::string_view name) {
    fetch();
    if (const auto at = find_in(system_, name); at != system_.end()) return at->get();
    if (const auto at = find_in(others_, name); at != others_.end()) return at->get();
    return nullptr;
}

const Metadata* Node::metadata(std::string_view name) const {
    if (!kstat_) return nullptr;
    if (const Metadata* const own = metadata_in(kstat_->map.fields, name)) return own;
    return metadata_in(added_fields, name);
}

uint64_t Node::version(uint32_t kinds) const {
    const bool with_kstat = kstat_ && (kinds & KSTAT2_NVK_SYS) != 0;
    return others_version_ + (with_kstat ? tree_.generation() : 0);
}

kstat2_status_t Node::put(std::string_view name, Data data) {
    auto at = find_in(others_, name);
    if (metadata(name) != nullptr || (at != others_.end() && !(*at)->is_of(KSTAT2_NVK_USR))) {
        return KSTAT2_S_INVAL_TYPE;
    }
    if (at == others_.end()) {
        others_.push_back(std::make_unique<Entry>(name, KSTAT2_NVK_USR));
        at = std::prev(others_.end());
        ++others_version_;
    }
    (*at)->set({KSTAT2_NVF_NONE, std::move(data)});
    return KSTAT2_S_OK;
}

kstat2_status_t Node::remove(std::string_view name) {
    if (metadata(name) != nullptr) return KSTAT2_S_INVAL_TYPE;
    const auto at = find_in(others_, name);
    if (at == others_.end()) return KSTAT2_S_NOT_FOUND;
    if (!(*at)->is_of(KSTAT2_NVK_USR)) return KSTAT2_S_INVAL_TYPE;
    others_.erase(at);
    ++others_version_;
    return KSTAT2_S_OK;
}

}  // namespace blkscope::kstat2::reader
