#include "kstat/reader/libkstat2/tree.hpp"

#include <set>

#include "kstat/reader/libkstat2/uri.hpp"

namespace blkscope::kstat2::reader {
namespace {

// The nodes below come first.
void collect(Node& node, std::vector<Node*>& nodes) {
    for (const auto& [segment, child] : node.children()) collect(*child, nodes);
    nodes.push_back(&node);
}

std::vector<Node*> all_below(Node& root) {
    std::vector<Node*> nodes;
    collect(root, nodes);
    return nodes;
}

// A kstat's map is removed with the kstat; a mere level is removed with the last kstat below it.
bool is_doomed(const Node& node, const Listing& listing) {
    if (node.parent() == nullptr) return false;
    if (node.kstat() != nullptr) {
        const auto at = listing.find(node.uri());
        return at == listing.end() || at->second.get() != node.kstat();
    }
    if (listing.contains(node.uri())) return false;
    const std::string prefix = prefix_of(node.uri());
    const auto below = listing.lower_bound(prefix);
    return below == listing.end() || !below->first.starts_with(prefix);
}

std::string last_segment(const std::string& uri) {
    return uri.substr(uri.rfind('/') + 1);
}

// Notes every map above `node`: a map below each of them changed.
void note_above(const Node& node, std::set<Node*>& changed) {
    for (Node* above = node.parent(); above != nullptr; above = above->parent()) {
        changed.insert(above);
    }
}

}  // namespace

Tree::Tree() : root_(*this, nullptr, std::string(root_uri)) {}

Tree::~Tree() = default;

Node* Tree::find(std::string_view uri) {
    const auto segments = segments_of(uri);
    if (!segments) return nullptr;
    Node* node = &root_;
    for (const std::string_view segment : *segments) {
        node = node->child(segment);
        if (node == nullptr) return nullptr;
    }
    return node;
}

const Listed* Tree::kstat_at(const std::string& uri) {
    const Node* const node = find(uri);
    return node == nullptr ? nullptr : node->kstat();
}

Node& Tree::make(std::string_view uri) {
    Node* node = &root_;
    const auto segments = segments_of(uri);
    for (const std::string_view segment : *segments) {
        Node* const there = node->child(segment);
        node = there != nullptr ? there : &node->add_child(segment);
    }
    return *node;
}

void Tree::open(const Listing& listing) {
    synchronise(listing);
}

void Tree::update(const Listing& listing) {
    const Nodes changed = synchronise(listing);
    ++generation_;
    call(changed, &Node::on_tree);
    fetch_awaited();
}

void Tree::renew() {
    ++generation_;
    fetch_awaited();
}

// Returns the maps below which a map was added or removed.
Tree::Nodes Tree::synchronise(const Listing& listing) {
    Nodes doomed = all_below(root_);
    std::erase_if(doomed, [&](const Node* node) { return !is_doomed(*node, listing); });
    call(doomed, &Node::on_remove);

    std::set<Node*> changed;
    for (Node* const node : doomed) {
        note_above(*node, changed);
        changed.erase(node);
        Node& parent = *node->parent();
        const std::string segment = last_segment(node->uri());
        if (node->children().empty()) {
            parent.remove_child(segment);
        } else {
            parent.replace_child(segment);
        }
    }
    for (const auto& [uri, listed] : listing) {
        if (kstat_at(uri) == listed.get()) continue;
        Node& node = make(uri);
        node.set_kstat(listed);
        note_above(node, changed);
    }
    return {changed.begin(), changed.end()};
}

void Tree::fetch_awaited() {
    Nodes waiting = all_below(root_);
    std::erase_if(waiting, [](const Node* node) {
        return node->on_data.function == nullptr || node->kstat() == nullptr;
    });
    // If a provider does not answer, there are no new values to call back for.
    std::erase_if(waiting, [](Node* node) { return node->entries(KSTAT2_NVK_SYS).empty(); });
    call(waiting, &Node::on_data);
}

void Tree::say_farewell() {
    call(all_below(root_), &Node::on_remove);
}

void Tree::call(const Nodes& nodes, Callback Node::*which) {
    calling_back_ = true;
    for (Node* const node : nodes) {
        const Callback callback = node->*which;
        if (callback.function != nullptr) callback.function(node, callback.arg);
    }
    calling_back_ = false;
}

}  // namespace blkscope::kstat2::reader
