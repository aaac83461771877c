/*
 * Ordered collections whose links are inside the members, under the names of Solaris' AVL trees. A
 * collection here is a sorted list: programs that monitor have some dozens of members. Each search
 * therefore takes a time in proportion to the number of members.
 *
 *     avl_create(&tree, compare, sizeof(struct member), offsetof(struct member, link));
 *     avl_add(&tree, member);
 *     for (m = avl_first(&tree); m != NULL; m = AVL_NEXT(&tree, m)) ...
 *
 * Ownership: the members are the caller's; a collection never frees one.
 * Threads:   one at a time per collection.
 * Source:    <sys/avl.h> of illumos, for the names and the order of arguments.
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_AVL_H
#define _BLKSCOPE_SOLARIS_SYS_AVL_H

#pragma GCC system_header /* C++: casts of C */

#include <stdint.h>
#include <sys/list.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The link in a member. A member is in at most one collection by this link, and the collection
 * changes the link only.
 */
typedef struct avl_node {
    list_node_t avl_link;
} avl_node_t;

/* A collection. Programs use its functions, not its fields. */
typedef struct avl_tree {
    list_t avl_list;
    int (*avl_compare)(const void *, const void *); /* below, equal to or above 0, as strcmp() */
    ulong_t avl_count;
} avl_tree_t;

/* A place between two members: the member in front of it, or 0 for the first place. */
typedef uintptr_t avl_index_t;

/* Sides of a place or of a member. */
#define AVL_BEFORE 0
#define AVL_AFTER 1

/* The next and the previous member; NULL: none. */
#define AVL_NEXT(tree, member) list_next(&(tree)->avl_list, member)
#define AVL_PREV(tree, member) list_prev(&(tree)->avl_list, member)

/* Makes an empty collection of members of this size, with the link at this offset. */
static __inline__ void avl_create(avl_tree_t *tree, int (*compare)(const void *, const void *),
                                  size_t size, size_t offset) {
    list_create(&tree->avl_list, size, offset);
    tree->avl_compare = compare;
    tree->avl_count = 0;
}

/* The collection must be empty. */
static __inline__ void avl_destroy(avl_tree_t *tree) {
    list_destroy(&tree->avl_list);
}

/* The number of members. */
static __inline__ ulong_t avl_numnodes(avl_tree_t *tree) {
    return tree->avl_count;
}

/* Whether there is no member. */
static __inline__ boolean_t avl_is_empty(avl_tree_t *tree) {
    return tree->avl_count == 0 ? B_TRUE : B_FALSE;
}

/* Both return NULL if there is no member. */
static __inline__ void *avl_first(avl_tree_t *tree) {
    return list_head(&tree->avl_list);
}

static __inline__ void *avl_last(avl_tree_t *tree) {
    return list_tail(&tree->avl_list);
}

/* The member that is equal to `value`; NULL: none, and *where is the place for one. */
static __inline__ void *avl_find(avl_tree_t *tree, const void *value, avl_index_t *where) {
    void *before = NULL;
    void *member;
    for (member = avl_first(tree); member != NULL; member = AVL_NEXT(tree, member)) {
        const int order = tree->avl_compare(value, member);
        if (order == 0) return member;
        if (order < 0) break;
        before = member;
    }
    if (where != NULL) *where = (avl_index_t)before;
    return NULL;
}

/*
 * The member at that side of a place; NULL: none. After an avl_find() without success these are the
 * largest member below the value, and the smallest one above it.
 */
static __inline__ void *avl_nearest(avl_tree_t *tree, avl_index_t where, int side) {
    void *const before = (void *)where;
    if (side == AVL_BEFORE) return before;
    return before == NULL ? avl_first(tree) : AVL_NEXT(tree, before);
}

/* Inserts a member at a place that avl_find() has found. */
static __inline__ void avl_insert(avl_tree_t *tree, void *member, avl_index_t where) {
    list_insert_after(&tree->avl_list, (void *)where, member);
    ++tree->avl_count;
}

/*
 * Inserts a member at that side of another one. Nothing is compared, so the caller must choose the
 * right place.
 */
static __inline__ void avl_insert_here(avl_tree_t *tree, void *member, void *there, int side) {
    if (side == AVL_BEFORE) {
        list_insert_before(&tree->avl_list, there, member);
    } else {
        list_insert_after(&tree->avl_list, there, member);
    }
    ++tree->avl_count;
}

/* Inserts a member at its place. No member may be equal to it. */
static __inline__ void avl_add(avl_tree_t *tree, void *member) {
    avl_index_t where = 0;
    if (avl_find(tree, member, &where) == NULL) avl_insert(tree, member, where);
}

/* Takes a member out. The member stays as it is. */
static __inline__ void avl_remove(avl_tree_t *tree, void *member) {
    list_remove(&tree->avl_list, member);
    --tree->avl_count;
}

/* Removes and returns one member after another, then NULL. *cookie begins as NULL. */
static __inline__ void *avl_destroy_nodes(avl_tree_t *tree, void **cookie) {
    void *const member = list_remove_head(&tree->avl_list);
    *cookie = member;
    if (member != NULL) --tree->avl_count;
    return member;
}

#ifdef __cplusplus
}
#endif

#endif
