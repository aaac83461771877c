// One map of the tree: the kstat at its URI, if there is one, and the nested maps.
//
//     system     the kstat's fields, crtime, snaptime    fetched at the first look after an update
//     others     nested maps and user values             in the order of their addition
//
// Ownership: a node owns the nodes below it. References and iterators hold its anchor. The anchor
//            outlives the node and is then null.
// Threads:   the tree's lock; the anchor may be read without it.
#pragma once

#include <kstat2.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kstat/reader/libkstat2/entry.hpp"
#include "kstat/reader/libkstat2/source.hpp"

struct kstat2_map_node {};

namespace blkscope::kstat2::reader {

class Node;
class Tree;

using Anchor = std::shared_ptr<std::atomic<Node*>>;

struct Callback {
    kstat2_map_cb_t function = nullptr;
    void* arg = nullptr;
};

class Node : public kstat2_map_node {
  public:
    Node(Tree& tree, Node* parent, std::string uri);
    ~Node();
    Node& operator=(Node&&) = delete;

    [[nodiscard]] Tree& tree() const { return tree_; }
    [[nodiscard]] Node* parent() const { return parent_; }
    [[nodiscard]] const std::string& uri() const { return uri_; }
    [[nodiscard]] const Anchor& anchor() const { return anchor_; }

    // The tree's shape; only Tree changes it.

    [[nodiscard]] const Listed* kstat() const { return kstat_.get(); }
    void set_kstat(std::shared_ptr<const Listed> kstat) { kstat_ = std::move(kstat); }

    using Children = std::map<std::string, std::unique_ptr<Node>, std::less<>>;
    [[nodiscard]] const Children& children() const { return children_; }
    [[nodiscard]] Node* child(std::string_view segment) const;
    Node& add_child(std::string_view segment);
    void remove_child(const std::string& segment);
    /// Replaces a child by a new node, which takes over the nodes below.
    void replace_child(const std::string& segment);

    // The values. Pointers from these functions are valid until the node's entries change.

    /// The entries of these kinds (KSTAT2_NVK_) in their order.
    [[nodiscard]] std::vector<const Entry*> entries(uint32_t kinds);
    /// Null: no entry has that name.
    [[nodiscard]] const Entry* find(std::string_view name);
    /// The metadata of the kstat's value of that name; null: none. Fetches nothing.
    [[nodiscard]] const Metadata* metadata(std::string_view name) const;

    /// Changes whenever an entry of these kinds may have been added, removed or replaced.
    [[nodiscard]] uint64_t version(uint32_t kinds) const;

    kstat2_status_t put(std::string_view name, Data data);
    kstat2_status_t remove(std::string_view name);

    void* userdata = nullptr;
    Callback on_tree;
    Callback on_data;
    Callback on_remove;

  private:
    using Entries = std::vector<std::unique_ptr<Entry>>;

    void fetch();
    void accept(Values values);
    void set_system(size_t index, std::string_view name, Value value);
    void add_entry(std::string_view segment, Node& child);
    void adopt(Node& old);

    Tree& tree_;
    Node* parent_;
    std::string uri_;
    Anchor anchor_;
    std::shared_ptr<const Listed> kstat_;
    Children children_;
    Entries system_;
    Entries others_;
    uint64_t fetched_in_ = 0;  // the tree's generation at the fetch
    uint64_t others_version_ = 0;
};

}  // namespace blkscope::kstat2::reader
