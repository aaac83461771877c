// Questions to a t-digest: quantiles, shares, and whether foreign bytes are a t-digest at all.
#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/digest.hpp"
#include "stats/digest_tree.hpp"

namespace blkscope::stats {
namespace {

using Answer = Digest::Answer;

std::vector<Answer> answers_of(const Digest& digest, double min, double max) {
    std::vector<Answer> all;
    double before = 0;
    const auto samples = static_cast<double>(digest.samples());
    const auto within = [&](double v) {
        return std::fmin(std::fmax(v, min), max);
    };  // NaN: no bound
    for (int i = digest.first(); i >= 0; i = digest.next(i)) {
        const Centroid centroid = digest.centroid(static_cast<size_t>(i));
        const auto count = static_cast<double>(centroid.count);
        const double middle = before + count / 2;
        const bool single = centroid.count == 1;
        all.push_back(
            {single ? before : middle, single ? before + 1 : middle, within(centroid.mean)});
        before += count;
    }
    if (!all.empty() && all.front().from > 0 && !std::isnan(min))
        all.insert(all.begin(), {0, 0, min});
    if (!all.empty() && all.back().to < samples && !std::isnan(max))
        all.push_back({samples, samples, max});
    return all;
}

}  // namespace

std::vector<Answer> Digest::answers(double min, double max) const {
    std::vector<std::byte> bytes(data_, data_ + size_for(dtype_, centroids_max()));
    Digest copy(bytes.data(), dtype_);
    copy.compress();
    return answers_of(copy, min, max);
}

double Digest::quantile(double q, double min, double max) const {
    // The last centroid may be a single value while the largest one went into its neighbour.
    if (q <= 0 && !std::isnan(min)) return min;
    if (q >= 1 && !std::isnan(max)) return max;
    const double rank = q * static_cast<double>(samples());
    const std::vector<Answer> all = answers(min, max);
    const auto after =
        std::ranges::find_if(all, [&](const Answer& answer) { return rank <= answer.to; });
    if (after == all.end()) return all.back().value;
    if (after == all.begin() || rank >= after->from) return after->value;
    const Answer& before = *(after - 1);
    const double along = (rank - before.to) / (after->from - before.to);
    return before.value + along * (after->value - before.value);
}

double Digest::cdf(double x, double min, double max) const {
    const auto count = static_cast<double>(samples());
    const std::vector<Answer> all = answers(min, max);
    const auto above =
        std::ranges::find_if(all, [&](const Answer& answer) { return answer.value > x; });
    if (above == all.end()) return 1;
    if (above == all.begin()) return 0;
    const Answer& below = *(above - 1);
    const double along = (x - below.value) / (above->value - below.value);
    return (below.to + along * (above->from - below.to)) / count;
}

namespace {

// A walk over an untrusted tree. The walk ends for any links: each node may be entered once.
template <class Tree>
class Inspector {
  public:
    explicit Inspector(const Tree* tree)
        : tree_(tree), seen_(static_cast<size_t>(tree->arb_maxnodes), false) {}

    bool is_sound() {
        const int16_t none = ARB_NULLIDX;
        if (tree_->arb_curnodes == 0) {
            return tree_->arb_root_idx == none && tree_->arb_min_idx == none &&
                   tree_->arb_max_idx == none && tree_->smplcnt == 0 && is_free_chain_sound();
        }
        if (!exists(tree_->arb_root_idx)) return false;
        if (node(tree_->arb_root_idx).link.arbe_color != ARB_BLACK) return false;
        return blacks(tree_->arb_root_idx, none) >= 0 && order_.front() == tree_->arb_min_idx &&
               order_.back() == tree_->arb_max_idx &&
               order_.size() == static_cast<size_t>(tree_->arb_curnodes) && are_counts_sound() &&
               is_free_chain_sound();
    }

  private:
    const auto& node(int16_t index) const { return tree_->arb_nodes[index]; }
    bool exists(int16_t index) const { return index >= 0 && index < tree_->arb_maxnodes; }

    // Black nodes on every path down from here, or -1: not a red-black tree. Red nodes have black
    // children, so 15 bits of nodes are 30 levels at most; no deeper do we go.
    int blacks(int16_t index, int16_t parent, int depth = 0) {
        if (index == ARB_NULLIDX) return 0;
        if (!exists(index) || seen_[static_cast<size_t>(index)] || depth > 32) return -1;
        seen_[static_cast<size_t>(index)] = true;
        // Member by member, each where the packed node has it: `link` itself may be misaligned.
        const auto& here = node(index);
        const bool red = here.link.arbe_color == ARB_RED;
        if (here.link.arbe_parent_idx != parent || (!red && here.link.arbe_color != ARB_BLACK))
            return -1;
        if (red && parent != ARB_NULLIDX && node(parent).link.arbe_color == ARB_RED) return -1;
        const int left = blacks(here.link.arbe_left_idx, index, depth + 1);
        if (left < 0) return -1;
        order_.push_back(index);
        const int right = blacks(here.link.arbe_right_idx, index, depth + 1);
        return left == right ? left + (red ? 0 : 1) : -1;
    }

    // In order, counted, one precision, and adding up.
    bool are_counts_sound() const {
        Wide sum = 0;
        int64_t last = std::numeric_limits<int64_t>::min();
        for (const int16_t index : order_) {
            const int64_t units = units_of(node(index));
            if (node(index).cnt <= 0 || units < last) return false;
            last = units;
            sum += node(index).cnt;
        }
        return sum == static_cast<Wide>(tree_->smplcnt);
    }

    // Every other node is on the chain of free ones, once, or the chain is empty and they are
    // marked.
    bool is_free_chain_sound() {
        const auto mu0 = tree_->arb_nodes[0].mu;
        for (int16_t i = 0; i < tree_->arb_maxnodes; ++i) {
            const auto mu = node(i).mu;
            if (Q_GCVAL(mu) != Q_GCVAL(mu0)) return false;
            const bool used = seen_[static_cast<size_t>(i)];
            if (!used && node(i).link.arbe_color != ARB_NULLCOL) return false;
        }
        int left = tree_->arb_maxnodes - tree_->arb_curnodes;
        for (int16_t i = tree_->arb_free_idx; i != ARB_NULLIDX; i = node(i).link.arbe_right_idx) {
            if (!exists(i) || seen_[static_cast<size_t>(i)]) return false;
            seen_[static_cast<size_t>(i)] = true;
            --left;
        }
        return left == 0 || tree_->arb_free_idx == ARB_NULLIDX;
    }

    const Tree* tree_;
    std::vector<bool> seen_;
    std::vector<int16_t> order_;
};

template <class Tree>
bool is_tree_sound(const void* data, size_t nodes) {
    const auto* const tree = static_cast<const Tree*>(data);
    const bool counts = tree->arb_maxnodes > 0 &&
                        static_cast<size_t>(tree->arb_maxnodes) == nodes &&
                        tree->arb_curnodes >= 0 && tree->arb_curnodes <= tree->arb_maxnodes;
    return counts && Inspector<Tree>(tree).is_sound();
}

}  // namespace

bool is_digest_sound(const void* data, size_t size, int dtype) {
    const size_t nodes = Digest::centroids_in(dtype, size);
    if (nodes == 0 || nodes > INT16_MAX) return false;
    return dtype == VSD_DTYPE_TDGSTCLUST32 ? is_tree_sound<Tree32>(data, nodes)
                                           : is_tree_sound<Tree64>(data, nodes);
}

}  // namespace blkscope::stats
