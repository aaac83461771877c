// The tree of maps, and how it follows what the sources list.
//
// Threads: whoever calls anything here or in a node holds lock().
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kstat/reader/libkstat2/node.hpp"

namespace blkscope::kstat2::reader {

/// What there is, by URI.
using Listing = std::map<std::string, std::shared_ptr<const Listed>, std::less<>>;

class Tree {
  public:
    Tree();
    ~Tree();
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    /// A callback may call back, hence recursive.
    [[nodiscard]] std::recursive_mutex& lock() { return lock_; }

    [[nodiscard]] Node& root() { return root_; }
    /// Null: there is no map of that name.
    [[nodiscard]] Node* find(std::string_view uri);
    /// The kstat at that URI; null: none.
    [[nodiscard]] const Listed* kstat_at(const std::string& uri);

    /// The number of updates; values belong to one, and there are none before the first.
    [[nodiscard]] uint64_t generation() const { return generation_; }

    /// Makes the tree that of the listing, without values.
    void open(const Listing& listing);

    /// Makes the tree that of the listing, and all values old. Calls back for what goes, while its
    /// last values are there; then for levels above what came or went; then for new values.
    void update(const Listing& listing);

    /// The same for a listing that has not changed.
    void renew();

    /// Calls back all who want to know of their map's end. The tree is of no use then but to be
    /// destroyed.
    void say_farewell();

    /// True while callbacks run: the tree must not change its shape.
    [[nodiscard]] bool is_calling_back() const { return calling_back_; }

  private:
    using Nodes = std::vector<Node*>;

    Nodes synchronise(const Listing& listing);
    void fetch_awaited();
    Node& make(std::string_view uri);
    void call(const Nodes& nodes, Callback Node::*which);

    std::recursive_mutex lock_;
    uint64_t generation_ = 0;
    bool calling_back_ = false;
    Node root_;
};

}  // namespace blkscope::kstat2::reader
