// The tree of maps, and its updates from the sources' lists.
//
// Threads: a caller of any function here or in a node holds lock().
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kstat/reader/libkstat2/node.hpp"

namespace blkscope::kstat2::reader {

/// All listed kstats, by URI.
using Listing = std::map<std::string, std::shared_ptr<const Listed>, std::less<>>;

class Tree {
  public:
    Tree();
    ~Tree();
    Tree& operator=(Tree&&) = delete;

    /// Recursive, because a callback may call the library again.
    [[nodiscard]] std::recursive_mutex& lock() { return lock_; }

    [[nodiscard]] Node& root() { return root_; }
    /// Null: there is no map of that name.
    [[nodiscard]] Node* find(std::string_view uri);
    /// The kstat at that URI; null: none.
    [[nodiscard]] const Listed* kstat_at(const std::string& uri);

    /// The number of updates. Values belong to one update; there are none before the first.
    [[nodiscard]] uint64_t generation() const { return generation_; }

    /// Builds the tree from the listing, without values.
    void open(const Listing& listing);

    /// Makes the tree follow the listing, and marks all values as old. The first callbacks are for
    /// removed maps, which still have their last values. Then follow levels above added or removed
    /// maps, and last the new values.
    void update(const Listing& listing);

    /// The same for an unchanged listing.
    void renew();

    /// Runs every callback for the removal of a map. The tree can then only be destroyed.
    void say_farewell();

    /// True while callbacks run: the tree must not change its shape then.
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
