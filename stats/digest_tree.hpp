// The two layouts of a t-digest and their trees: <sys/arb.h> over packed structs. Data in a blob
// may be misaligned.
#pragma once
#include <sys/arb.h>

#include "stats/numeric.hpp"

namespace blkscope::stats {

struct [[gnu::packed]] Node32 {
    ARB16_ENTRY() link;
    s32q_t mu;
    int32_t cnt;
};
static_assert(sizeof(Node32) == sizeof(voistatdata_tdgstctd32));

struct [[gnu::packed]] Node64 {
    ARB16_ENTRY() link;
    s64q_t mu;
    int64_t cnt;
};
static_assert(sizeof(Node64) == sizeof(voistatdata_tdgstctd64));

// Arrays without a length are GNU's in C++, and what <sys/arb.h> is made for.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
struct [[gnu::packed]] Tree32 {
    uint32_t smplcnt;
    uint32_t compcnt;
    int16_t arb_curnodes;
    int16_t arb_maxnodes;
    int16_t arb_root_idx;
    int16_t arb_free_idx;
    int16_t arb_min_idx;
    int16_t arb_max_idx;
    Node32 arb_nodes[];
};
static_assert(sizeof(Tree32) == sizeof(voistatdata_tdgstclust32));

struct [[gnu::packed]] Tree64 {
    uint64_t smplcnt;
    uint32_t compcnt;
    uint32_t pad;
    int16_t arb_curnodes;
    int16_t arb_maxnodes;
    int16_t arb_root_idx;
    int16_t arb_free_idx;
    int16_t arb_min_idx;
    int16_t arb_max_idx;
    uint32_t pad_of_nodes;
    Node64 arb_nodes[];
};
#pragma GCC diagnostic pop
static_assert(sizeof(Tree64) == sizeof(voistatdata_tdgstclust64));
static_assert(offsetof(Tree64, arb_curnodes) == offsetof(voistatdata_tdgstclust64, ctdtree));

/// Equal means are kept apart: a centroid grows in a compression only, where its span is looked at.
template <class Node>
int order_of(const Node* a, const Node* b) {
    const auto x = a->mu;
    const auto y = b->mu;
    return Q_GIFVAL(x) < Q_GIFVAL(y) ? -1 : 1;
}

ARB_PROTOTYPE_STATIC(Tree32, Node32, link, order_of);
ARB_GENERATE_STATIC(Tree32, Node32, link, order_of)
ARB_PROTOTYPE_STATIC(Tree64, Node64, link, order_of);
ARB_GENERATE_STATIC(Tree64, Node64, link, order_of)

inline void insert(Tree32* tree, Node32* node) {
    ARB_INSERT(Tree32, tree, node);
}
inline void insert(Tree64* tree, Node64* node) {
    ARB_INSERT(Tree64, tree, node);
}
inline const Node32* next_of(const Tree32* tree, const Node32* node) {
    return ARB_CNEXT(Tree32, tree, node);
}
inline const Node64* next_of(const Tree64* tree, const Node64* node) {
    return ARB_CNEXT(Tree64, tree, node);
}

template <class Tree>
using NodeOf = std::remove_reference_t<decltype(std::declval<Tree&>().arb_nodes[0])>;
template <class Tree>
using MuOf = std::remove_cv_t<decltype(NodeOf<Tree>::mu)>;
template <class Tree>
using CountOf = std::remove_cv_t<decltype(NodeOf<Tree>::cnt)>;

/// The mean of a node in its last bits, with sign.
template <class Node>
int64_t units_of(const Node& node) {
    const auto mu = node.mu;
    return Q_GIFVAL(mu);
}

}  // namespace blkscope::stats
