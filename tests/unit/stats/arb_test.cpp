// Trees in arrays against std::set.
#include <gtest/gtest.h>
#include <sys/arb.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <set>

// The macros make functions of C, in the style of C.
namespace arb_test {

template <class Node>
int compare(const Node* a, const Node* b) {
    return a->key < b->key ? -1 : (a->key > b->key ? 1 : 0);
}

// A head ends in an array without a length, which is GNU's in C++.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

struct Node8 {
    ARB8_ENTRY() link;
    int key;
};
ARB8_HEAD(Tree8, Node8);
ARB_PROTOTYPE_STATIC(Tree8, Node8, link, compare);
ARB_GENERATE_STATIC(Tree8, Node8, link, compare)

struct Node16 {
    int key;
    ARB16_ENTRY() link;
};
ARB16_HEAD(Tree16, Node16);
ARB_PROTOTYPE_STATIC(Tree16, Node16, link, compare);
ARB_GENERATE_STATIC(Tree16, Node16, link, compare)

struct Node32 {
    ARB32_ENTRY() link;
    int key;
};
ARB32_HEAD(Tree32, Node32);
ARB_PROTOTYPE_STATIC(Tree32, Node32, link, compare);
ARB_GENERATE_STATIC(Tree32, Node32, link, compare)

#pragma GCC diagnostic pop

}  // namespace arb_test

namespace blkscope {

namespace {

using namespace arb_test;

// One form of each of the tree's operations, whatever the width of its links.
#define BLKSCOPE_TREE_OF(width)                                                             \
    struct Of##width {                                                                      \
        using Head = Tree##width;                                                           \
        using Node = Node##width;                                                           \
        static Node* insert(Head* h, Node* n) { return ARB_INSERT(Tree##width, h, n); }     \
        static Node* remove(Head* h, Node* n) { return ARB_REMOVE(Tree##width, h, n); }     \
        static Node* reinsert(Head* h, Node* n) { return ARB_REINSERT(Tree##width, h, n); } \
        static Node* find(Head* h, Node* n) { return ARB_FIND(Tree##width, h, n); }         \
        static Node* nfind(Head* h, Node* n) { return ARB_NFIND(Tree##width, h, n); }       \
        static Node* min(Head* h) { return ARB_MIN(Tree##width, h); }                       \
        static Node* max(Head* h) { return ARB_MAX(Tree##width, h); }                       \
        static std::vector<int> forwards(Head* h) {                                         \
            std::vector<int> keys;                                                          \
            Node* n;                                                                        \
            ARB_FOREACH(n, Tree##width, h) keys.push_back(n->key);                          \
            return keys;                                                                    \
        }                                                                                   \
        static std::vector<int> backwards(Head* h) {                                        \
            std::vector<int> keys;                                                          \
            Node* n;                                                                        \
            ARB_FOREACH_REVERSE(n, Tree##width, h) keys.push_back(n->key);                  \
            return keys;                                                                    \
        }                                                                                   \
        static std::vector<int> from(Head* h, Node* at) {                                   \
            std::vector<int> keys;                                                          \
            Node* n;                                                                        \
            ARB_FOREACH_FROM(n, Tree##width, h, at) keys.push_back(n->key);                 \
            return keys;                                                                    \
        }                                                                                   \
        static void clear(Head* h) {                                                        \
            Node* n;                                                                        \
            Node* next;                                                                     \
            ARB_FOREACH_SAFE(n, Tree##width, h, next) remove(h, n);                         \
        }                                                                                   \
    }
BLKSCOPE_TREE_OF(8);
BLKSCOPE_TREE_OF(16);
BLKSCOPE_TREE_OF(32);

// Black nodes on every path, or a failure.
template <class Head, class Node>
int blacks(Head* head, Node* node) {
    if (node == nullptr) return 0;
    auto* const left = ARB_LEFT(head, node, link);
    auto* const right = ARB_RIGHT(head, node, link);
    const bool red = ARB_COLOR(node, link) == ARB_RED;
    for (auto* const child : {left, right}) {
        if (child == nullptr) continue;
        EXPECT_EQ(ARB_PARENT(head, child, link), node);
        EXPECT_FALSE(red && ARB_COLOR(child, link) == ARB_RED);
    }
    const int below = blacks(head, left);
    EXPECT_EQ(blacks(head, right), below);
    return below + (red ? 0 : 1);
}

template <class T>
class Arb : public testing::Test {
  protected:
    static constexpr int room = 100;

    Arb() {
        typename T::Node* node;
        head_ = static_cast<typename T::Head*>(std::malloc(ARB_ALLOCSIZE(head_, room, node)));
        int seen = 0;
        ARB_INIT(node, link, head_, room) node->key = seen++;
        EXPECT_EQ(seen, room);
    }
    ~Arb() override { std::free(head_); }

    void insert(int key) {
        auto* const node = ARB_GETFREE(head_, link);
        ASSERT_NE(node, nullptr);
        node->key = key;
        ASSERT_EQ(T::insert(head_, node), nullptr);
        keys_.insert(key);
    }

    void check() {
        ASSERT_EQ(ARB_CURNODES(head_), static_cast<int>(keys_.size()));
        blacks(head_, ARB_ROOT(head_));
        ASSERT_EQ(T::forwards(head_), std::vector<int>(keys_.begin(), keys_.end()));
        ASSERT_EQ(T::backwards(head_), std::vector<int>(keys_.rbegin(), keys_.rend()));
        if (keys_.empty()) return;
        ASSERT_EQ(T::min(head_)->key, *keys_.begin());
        ASSERT_EQ(T::max(head_)->key, *keys_.rbegin());
    }

    typename T::Head* head_ = nullptr;
    std::set<int> keys_;
};
using Widths = testing::Types<Of8, Of16, Of32>;
TYPED_TEST_SUITE(Arb, Widths);

// FreeBSD's digests are hashed with their free slots.
TYPED_TEST(Arb, AFreeSlotHasItsColourAndItsPlaceInTheChainAndNoOtherLink) {
    auto* const head = this->head_;
    typename TypeParam::Node* node;
    ARB_ARRFOREACH(node, link, head) {
        ARB_PARENTIDX(node, link) = 5;
        ARB_LEFTIDX(node, link) = 6;
    }
    ARB_INIT(node, link, head, this->room) {}
    int index = 0;
    ARB_ARRFOREACH(node, link, head) {
        ++index;
        EXPECT_EQ(ARB_PARENTIDX(node, link), 5);
        EXPECT_EQ(ARB_LEFTIDX(node, link), 6);
        EXPECT_EQ(ARB_RIGHTIDX(node, link), index < this->room ? index : ARB_NULLIDX);
        EXPECT_EQ(ARB_COLOR(node, link), ARB_NULLCOL);
    }
}

TYPED_TEST(Arb, IsASetWhateverComesAndGoes) {
    std::mt19937 random(20261121);
    typename TypeParam::Node wanted{};
    for (int i = 0; i < 3000; ++i) {
        wanted.key = static_cast<int>(random() % 150);
        auto* const found = TypeParam::find(this->head_, &wanted);
        ASSERT_EQ(found != nullptr, this->keys_.count(wanted.key) == 1);
        if (found != nullptr) {
            ASSERT_EQ(TypeParam::remove(this->head_, found), found);
            ASSERT_TRUE(ARB_ISFREE(found, link));
            this->keys_.erase(wanted.key);
        } else if (!ARB_FULL(this->head_)) {
            this->insert(wanted.key);
        } else {
            ASSERT_EQ(ARB_GETFREE(this->head_, link), nullptr);
        }
        this->check();
    }
}

TYPED_TEST(Arb, FindsTheFirstThatIsNotSmaller) {
    for (int key = 0; key < 100; key += 10) this->insert(key);
    typename TypeParam::Node wanted{};
    wanted.key = 41;
    EXPECT_EQ(TypeParam::nfind(this->head_, &wanted)->key, 50);
    wanted.key = 40;
    EXPECT_EQ(TypeParam::nfind(this->head_, &wanted)->key, 40);
    wanted.key = 91;
    EXPECT_EQ(TypeParam::nfind(this->head_, &wanted), nullptr);
    wanted.key = 70;
    EXPECT_EQ(TypeParam::from(this->head_, TypeParam::find(this->head_, &wanted)),
              (std::vector<int>{70, 80, 90}));
}

TYPED_TEST(Arb, MovesAnElementWhoseKeyHasChanged) {
    for (int key = 0; key < 100; key += 10) this->insert(key);
    auto* node = TypeParam::min(this->head_);
    node->key = 95;
    EXPECT_EQ(TypeParam::reinsert(this->head_, node), nullptr);
    this->keys_.erase(0);
    this->keys_.insert(95);
    this->check();
}

TYPED_TEST(Arb, MayBeEmptiedInALoopAndFilledAgain) {
    for (int key = 0; key < 100; ++key) this->insert(key);
    TypeParam::clear(this->head_);
    this->keys_.clear();
    this->check();
    for (int key = 100; key > 0; --key) this->insert(key);
    this->check();
}

}  // namespace

}  // namespace blkscope
