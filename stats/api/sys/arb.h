/*
 * Red-black trees in an array. Links are indices of 8, 16 or 32 bits. A tree is therefore one piece
 * of memory, which may be copied, sent and mapped anywhere.
 *
 * Source compatible with <sys/arb.h> of FreeBSD 13 and later: same macros, same layout of heads and
 * entries. Written anew, after arb(3). A tree of `struct node`s by their key:
 *
 *     struct node { ARB16_ENTRY() link; int key; };
 *     ARB16_HEAD(tree, node) *head;
 *     ARB_PROTOTYPE(tree, node, link, compare);
 *     ARB_GENERATE(tree, node, link, compare);
 *
 *     head = malloc(ARB_ALLOCSIZE(head, 100, node));
 *     ARB_INIT(node, link, head, 100);               // a loop header: its body sees each element
 *     node = ARB_GETFREE(head, link);                // NULL when the array is full
 *     node->key = 1;
 *     ARB_INSERT(tree, head, node);                  // NULL, or the element that is equal
 *
 * Slots that are not in the tree have the colour ARB_NULLCOL and are chained through their right
 * links. Nothing here allocates, and nothing here locks.
 *
 * Differences from the original: the indices of the smallest and largest element stay right after a
 * removal. ARB_NFIND exists. Every loop compiles: the loops that continue from an element (_FROM)
 * take the head as others do. ARB_RESET_TREE does not change the chain of free slots.
 *
 * Units:     indices of slots, from 0; -1 is none. A search, an insertion and a removal take time
 *            with the logarithm of the elements. The smallest and the largest element are known.
 * Ownership: the caller allocates and frees the one piece of memory.
 * Threads:   the caller locks the tree.
 * Errors:    NULL where an element is missing or the array is full.
 * Source:    arb(3).
 */
#ifndef _SYS_ARB_H_
#define _SYS_ARB_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/cdefs.h>

#pragma GCC system_header /* flexible arrays and __typeof in C++ too */

#define ARB_NULLIDX (-1) /* no element */
#define ARB_NULLCOL (-1) /* the colour of a free slot */
#define ARB_BLACK 0 /* each path from the root to a leaf has as many of these */
#define ARB_RED 1   /* no red element has a red child */
/* The ends of a tree, for ARB_MINMAX: smallest and largest. */
#define ARB_NEGINF (-1) /* the smallest */
#define ARB_INF 1       /* the largest */

/* The head: counts of elements and slots, then the indices of special elements, then the slots. */
#define ARB_HEAD(name, type, idxbits)                               \
    struct name {                                                   \
        int##idxbits##_t arb_curnodes; /* elements in the tree */   \
        int##idxbits##_t arb_maxnodes; /* slots of the array */     \
        int##idxbits##_t arb_root_idx; /* the root */               \
        int##idxbits##_t arb_free_idx; /* the first free slot */    \
        int##idxbits##_t arb_min_idx;  /* the smallest element */   \
        int##idxbits##_t arb_max_idx;  /* the largest element */    \
        struct type arb_nodes[];       /* the slots, free or not */ \
    }
#define ARB8_HEAD(name, type) ARB_HEAD(name, type, 8)   /* up to 127 elements */
#define ARB16_HEAD(name, type) ARB_HEAD(name, type, 16) /* up to 32767 elements */
#define ARB32_HEAD(name, type) ARB_HEAD(name, type, 32) /* up to 2147483647 elements */

/* The links of one element: the member `field` of the macros below. */
#define ARB_ENTRY(idxbits)                                                             \
    struct {                                                                           \
        int##idxbits##_t arbe_parent_idx; /* ARB_NULLIDX for the root */               \
        int##idxbits##_t arbe_left_idx;   /* the smaller elements */                   \
        int##idxbits##_t arbe_right_idx;  /* the larger ones, or the next free slot */ \
        int8_t arbe_color;                /* ARB_RED, ARB_BLACK or ARB_NULLCOL */      \
    }
#define ARB8_ENTRY() ARB_ENTRY(8)   /* for ARB8_HEAD: 4 bytes */
#define ARB16_ENTRY() ARB_ENTRY(16) /* for ARB16_HEAD: 8 bytes, with a byte of padding */
#define ARB32_ENTRY() ARB_ENTRY(32) /* for ARB32_HEAD: 16 bytes, with 3 bytes of padding */

/* Bytes of a head with room for n elements like *x. The caller allocates them. */
#define ARB_ALLOCSIZE(head, n, x) (sizeof(*(head)) + (size_t)(n) * sizeof(*(x)))

/* The value of an empty head with maxn slots. Clear each slot with ARB_ENTRYINIT before its use. */
#define ARB_INITIALIZER(name, maxn) \
    ((struct name){0, (maxn), ARB_NULLIDX, ARB_NULLIDX, ARB_NULLIDX, ARB_NULLIDX})

/* The parts of a head. */
#define ARB_ELMTYPE(head) __typeof(&(head)->arb_nodes[0])             /* a pointer to an element */
#define ARB_NODES(head) ((head)->arb_nodes)                           /* the array of slots */
#define ARB_MAXNODES(head) ((head)->arb_maxnodes)                     /* the number of slots */
#define ARB_CURNODES(head) ((head)->arb_curnodes)                     /* the number of elements */
#define ARB_EMPTY(head) ((head)->arb_curnodes == 0)                   /* 1 if the tree is empty */
#define ARB_FULL(head) ((head)->arb_curnodes >= (head)->arb_maxnodes) /* 1 if no slot is free */
#define ARB_FREEIDX(head) ((head)->arb_free_idx) /* the first slot of the free chain */
#define ARB_ROOTIDX(head) ((head)->arb_root_idx) /* ARB_NULLIDX for an empty tree */
#define ARB_MINIDX(head) ((head)->arb_min_idx)   /* the smallest element */
#define ARB_MAXIDX(head) ((head)->arb_max_idx)   /* the largest element */

/* The links of an element, as indices. */
#define ARB_LEFTIDX(elm, field) ((elm)->field.arbe_left_idx)     /* the smaller elements */
#define ARB_RIGHTIDX(elm, field) ((elm)->field.arbe_right_idx)   /* the larger elements */
#define ARB_PARENTIDX(elm, field) ((elm)->field.arbe_parent_idx) /* ARB_NULLIDX for the root */
#define ARB_COLOR(elm, field) ((elm)->field.arbe_color) /* ARB_RED, ARB_BLACK or ARB_NULLCOL */
/* Not maintained: the chain has one direction. */
#define ARB_PREVFREEIDX(elm, field) ARB_LEFTIDX(elm, field)
#define ARB_NEXTFREEIDX(elm, field) ARB_RIGHTIDX(elm, field) /* the next slot of the free chain */
/* 1 if the slot is not in the tree. */
#define ARB_ISFREE(elm, field) (ARB_COLOR(elm, field) == ARB_NULLCOL)

/* Between indices and elements: NULL and ARB_NULLIDX answer to one another. */
#define ARB_HASIDX_(head, idx) ((intptr_t)(idx) > ARB_NULLIDX && (intptr_t)(idx) < (intptr_t)ARB_MAXNODES(head))
/* The element of an index, or NULL for an index outside of the array. C: a pointer to const. */
#define ARB_CNODE(head, idx) \
    (ARB_HASIDX_(head, idx) ? (const ARB_ELMTYPE(head))&ARB_NODES(head)[(idx)] : NULL)
#define ARB_NODE(head, idx) \
    (ARB_HASIDX_(head, idx) ? (ARB_ELMTYPE(head))(uintptr_t)&ARB_NODES(head)[(idx)] : NULL)
/* The index of an element, or ARB_NULLIDX for NULL. */
#define ARB_SELFIDX(head, elm)                                                                 \
    ((elm) != NULL ? (intptr_t)(((uintptr_t)(elm) - (uintptr_t)ARB_NODES(head)) / sizeof(*(elm))) \
                   : (intptr_t)ARB_NULLIDX)
/* The links of an element, as pointers; NULL if there is no such element. */
#define ARB_ROOT(head) ARB_NODE(head, ARB_ROOTIDX(head))                       /* the root */
#define ARB_LEFT(head, elm, field) ARB_NODE(head, ARB_LEFTIDX(elm, field))     /* the left child */
#define ARB_RIGHT(head, elm, field) ARB_NODE(head, ARB_RIGHTIDX(elm, field))   /* the right child */
#define ARB_PARENT(head, elm, field) ARB_NODE(head, ARB_PARENTIDX(elm, field)) /* the parent */
#define ARB_PREVFREE(head, elm, field) ARB_NODE(head, ARB_PREVFREEIDX(elm, field))
#define ARB_NEXTFREE(head, elm, field) ARB_NODE(head, ARB_NEXTFREEIDX(elm, field))

/* Assigns an index of any width. */
#define ARB_SETIDX_(place, idx) ((place) = (__typeof(place))(idx))

/* Clears the links of an element that belongs to no tree. */
#define ARB_ENTRYINIT(elm, field)                             \
    do {                                                      \
        ARB_PARENTIDX(elm, field) = ARB_NULLIDX;              \
        ARB_LEFTIDX(elm, field) = ARB_NULLIDX;                \
        ARB_RIGHTIDX(elm, field) = ARB_NULLIDX;               \
        ARB_COLOR(elm, field) = ARB_NULLCOL;                  \
    } while (0)

/* Makes elm a red leaf below parent. */
#define ARB_SET(head, elm, parent, field)                                     \
    do {                                                                      \
        ARB_SETIDX_(ARB_PARENTIDX(elm, field), ARB_SELFIDX(head, parent));    \
        ARB_LEFTIDX(elm, field) = ARB_RIGHTIDX(elm, field) = ARB_NULLIDX;     \
        ARB_COLOR(elm, field) = ARB_RED;                                      \
    } while (0)

/* Colours one element black and the other one red. */
#define ARB_SET_BLACKRED(black, red, field) \
    ((void)(ARB_COLOR(black, field) = ARB_BLACK, ARB_COLOR(red, field) = ARB_RED))

/*
 * Called with an element after the elements below it have changed. A program may define this macro
 * before it includes the header. An element can then keep a sum over its subtree.
 */
#ifndef ARB_AUGMENT
#define ARB_AUGMENT(x) ((void)(x))
#endif

/* Puts idx where elm hangs: at its parent or at the head. */
#define ARB_REHANG_(head, elm, idx, field)                                                \
    do {                                                                                  \
        if (ARB_PARENTIDX(elm, field) == ARB_NULLIDX)                                     \
            ARB_SETIDX_(ARB_ROOTIDX(head), idx);                                          \
        else if (ARB_LEFTIDX(ARB_PARENT(head, elm, field), field) == ARB_SELFIDX(head, elm)) \
            ARB_SETIDX_(ARB_LEFTIDX(ARB_PARENT(head, elm, field), field), idx);           \
        else                                                                              \
            ARB_SETIDX_(ARB_RIGHTIDX(ARB_PARENT(head, elm, field), field), idx);          \
    } while (0)

/* Lets elm down on one side, and its child of the other side, which is left in tmp, up. */
#define ARB_ROTATE_(head, elm, tmp, field, DOWNIDX, UPIDX)                                   \
    do {                                                                                     \
        (tmp) = ARB_NODE(head, UPIDX(elm, field));                                           \
        UPIDX(elm, field) = DOWNIDX(tmp, field);                                             \
        if (DOWNIDX(tmp, field) != ARB_NULLIDX)                                              \
            ARB_SETIDX_(ARB_PARENTIDX(ARB_NODE(head, DOWNIDX(tmp, field)), field),           \
                        ARB_SELFIDX(head, elm));                                             \
        ARB_REHANG_(head, elm, ARB_SELFIDX(head, tmp), field);                               \
        ARB_PARENTIDX(tmp, field) = ARB_PARENTIDX(elm, field);                               \
        ARB_SETIDX_(DOWNIDX(tmp, field), ARB_SELFIDX(head, elm));                            \
        ARB_SETIDX_(ARB_PARENTIDX(elm, field), ARB_SELFIDX(head, tmp));                      \
        ARB_AUGMENT(elm);                                                                    \
        ARB_AUGMENT(tmp);                                                                    \
        if (ARB_PARENTIDX(tmp, field) != ARB_NULLIDX) ARB_AUGMENT(ARB_PARENT(head, tmp, field)); \
    } while (0)
/*
 *      elm               tmp       |
 *     /   \             /   \      |   LEFT does this, and RIGHT the reverse.
 *    a    tmp  ---->  elm    c     |   The order of all elements stays.
 *        /   \       /   \         |
 *       b     c     a     b        |
 */
#define ARB_ROTATE_LEFT(head, elm, tmp, field) \
    ARB_ROTATE_(head, elm, tmp, field, ARB_LEFTIDX, ARB_RIGHTIDX)
#define ARB_ROTATE_RIGHT(head, elm, tmp, field) \
    ARB_ROTATE_(head, elm, tmp, field, ARB_RIGHTIDX, ARB_LEFTIDX)

/*
 * Loops over all slots, in the tree or not. _REVERSE goes backwards, and _REVWCOND goes backwards
 * while a condition holds.
 */
#define ARB_ARRFOREACH(x, field, head) \
    for ((x) = ARB_NODES(head); ARB_SELFIDX(head, x) < ARB_MAXNODES(head); (x)++)
#define ARB_ARRFOREACH_REVWCOND(x, field, head, extracond)                    \
    for ((x) = ARB_NODES(head) + (ARB_MAXNODES(head) - 1);                    \
         (uintptr_t)(x) >= (uintptr_t)ARB_NODES(head) && (extracond); (x)--)
#define ARB_ARRFOREACH_REVERSE(x, field, head) ARB_ARRFOREACH_REVWCOND(x, field, head, 1)

/* Puts the slot of elm at the front of the free chain. The result is elm. */
#define ARB_RETURNFREE(head, elm, field)                         \
    __extension__({                                              \
        ARB_COLOR(elm, field) = ARB_NULLCOL;                     \
        ARB_NEXTFREEIDX(elm, field) = ARB_FREEIDX(head);         \
        ARB_SETIDX_(ARB_FREEIDX(head), ARB_SELFIDX(head, elm));  \
        (elm);                                                   \
    })

/*
 * Takes the slot at position fidx of the free chain out of the chain. NULL: the chain is shorter.
 * A head of ARB_INITIALIZER has no chain yet. The macro then first chains the cleared slots.
 */
#define ARB_GETFREEAT(head, field, fidx)                                                \
    __extension__({                                                                     \
        ARB_ELMTYPE(head) arb_elm_;                                                     \
        ARB_ELMTYPE(head) arb_before_ = NULL;                                           \
        intptr_t arb_n_ = (fidx);                                                       \
        if (ARB_FREEIDX(head) == ARB_NULLIDX && !ARB_FULL(head)) {                      \
            ARB_ARRFOREACH_REVERSE(arb_elm_, field, head) {                             \
                if (ARB_ISFREE(arb_elm_, field)) ARB_RETURNFREE(head, arb_elm_, field); \
            }                                                                           \
        }                                                                               \
        arb_elm_ = ARB_NODE(head, ARB_FREEIDX(head));                                   \
        for (; arb_n_ > 0 && arb_elm_ != NULL; --arb_n_) {                              \
            arb_before_ = arb_elm_;                                                     \
            arb_elm_ = ARB_NEXTFREE(head, arb_elm_, field);                             \
        }                                                                               \
        if (arb_elm_ != NULL && arb_before_ != NULL)                                    \
            ARB_NEXTFREEIDX(arb_before_, field) = ARB_NEXTFREEIDX(arb_elm_, field);     \
        else if (arb_elm_ != NULL)                                                      \
            ARB_FREEIDX(head) = ARB_NEXTFREEIDX(arb_elm_, field);                       \
        arb_elm_;                                                                       \
    })
/* Takes the first free slot. NULL: the array is full. */
#define ARB_GETFREE(head, field) ARB_GETFREEAT(head, field, 0)

/*
 * The header of a loop that empties the tree. The loop sees each slot, from the last to the first,
 * after it was put on the free chain. The body may set the element's own members. The parent and
 * left links of a free slot keep their bytes, as in the original.
 */
#define ARB_INIT(x, field, head, maxn)                                                      \
    for ((head)->arb_curnodes = 0, ARB_SETIDX_(ARB_MAXNODES(head), maxn),                   \
        ARB_ROOTIDX(head) = ARB_FREEIDX(head) = ARB_MINIDX(head) = ARB_MAXIDX(head) =       \
             ARB_NULLIDX,                                                                   \
        (x) = ARB_NODES(head) + (ARB_MAXNODES(head) - 1);                                   \
         (uintptr_t)(x) >= (uintptr_t)ARB_NODES(head) &&                                    \
         ARB_RETURNFREE(head, x, field) != NULL;                                            \
         (x)--)

/*
 * Makes the tree empty, with room for maxn elements. The elements' own members and the free chain
 * stay. A program that empties a tree in use calls ARB_INIT instead, which frees the slots, too.
 */
#define ARB_RESET_TREE(head, name, maxn)                                                        \
    ((void)(ARB_CURNODES(head) = 0, ARB_SETIDX_(ARB_MAXNODES(head), maxn),                      \
            ARB_ROOTIDX(head) = ARB_MINIDX(head) = ARB_MAXIDX(head) = ARB_NULLIDX))

/*
 * The declarations of a tree's functions, with external linkage or _STATIC. `name` is the tag of
 * the head, `type` the tag of the elements, and `field` the member of ARB_ENTRY. cmp(a, b) is below
 * 0, 0 or above 0, as for qsort(3). A declaration of one function has the macro of its name below;
 * `attr` is a storage class or empty. The functions with a C take and return pointers to const.
 */
#define ARB_PROTOTYPE(name, type, field, cmp) ARB_PROTOTYPE_INTERNAL(name, type, field, cmp, )
#define ARB_PROTOTYPE_STATIC(name, type, field, cmp) \
    ARB_PROTOTYPE_INTERNAL(name, type, field, cmp, __attribute__((__unused__)) static)
#define ARB_PROTOTYPE_INTERNAL(name, type, field, cmp, attr) \
    ARB_PROTOTYPE_INSERT_COLOR(name, type, attr);            \
    ARB_PROTOTYPE_REMOVE_COLOR(name, type, attr);            \
    ARB_PROTOTYPE_INSERT(name, type, attr);                  \
    ARB_PROTOTYPE_REMOVE(name, type, attr);                  \
    ARB_PROTOTYPE_CFIND(name, type, attr);                   \
    ARB_PROTOTYPE_FIND(name, type, attr);                    \
    ARB_PROTOTYPE_CNFIND(name, type, attr);                  \
    ARB_PROTOTYPE_NFIND(name, type, attr);                   \
    ARB_PROTOTYPE_CNEXT(name, type, attr);                   \
    ARB_PROTOTYPE_NEXT(name, type, attr);                    \
    ARB_PROTOTYPE_CPREV(name, type, attr);                   \
    ARB_PROTOTYPE_PREV(name, type, attr);                    \
    ARB_PROTOTYPE_CMINMAX(name, type, attr);                 \
    ARB_PROTOTYPE_MINMAX(name, type, attr);                  \
    ARB_PROTOTYPE_REINSERT(name, type, attr)

#define ARB_PROTOTYPE_INSERT_COLOR(name, type, attr) \
    attr void name##_ARB_INSERT_COLOR(struct name *, struct type *)
#define ARB_PROTOTYPE_REMOVE_COLOR(name, type, attr) \
    attr void name##_ARB_REMOVE_COLOR(struct name *, struct type *, struct type *)
#define ARB_PROTOTYPE_INSERT(name, type, attr) \
    attr struct type *name##_ARB_INSERT(struct name *, struct type *)
#define ARB_PROTOTYPE_REMOVE(name, type, attr) \
    attr struct type *name##_ARB_REMOVE(struct name *, struct type *)
#define ARB_PROTOTYPE_CFIND(name, type, attr) \
    attr const struct type *name##_ARB_CFIND(const struct name *, const struct type *)
#define ARB_PROTOTYPE_FIND(name, type, attr) \
    attr struct type *name##_ARB_FIND(const struct name *, const struct type *)
#define ARB_PROTOTYPE_CNFIND(name, type, attr) \
    attr const struct type *name##_ARB_CNFIND(const struct name *, const struct type *)
#define ARB_PROTOTYPE_NFIND(name, type, attr) \
    attr struct type *name##_ARB_NFIND(const struct name *, const struct type *)
#define ARB_PROTOTYPE_CNEXT(name, type, attr) \
    attr const struct type *name##_ARB_CNEXT(const struct name *, const struct type *)
#define ARB_PROTOTYPE_NEXT(name, type, attr) \
    attr struct type *name##_ARB_NEXT(const struct name *, const struct type *)
#define ARB_PROTOTYPE_CPREV(name, type, attr) \
    attr const struct type *name##_ARB_CPREV(const struct name *, const struct type *)
#define ARB_PROTOTYPE_PREV(name, type, attr) \
    attr struct type *name##_ARB_PREV(const struct name *, const struct type *)
#define ARB_PROTOTYPE_CMINMAX(name, type, attr) \
    attr const struct type *name##_ARB_CMINMAX(const struct name *, int)
#define ARB_PROTOTYPE_MINMAX(name, type, attr) \
    attr struct type *name##_ARB_MINMAX(const struct name *, int)
#define ARB_PROTOTYPE_REINSERT(name, type, attr) \
    attr struct type *name##_ARB_REINSERT(struct name *, struct type *)

/* The definitions of the same functions. The macros below define one function each. */
#define ARB_GENERATE(name, type, field, cmp) ARB_GENERATE_INTERNAL(name, type, field, cmp, )
#define ARB_GENERATE_STATIC(name, type, field, cmp) \
    ARB_GENERATE_INTERNAL(name, type, field, cmp, __attribute__((__unused__)) static)
#define ARB_GENERATE_INTERNAL(name, type, field, cmp, attr)   \
    ARB_GENERATE_INSERT_COLOR(name, type, field, attr)        \
    ARB_GENERATE_REMOVE_COLOR(name, type, field, attr)        \
    ARB_GENERATE_INSERT(name, type, field, cmp, attr)         \
    ARB_GENERATE_REMOVE(name, type, field, attr)              \
    ARB_GENERATE_CFIND(name, type, field, cmp, attr)          \
    ARB_GENERATE_FIND(name, type, field, cmp, attr)           \
    ARB_GENERATE_CNFIND(name, type, field, cmp, attr)         \
    ARB_GENERATE_NFIND(name, type, field, cmp, attr)          \
    ARB_GENERATE_CNEXT(name, type, field, attr)               \
    ARB_GENERATE_NEXT(name, type, field, attr)                \
    ARB_GENERATE_CPREV(name, type, field, attr)               \
    ARB_GENERATE_PREV(name, type, field, attr)                \
    ARB_GENERATE_CMINMAX(name, type, field, attr)             \
    ARB_GENERATE_MINMAX(name, type, field, attr)              \
    ARB_GENERATE_REINSERT(name, type, field, cmp, attr)

/* A node, or no node, is red. */
#define ARB_ISRED_(elm, field) ((elm) != NULL && ARB_COLOR(elm, field) == ARB_RED)

/*
 * One step up from a red elm below a red parent on one side. Either the red moves to the
 * grandparent, or one or two rotations end the loop.
 */
#define ARB_INSERT_STEP_(head, elm, parent, gparent, tmp, field, NEARIDX, FARIDX)      \
    do {                                                                               \
        (tmp) = ARB_NODE(head, FARIDX(gparent, field));                                \
        if (ARB_ISRED_(tmp, field)) { /* a red uncle: go up two levels */              \
            ARB_COLOR(tmp, field) = ARB_BLACK;                                         \
            ARB_SET_BLACKRED(parent, gparent, field);                                  \
            (elm) = (gparent);                                                         \
            break;                                                                     \
        }                                                                              \
        if (FARIDX(parent, field) == ARB_SELFIDX(head, elm)) { /* a bend */            \
            ARB_ROTATE_(head, parent, tmp, field, NEARIDX, FARIDX);                    \
            (elm) = (parent);                                                          \
            (parent) = (tmp);                                                          \
        }                                                                              \
        ARB_SET_BLACKRED(parent, gparent, field);                                      \
        ARB_ROTATE_(head, gparent, tmp, field, FARIDX, NEARIDX);                       \
    } while (0)

/* Restores the colours after an insertion. No red element then has a red child. */
#define ARB_GENERATE_INSERT_COLOR(name, type, field, attr)                                    \
    attr void name##_ARB_INSERT_COLOR(struct name *head, struct type *elm) {                  \
        struct type *parent;                                                                  \
        struct type *gparent;                                                                 \
        struct type *tmp;                                                                     \
        while ((parent = ARB_PARENT(head, elm, field)), ARB_ISRED_(parent, field)) {          \
            gparent = ARB_PARENT(head, parent, field);                                        \
            if (ARB_LEFTIDX(gparent, field) == ARB_SELFIDX(head, parent))                     \
                ARB_INSERT_STEP_(head, elm, parent, gparent, tmp, field, ARB_LEFTIDX,         \
                                 ARB_RIGHTIDX);                                               \
            else                                                                              \
                ARB_INSERT_STEP_(head, elm, parent, gparent, tmp, field, ARB_RIGHTIDX,        \
                                 ARB_LEFTIDX);                                                \
        }                                                                                     \
        ARB_COLOR(ARB_ROOT(head), field) = ARB_BLACK;                                         \
    }

/*
 * One step up from an elm on one side of parent whose path lacks one black. The lack moves to the
 * parent, or ends (elm is then the root).
 */
#define ARB_REMOVE_STEP_(head, elm, parent, tmp, aux, field, NEARIDX, FARIDX)                \
    do {                                                                                     \
        (tmp) = ARB_NODE(head, FARIDX(parent, field)); /* the sibling of elm */              \
        if (ARB_ISRED_(tmp, field)) { /* a rotation gives elm a black sibling */             \
            ARB_SET_BLACKRED(tmp, parent, field);                                            \
            ARB_ROTATE_(head, parent, aux, field, NEARIDX, FARIDX);                          \
            (tmp) = ARB_NODE(head, FARIDX(parent, field));                                   \
        }                                                                                    \
        if (!ARB_ISRED_(ARB_NODE(head, NEARIDX(tmp, field)), field) &&                       \
            !ARB_ISRED_(ARB_NODE(head, FARIDX(tmp, field)), field)) {                        \
            ARB_COLOR(tmp, field) = ARB_RED; /* the sibling's path loses one black, too */   \
            (elm) = (parent);                                                                \
            (parent) = ARB_PARENT(head, elm, field);                                         \
            break;                                                                           \
        }                                                                                    \
        if (!ARB_ISRED_(ARB_NODE(head, FARIDX(tmp, field)), field)) {                        \
            ARB_SET_BLACKRED(ARB_NODE(head, NEARIDX(tmp, field)), tmp, field);               \
            ARB_ROTATE_(head, tmp, aux, field, FARIDX, NEARIDX); /* the far one is red */    \
            (tmp) = ARB_NODE(head, FARIDX(parent, field));                                   \
        }                                                                                    \
        ARB_COLOR(tmp, field) = ARB_COLOR(parent, field); /* elm's path gets a black */      \
        ARB_COLOR(parent, field) = ARB_BLACK;                                                \
        ARB_COLOR(ARB_NODE(head, FARIDX(tmp, field)), field) = ARB_BLACK;                    \
        ARB_ROTATE_(head, parent, aux, field, NEARIDX, FARIDX);                              \
        (elm) = ARB_ROOT(head);                                                              \
    } while (0)

/* Restores the colours after a removal. elm is the child that moved up, or NULL. */
#define ARB_GENERATE_REMOVE_COLOR(name, type, field, attr)                                      \
    attr void name##_ARB_REMOVE_COLOR(struct name *head, struct type *parent, struct type *elm) { \
        struct type *tmp;                                                                       \
        struct type *aux;                                                                       \
        while (!ARB_ISRED_(elm, field) && elm != ARB_ROOT(head)) {                              \
            if (ARB_LEFT(head, parent, field) == elm)                                           \
                ARB_REMOVE_STEP_(head, elm, parent, tmp, aux, field, ARB_LEFTIDX, ARB_RIGHTIDX); \
            else                                                                                \
                ARB_REMOVE_STEP_(head, elm, parent, tmp, aux, field, ARB_RIGHTIDX, ARB_LEFTIDX); \
        }                                                                                       \
        if (elm != NULL) ARB_COLOR(elm, field) = ARB_BLACK;                                     \
    }

/*
 * Goes down to the place of elm. A leaf is the smallest element if the way never turned right. A
 * leaf is the largest if the way never turned left. NULL: elm is in the tree now. Otherwise the
 * result is the equal element, and elm stays outside. Time: the logarithm of the elements.
 */
#define ARB_GENERATE_INSERT(name, type, field, cmp, attr)                              \
    attr struct type *name##_ARB_INSERT(struct name *head, struct type *elm) {         \
        struct type *parent = NULL;                                                    \
        struct type *tmp = ARB_ROOT(head);                                             \
        int order = 0;                                                                 \
        int is_min = 1;                                                                \
        int is_max = 1;                                                                \
        while (tmp != NULL) {                                                          \
            parent = tmp;                                                              \
            order = (cmp)(elm, parent);                                                \
            if (order == 0) return parent;                                             \
            tmp = order < 0 ? ARB_LEFT(head, tmp, field) : ARB_RIGHT(head, tmp, field); \
            if (order < 0)                                                             \
                is_max = 0;                                                            \
            else                                                                       \
                is_min = 0;                                                            \
        }                                                                              \
        ARB_SET(head, elm, parent, field);                                             \
        if (parent == NULL)                                                            \
            ARB_SETIDX_(ARB_ROOTIDX(head), ARB_SELFIDX(head, elm));                    \
        else if (order < 0)                                                            \
            ARB_SETIDX_(ARB_LEFTIDX(parent, field), ARB_SELFIDX(head, elm));           \
        else                                                                           \
            ARB_SETIDX_(ARB_RIGHTIDX(parent, field), ARB_SELFIDX(head, elm));          \
        if (parent != NULL) ARB_AUGMENT(parent);                                       \
        if (is_min) ARB_SETIDX_(ARB_MINIDX(head), ARB_SELFIDX(head, elm));             \
        if (is_max) ARB_SETIDX_(ARB_MAXIDX(head), ARB_SELFIDX(head, elm));             \
        ARB_CURNODES(head)++;                                                          \
        name##_ARB_INSERT_COLOR(head, elm);                                            \
        return NULL;                                                                   \
    }

/* The neighbour of an end of the tree: the near end of what is below it, or its parent. */
#define ARB_NEXT_END_(head, elm, tmp, place, field, NEARIDX, FARIDX)                            \
    do {                                                                                        \
        ARB_SETIDX_(place, ARB_PARENTIDX(elm, field));                                          \
        for ((tmp) = ARB_NODE(head, FARIDX(elm, field)); (tmp) != NULL;                         \
             (tmp) = ARB_NODE(head, NEARIDX(tmp, field)))                                       \
            ARB_SETIDX_(place, ARB_SELFIDX(head, tmp));                                         \
    } while (0)

/*
 * An element with two children first changes places with its successor, which has at most one
 * child. Then that one child moves up. If the removed node was black, the path of the child lacks
 * one black. The result is elm, whose slot is now the first of the free chain.
 */
#define ARB_GENERATE_REMOVE(name, type, field, attr)                                         \
    attr struct type *name##_ARB_REMOVE(struct name *head, struct type *elm) {               \
        struct type *child;                                                                  \
        struct type *parent;                                                                 \
        struct type *heir = NULL;                                                            \
        int color;                                                                           \
        if (ARB_MINIDX(head) == ARB_SELFIDX(head, elm))                                      \
            ARB_NEXT_END_(head, elm, child, ARB_MINIDX(head), field, ARB_LEFTIDX, ARB_RIGHTIDX); \
        if (ARB_MAXIDX(head) == ARB_SELFIDX(head, elm))                                      \
            ARB_NEXT_END_(head, elm, child, ARB_MAXIDX(head), field, ARB_RIGHTIDX, ARB_LEFTIDX); \
        if (ARB_LEFTIDX(elm, field) != ARB_NULLIDX && ARB_RIGHTIDX(elm, field) != ARB_NULLIDX) { \
            heir = ARB_RIGHT(head, elm, field); /* the successor: the leftmost on the right */   \
            while (ARB_LEFTIDX(heir, field) != ARB_NULLIDX) heir = ARB_LEFT(head, heir, field); \
            color = ARB_COLOR(heir, field);                                                  \
            child = ARB_RIGHT(head, heir, field);                                            \
            parent = ARB_PARENT(head, heir, field);                                          \
            ARB_REHANG_(head, heir, ARB_SELFIDX(head, child), field);                        \
            if (parent == elm) parent = heir; /* the child then hangs below the successor */ \
            ARB_REHANG_(head, elm, ARB_SELFIDX(head, heir), field);                          \
            (heir)->field = (elm)->field; /* all links, and the colour */                    \
            ARB_SETIDX_(ARB_PARENTIDX(ARB_LEFT(head, heir, field), field),                   \
                        ARB_SELFIDX(head, heir));                                            \
            if (ARB_RIGHTIDX(heir, field) != ARB_NULLIDX)                                    \
                ARB_SETIDX_(ARB_PARENTIDX(ARB_RIGHT(head, heir, field), field),              \
                            ARB_SELFIDX(head, heir));                                        \
        } else {                                                                             \
            color = ARB_COLOR(elm, field);                                                   \
            child = ARB_LEFT(head, elm, field);                                              \
            if (child == NULL) child = ARB_RIGHT(head, elm, field);                          \
            parent = ARB_PARENT(head, elm, field);                                           \
            ARB_REHANG_(head, elm, ARB_SELFIDX(head, child), field);                         \
        }                                                                                    \
        if (child != NULL)                                                                   \
            ARB_SETIDX_(ARB_PARENTIDX(child, field), ARB_SELFIDX(head, parent));             \
        for (heir = parent; heir != NULL; heir = ARB_PARENT(head, heir, field)) ARB_AUGMENT(heir); \
        if (color == ARB_BLACK) name##_ARB_REMOVE_COLOR(head, parent, child);                \
        ARB_CURNODES(head)--;                                                                \
        return ARB_RETURNFREE(head, elm, field);                                             \
    }

/* The element that is equal to elm, or NULL. Only the key of elm is read. */
#define ARB_GENERATE_CFIND(name, type, field, cmp, attr)                                          \
    attr const struct type *name##_ARB_CFIND(const struct name *head, const struct type *elm) {   \
        const struct type *tmp = ARB_ROOT(head);                                                  \
        while (tmp != NULL) {                                                                     \
            const int order = (cmp)(elm, tmp);                                                    \
            if (order == 0) return tmp;                                                           \
            tmp = order < 0 ? ARB_LEFT(head, tmp, field) : ARB_RIGHT(head, tmp, field);           \
        }                                                                                         \
        return NULL;                                                                              \
    }
/* The first element that is not smaller than elm, or NULL. */
#define ARB_GENERATE_CNFIND(name, type, field, cmp, attr)                                         \
    attr const struct type *name##_ARB_CNFIND(const struct name *head, const struct type *elm) {  \
        const struct type *tmp = ARB_ROOT(head);                                                  \
        const struct type *found = NULL;                                                          \
        while (tmp != NULL) {                                                                     \
            const int order = (cmp)(elm, tmp);                                                    \
            if (order == 0) return tmp;                                                           \
            if (order < 0) found = tmp;                                                           \
            tmp = order < 0 ? ARB_LEFT(head, tmp, field) : ARB_RIGHT(head, tmp, field);           \
        }                                                                                         \
        return found;                                                                             \
    }

/*
 * The neighbour on one side, or NULL. With a child on that side, the neighbour is the near end of
 * the subtree. Otherwise it is the first ancestor whose subtree on the other side has elm.
 */
#define ARB_GENERATE_STEP_(name, type, field, attr, STEP, NEARIDX, FARIDX)                         \
    attr const struct type *name##_ARB_##STEP(const struct name *head, const struct type *elm) {   \
        if (FARIDX(elm, field) != ARB_NULLIDX) {                                                   \
            elm = ARB_CNODE(head, FARIDX(elm, field));                                             \
            while (NEARIDX(elm, field) != ARB_NULLIDX) elm = ARB_CNODE(head, NEARIDX(elm, field)); \
            return elm;                                                                            \
        }                                                                                          \
        while (ARB_PARENTIDX(elm, field) != ARB_NULLIDX &&                                         \
               FARIDX(ARB_PARENT(head, elm, field), field) == ARB_SELFIDX(head, elm))              \
            elm = ARB_PARENT(head, elm, field);                                                    \
        return ARB_PARENT(head, elm, field);                                                       \
    }
#define ARB_GENERATE_CNEXT(name, type, field, attr) \
    ARB_GENERATE_STEP_(name, type, field, attr, CNEXT, ARB_LEFTIDX, ARB_RIGHTIDX)
#define ARB_GENERATE_CPREV(name, type, field, attr) \
    ARB_GENERATE_STEP_(name, type, field, attr, CPREV, ARB_RIGHTIDX, ARB_LEFTIDX)

/* The smallest element if `which` is ARB_NEGINF, else the largest one. NULL: the tree is empty. */
#define ARB_GENERATE_CMINMAX(name, type, field, attr)                                           \
    attr const struct type *name##_ARB_CMINMAX(const struct name *head, int which) {            \
        const struct type *tmp = ARB_ROOT(head);                                                \
        const struct type *last = NULL;                                                         \
        for (; tmp != NULL;                                                                     \
             tmp = which < 0 ? ARB_LEFT(head, tmp, field) : ARB_RIGHT(head, tmp, field))        \
            last = tmp;                                                                         \
        return last;                                                                            \
    }

/* The same without const, from those with it. */
#define ARB_GENERATE_PLAIN_(name, type, attr, FUNCTION, CFUNCTION)                                  \
    attr struct type *name##_ARB_##FUNCTION(const struct name *head, const struct type *elm) {      \
        return (struct type *)(uintptr_t)name##_ARB_##CFUNCTION(head, elm);                         \
    }
#define ARB_GENERATE_FIND(name, type, field, cmp, attr) \
    ARB_GENERATE_PLAIN_(name, type, attr, FIND, CFIND)
#define ARB_GENERATE_NFIND(name, type, field, cmp, attr) \
    ARB_GENERATE_PLAIN_(name, type, attr, NFIND, CNFIND)
#define ARB_GENERATE_NEXT(name, type, field, attr) ARB_GENERATE_PLAIN_(name, type, attr, NEXT, CNEXT)
#define ARB_GENERATE_PREV(name, type, field, attr) ARB_GENERATE_PLAIN_(name, type, attr, PREV, CPREV)
#define ARB_GENERATE_MINMAX(name, type, field, attr)                                  \
    attr struct type *name##_ARB_MINMAX(const struct name *head, int which) {         \
        return (struct type *)(uintptr_t)name##_ARB_CMINMAX(head, which);             \
    }

/* After elm's key changed: moves it if it no longer stands between its neighbours. NULL, or the
 * element that it now equals; elm is then in the tree no more. */
#define ARB_GENERATE_REINSERT(name, type, field, cmp, attr)                              \
    attr struct type *name##_ARB_REINSERT(struct name *head, struct type *elm) {         \
        const struct type *before = name##_ARB_CPREV(head, elm);                         \
        const struct type *behind = name##_ARB_CNEXT(head, elm);                         \
        if ((before == NULL || (cmp)(before, elm) < 0) &&                                \
            (behind == NULL || (cmp)(elm, behind) < 0))                                  \
            return NULL;                                                                 \
        name##_ARB_REMOVE(head, elm);                                                    \
        elm = ARB_GETFREE(head, field); /* the one that was just given back */           \
        return name##_ARB_INSERT(head, elm);                                             \
    }

/* The functions by their tree's name: x is the head, and y is an element. */
#define ARB_INSERT(name, x, y) name##_ARB_INSERT(x, y) /* the equal element, or NULL */
#define ARB_REMOVE(name, x, y) name##_ARB_REMOVE(x, y) /* y, whose slot is free now */
#define ARB_CFIND(name, x, y) name##_ARB_CFIND(x, y)   /* the equal element, or NULL */
#define ARB_FIND(name, x, y) name##_ARB_FIND(x, y)     /* the same, without const */
#define ARB_CNFIND(name, x, y) name##_ARB_CNFIND(x, y) /* the first that is not smaller */
#define ARB_NFIND(name, x, y) name##_ARB_NFIND(x, y)   /* the same, without const */
#define ARB_CNEXT(name, x, y) name##_ARB_CNEXT(x, y)   /* the next larger, or NULL */
#define ARB_NEXT(name, x, y) name##_ARB_NEXT(x, y)     /* the same, without const */
#define ARB_CPREV(name, x, y) name##_ARB_CPREV(x, y)   /* the next smaller, or NULL */
#define ARB_PREV(name, x, y) name##_ARB_PREV(x, y)     /* the same, without const */
/* The ends of the tree, or NULL. A tree whose ends the head does not have is searched. */
#define ARB_CMIN(name, x)                                                      \
    (ARB_MINIDX(x) == ARB_NULLIDX ? name##_ARB_CMINMAX(x, ARB_NEGINF)          \
                                  : ARB_CNODE(x, ARB_MINIDX(x)))
#define ARB_MIN(name, x) \
    (ARB_MINIDX(x) == ARB_NULLIDX ? name##_ARB_MINMAX(x, ARB_NEGINF) : ARB_NODE(x, ARB_MINIDX(x)))
#define ARB_CMAX(name, x) \
    (ARB_MAXIDX(x) == ARB_NULLIDX ? name##_ARB_CMINMAX(x, ARB_INF) : ARB_CNODE(x, ARB_MAXIDX(x)))
#define ARB_MAX(name, x) \
    (ARB_MAXIDX(x) == ARB_NULLIDX ? name##_ARB_MINMAX(x, ARB_INF) : ARB_NODE(x, ARB_MAXIDX(x)))
#define ARB_REINSERT(name, x, y) name##_ARB_REINSERT(x, y) /* after a change of y's key */

/*
 * Loops over the tree in order; _REVERSE goes from the largest element to the smallest. _FROM
 * begins at y. _SAFE and _FROM keep the next element in y, so that the body may remove x. The body
 * must not remove the element in y. x is NULL after the loop.
 */

/* Every element, from the smallest on. The body must not remove x. */
#define ARB_FOREACH(x, name, head) \
    for ((x) = ARB_MIN(name, head); (x) != NULL; (x) = name##_ARB_NEXT(head, x))
#define ARB_CFOREACH(x, name, head) \
    for ((x) = ARB_CMIN(name, head); (x) != NULL; (x) = name##_ARB_CNEXT(head, x))
/* The body may remove x. */
#define ARB_FOREACH_FROM(x, name, head, y) \
    for ((x) = (y); (x) != NULL && ((y) = name##_ARB_NEXT(head, x), 1); (x) = (y))
#define ARB_FOREACH_SAFE(x, name, head, y) \
    for ((x) = ARB_MIN(name, head); (x) != NULL && ((y) = name##_ARB_NEXT(head, x), 1); (x) = (y))
/* The same, from the largest element on. */
#define ARB_FOREACH_REVERSE(x, name, head) \
    for ((x) = ARB_MAX(name, head); (x) != NULL; (x) = name##_ARB_PREV(head, x))
#define ARB_FOREACH_REVERSE_FROM(x, name, head, y) \
    for ((x) = (y); (x) != NULL && ((y) = name##_ARB_PREV(head, x), 1); (x) = (y))
#define ARB_FOREACH_REVERSE_SAFE(x, name, head, y) \
    for ((x) = ARB_MAX(name, head); (x) != NULL && ((y) = name##_ARB_PREV(head, x), 1); (x) = (y))

#endif /* _SYS_ARB_H_ */
