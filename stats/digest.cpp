#include "stats/digest.hpp"

#include <array>
#include <cmath>
#include <span>

#include "stats/digest_tree.hpp"

namespace blkscope::stats {
namespace {

// A blob has room for no more, of either layout.
constexpr size_t nodes_max = blob_size_max / sizeof(Node32);
using Order = std::array<int16_t, nodes_max>;

Wide rounded_quotient(Wide sum, Wide count) {
    const Wide half = sum < 0 ? -(count / 2) : count / 2;
    return (sum + half) / count;
}

template <class Tree>
void set_mu(NodeOf<Tree>& node, Wide units) {
    MuOf<Tree> mu = node.mu;
    Q_SIFVAL(mu, static_cast<int64_t>(units));
    node.mu = mu;
}

// How far a centroid may reach that begins at the share q: to where k is 1 more. With
// t = asin(2q - 1) the end is at the sine of t + angle. The formula for the sum of two angles needs
// a square root instead of two arcs.
class Reach {
  public:
    explicit Reach(double delta)
        : sine_(std::sin(2 * pi / delta)), cosine_(std::cos(2 * pi / delta)), all_(delta <= 2) {}

    double from(double q) const {
        const double s = 2 * q - 1;
        if (all_ || s >= cosine_) return 1;
        return (s * cosine_ + 2 * std::sqrt(q * (1 - q)) * sine_ + 1) / 2;
    }

  private:
    static constexpr double pi = 3.14159265358979323846;
    double sine_;
    double cosine_;
    bool all_;
};

// Walks the tree in order into `order`.
template <class Tree>
size_t list_in_order(const Tree* tree, Order& order) {
    size_t n = 0;
    for (const auto* node = ARB_CNODE(tree, tree->arb_min_idx); node != nullptr;
         node = next_of(tree, node))
        order[n++] = static_cast<int16_t>(ARB_SELFIDX(tree, node));
    return n;
}

// Merges neighbours among the n nodes of `order` where the reach allows it. Those that remain come
// first in `order` afterwards, with their new means and counts; what else it says is spoilt.
// Returns how many remain.
template <class Tree>
size_t merge_neighbours(Tree* tree, Order& order, size_t n, const Reach& reach) {
    constexpr Wide count_max = std::numeric_limits<CountOf<Tree>>::max();
    const auto total = static_cast<double>(tree->smplcnt);
    double before = 0;  // values in the centroids that are done
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        auto& keeper = tree->arb_nodes[order[i]];
        Wide count = keeper.cnt;
        Wide sum = static_cast<Wide>(units_of(keeper)) * count;
        const double limit = reach.from(before / total) * total;
        const size_t first = i++;
        for (; i < n; ++i) {
            const auto& node = tree->arb_nodes[order[i]];
            const Wide together = count + node.cnt;
            if (before + static_cast<double>(together) > limit || together > count_max) break;
            count = together;
            sum += static_cast<Wide>(units_of(node)) * node.cnt;
        }
        if (i - first > 1) set_mu<Tree>(keeper, rounded_quotient(sum, count));
        keeper.cnt = static_cast<CountOf<Tree>>(count);
        before += static_cast<double>(count);
        order[kept++] = order[first];
    }
    return kept;
}

// Links nodes, by their order, into a tree as flat as can be, and returns its root. Only the lowest
// level may have gaps. Its nodes are red and all others are black, so all paths have as many black
// nodes.
template <class Tree>
int16_t link(Tree* tree, std::span<const int16_t> nodes, int16_t parent, int levels) {
    if (nodes.empty()) return ARB_NULLIDX;
    const size_t middle = nodes.size() / 2;
    const int16_t root = nodes[middle];
    auto& node = tree->arb_nodes[root];
    node.link.arbe_parent_idx = parent;
    node.link.arbe_color = levels == 0 ? ARB_RED : ARB_BLACK;
    node.link.arbe_left_idx = link(tree, nodes.first(middle), root, levels - 1);
    node.link.arbe_right_idx = link(tree, nodes.subspan(middle + 1), root, levels - 1);
    return root;
}

template <class Tree>
void relink(Tree* tree, const Order& order, size_t n) {
    int levels = 0;  // the full ones
    while ((size_t{2} << levels) - 1 <= n) ++levels;
    tree->arb_root_idx = link(tree, std::span(order).first(n), ARB_NULLIDX, levels);
    tree->arb_min_idx = order[0];
    tree->arb_max_idx = order[n - 1];
    tree->arb_curnodes = static_cast<int16_t>(n);
}

// Puts every node that is not among the first n of `order` on the free chain.
template <class Tree>
void free_others(Tree* tree, const Order& order, size_t n) {
    for (int i = 0; i < tree->arb_maxnodes; ++i) tree->arb_nodes[i].link.arbe_color = ARB_NULLCOL;
    for (size_t i = 0; i < n; ++i) tree->arb_nodes[order[i]].link.arbe_color = ARB_BLACK;
    tree->arb_free_idx = ARB_NULLIDX;
    for (int i = tree->arb_maxnodes - 1; i >= 0; --i) {
        auto* const node = &tree->arb_nodes[i];
        if (node->link.arbe_color == ARB_NULLCOL) ARB_RETURNFREE(tree, node, link);
    }
}

// Makes room for at least one more. Should counts have reached their limits, there may be none.
template <class Tree>
void compress(Tree* tree) {
    Order order;
    size_t n = list_in_order(tree, order);
    const auto full = n;
    for (double delta = static_cast<double>(n); n == full; delta /= 2) {
        n = merge_neighbours(tree, order, n, Reach(delta));
        if (delta <= 2) break;
    }
    ++tree->compcnt;
    free_others(tree, order, n);
    relink(tree, order, n);
}

// With a single centroid every value is merged into it at once.
template <class Tree>
int add_to_the_only_one(Tree* tree, Wide units, Wide weight) {
    auto& node = tree->arb_nodes[0];
    const Wide count = node.cnt + weight;
    if (count > std::numeric_limits<CountOf<Tree>>::max()) return EOVERFLOW;
    set_mu<Tree>(node, rounded_quotient(
                           static_cast<Wide>(units_of(node)) * node.cnt + units * weight, count));
    node.cnt = static_cast<CountOf<Tree>>(count);
    return 0;
}

template <class Tree>
int add_centroid(Tree* tree, Wide units, int64_t weight) {
    if (ARB_FULL(tree) && tree->arb_maxnodes == 1) return add_to_the_only_one(tree, units, weight);
    if (ARB_FULL(tree)) compress(tree);
    auto* const node = ARB_GETFREE(tree, link);
    if (node == nullptr) return EOVERFLOW;
    set_mu<Tree>(*node, units);
    node->cnt = static_cast<CountOf<Tree>>(weight);
    insert(tree, node);
    return 0;
}

template <class Tree>
int add_to(Tree* tree, Wide fixed, int64_t weight) {
    const MuOf<Tree> like = tree->arb_nodes[0].mu;
    const auto sample_count = tree->smplcnt;
    const bool fits = fixed <= Q_IFMAXVAL(like) && fixed >= Q_IFMINVAL(like) &&
                      weight <= std::numeric_limits<CountOf<Tree>>::max() &&
                      static_cast<uint64_t>(weight) <=
                          std::numeric_limits<decltype(tree->smplcnt)>::max() - sample_count;
    if (!fits) return EOVERFLOW;
    const int error = add_centroid(tree, fixed, weight);
    if (error == 0) {
        tree->smplcnt =
            static_cast<decltype(tree->smplcnt)>(sample_count + static_cast<uint64_t>(weight));
    }
    return error;
}

template <class Tree>
void create_in(Tree* tree, size_t n, unsigned precision) {
    std::memset(static_cast<void*>(tree), 0, sizeof(Tree) + n * sizeof(NodeOf<Tree>));
    NodeOf<Tree>* node;
    ARB_INIT(node, link, tree, n) {
        MuOf<Tree> mu;
        Q_INI(&mu, 0, 0, precision);
        node->mu = mu;
    }
}

template <class F>
auto with_tree(std::byte* data, int dtype, F f) {
    if (dtype == VSD_DTYPE_TDGSTCLUST32) return f(reinterpret_cast<Tree32*>(data));
    return f(reinterpret_cast<Tree64*>(data));
}

}  // namespace

size_t Digest::size_for(int dtype, size_t centroids) {
    return dtype == VSD_DTYPE_TDGSTCLUST32 ? sizeof(Tree32) + centroids * sizeof(Node32)
                                           : sizeof(Tree64) + centroids * sizeof(Node64);
}

size_t Digest::centroids_in(int dtype, size_t size) {
    const size_t node = size_for(dtype, 1) - size_for(dtype, 0);
    if (size < size_for(dtype, 1)) return 0;
    const size_t nodes = size - size_for(dtype, 0);
    return nodes % node == 0 ? nodes / node : 0;
}

void Digest::create(size_t n, unsigned precision) {
    with_tree(data_, dtype_, [&](auto* tree) { create_in(tree, n, precision); });
}

void Digest::compress() {
    const bool all_single = samples() == centroids();
    if (!all_single) with_tree(data_, dtype_, [](auto* tree) { stats::compress(tree); });
}

void Digest::reset() {
    create(centroids_max(), fraction_bits());
}

int Digest::add(Wide fixed, int64_t weight) {
    return with_tree(data_, dtype_, [&](auto* tree) { return add_to(tree, fixed, weight); });
}

int Digest::merge(const Digest& other) {
    const unsigned have = other.fraction_bits();
    const unsigned want = fraction_bits();
    int last_error = 0;
    for (int i = other.first(); i >= 0; i = other.next(i)) {
        const Centroid centroid = other.centroid(static_cast<size_t>(i));
        const Wide units = want >= have
                               ? static_cast<Wide>(centroid.units) * (Wide{1} << (want - have))
                               : rounded_quotient(centroid.units, Wide{1} << (have - want));
        const int error = add(units, centroid.count);
        if (error != 0) last_error = error;
    }
    return last_error;
}

unsigned Digest::fraction_bits() const {
    return with_tree(data_, dtype_, [](auto* tree) -> unsigned {
        const auto mu = tree->arb_nodes[0].mu;
        return Q_NFBITS(mu);
    });
}

uint64_t Digest::samples() const {
    return with_tree(data_, dtype_, [](auto* tree) -> uint64_t { return tree->smplcnt; });
}

uint32_t Digest::compressions() const {
    return with_tree(data_, dtype_, [](auto* tree) -> uint32_t { return tree->compcnt; });
}

size_t Digest::centroids_max() const {
    return with_tree(data_, dtype_,
                     [](auto* tree) { return static_cast<size_t>(tree->arb_maxnodes); });
}

size_t Digest::centroids() const {
    return with_tree(data_, dtype_,
                     [](auto* tree) { return static_cast<size_t>(tree->arb_curnodes); });
}

Centroid Digest::centroid(size_t index) const {
    return with_tree(data_, dtype_, [&](auto* tree) -> Centroid {
        const auto& node = tree->arb_nodes[index];
        const auto mu = node.mu;
        return {Q_Q2D(mu), node.cnt, Q_GIFVAL(mu), Q_NUM_(mu)};
    });
}

int Digest::first() const {
    return with_tree(data_, dtype_, [](auto* tree) -> int { return tree->arb_min_idx; });
}

int Digest::next(int index) const {
    return with_tree(data_, dtype_, [&](auto* tree) -> int {
        const auto* const node = next_of(tree, &tree->arb_nodes[index]);
        return node == nullptr ? -1 : static_cast<int>(ARB_SELFIDX(tree, node));
    });
}

}  // namespace blkscope::stats
