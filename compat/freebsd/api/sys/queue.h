/*
 * An addition to the C library's own <sys/queue.h>, which has the macros of 4.4BSD. The additions
 * are those of queue(3):
 *
 *   - _SAFE: loops whose body may remove the present element.
 *   - _FROM: loops that begin at the element that the variable points at.
 *   - _PREVPTR: a loop that also gives the link to the element, and a removal by that link.
 *   - _SWAP and _CONCAT: two whole lists.
 *   - _LAST, _PREV and _FAST: the last element, and the element before one.
 *   - _CLASS: heads and entries of elements that are C++ classes.
 *   - _REMOVE_AFTER: the removal of the next element.
 *
 * The four kinds of list differ in their links:
 *
 *              the head points to       an element points to          removal of an element
 *     SLIST    the first                the next                      by a search
 *     STAILQ   the first, link of last  the next                      by a search
 *     LIST     the first                the next, link to itself      at once
 *     TAILQ    the first, link of last  the next, link to itself      at once
 *
 * The link to an element is a pointer in the head, or in the element before. Lists store the
 * address of the link, not of the element. _FAST and LIST_PREV compute the element from its link.
 *
 * The arguments of all macros:
 *
 *     head, to, from, a, b   the address of a head
 *     headname               the tag of the head's struct
 *     type                   the tag of the element's struct
 *     field                  the member of the element that has the links
 *     at, next               variables that point to elements; the loops set both
 *
 * Ownership: the caller's, of heads and elements. No macro allocates or frees.
 * Threads:   the caller locks a list that several threads use.
 * Source:    queue(3).
 */
#ifndef _BLKSCOPE_FREEBSD_SYS_QUEUE_H
#define _BLKSCOPE_FREEBSD_SYS_QUEUE_H

#pragma GCC system_header /* for include_next */

#include <stddef.h>
#include <sys/cdefs.h>
#include_next <sys/queue.h>

/* The type of an element whose tag is `type`. In C++ the tag may also be that of a class. */
#ifdef __cplusplus
#define _BLKSCOPE_TYPE(type) type
#else
#define _BLKSCOPE_TYPE(type) struct type
#endif

/*
 * Exchanges two pointers of one type. Arguments have no side effects, because the macros evaluate
 * each of them more than once. The macros of the C library do, too.
 */
#define _BLKSCOPE_SWAP(type, a, b) \
    do {                           \
        type _blkscope_kept = (a); \
        (a) = (b);                 \
        (b) = _blkscope_kept;      \
    } while (0)

/* Reads `next` before the body. The body may therefore remove and free the element `at`. */
#define _BLKSCOPE_FOR_SAFE(at, first, next, after) \
    for ((at) = (first); (at) != NULL && ((next) = (after), 1); (at) = (next))
#define _BLKSCOPE_FOR_FROM(at, first, after) \
    for ((at) = (at) != NULL ? (at) : (first); (at) != NULL; (at) = (after))
#define _BLKSCOPE_FOR_FROM_SAFE(at, first, next, after) \
    _BLKSCOPE_FOR_SAFE(at, (at) != NULL ? (at) : (first), next, after)

/* Loops whose body may remove and free `at`. The body must not remove `next`. */
#define LIST_FOREACH_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_SAFE(at, LIST_FIRST(head), next, LIST_NEXT(at, field))
#define SLIST_FOREACH_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_SAFE(at, SLIST_FIRST(head), next, SLIST_NEXT(at, field))
#define STAILQ_FOREACH_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_SAFE(at, STAILQ_FIRST(head), next, STAILQ_NEXT(at, field))
#define TAILQ_FOREACH_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_SAFE(at, TAILQ_FIRST(head), next, TAILQ_NEXT(at, field))
#define TAILQ_FOREACH_REVERSE_SAFE(at, head, headname, field, next) \
    _BLKSCOPE_FOR_SAFE(at, TAILQ_LAST(head, headname), next, TAILQ_PREV(at, headname, field))

/*
 * Loops that begin at `at`, or at the first element if `at` is NULL. A loop that ended without a
 * break leaves `at` NULL, so the next such loop sees all elements. _REVERSE begins at the last one.
 */
#define LIST_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, LIST_FIRST(head), LIST_NEXT(at, field))
#define SLIST_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, SLIST_FIRST(head), SLIST_NEXT(at, field))
#define STAILQ_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, STAILQ_FIRST(head), STAILQ_NEXT(at, field))
#define TAILQ_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, TAILQ_FIRST(head), TAILQ_NEXT(at, field))
#define TAILQ_FOREACH_REVERSE_FROM(at, head, headname, field) \
    _BLKSCOPE_FOR_FROM(at, TAILQ_LAST(head, headname), TAILQ_PREV(at, headname, field))

/* Loops that begin at `at`, and whose body may remove `at`. */
#define LIST_FOREACH_FROM_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_FROM_SAFE(at, LIST_FIRST(head), next, LIST_NEXT(at, field))
#define SLIST_FOREACH_FROM_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_FROM_SAFE(at, SLIST_FIRST(head), next, SLIST_NEXT(at, field))
#define STAILQ_FOREACH_FROM_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_FROM_SAFE(at, STAILQ_FIRST(head), next, STAILQ_NEXT(at, field))
#define TAILQ_FOREACH_FROM_SAFE(at, head, field, next) \
    _BLKSCOPE_FOR_FROM_SAFE(at, TAILQ_FIRST(head), next, TAILQ_NEXT(at, field))
#define TAILQ_FOREACH_REVERSE_FROM_SAFE(at, head, headname, field, next) \
    _BLKSCOPE_FOR_FROM_SAFE(at, TAILQ_LAST(head, headname), next, TAILQ_PREV(at, headname, field))

/*
 * A loop in which `link` points at the pointer to `at`, in the head or in the element before. With
 * the link a removal needs no search. After a removal the loop must end:
 *
 *     SLIST_FOREACH_PREVPTR(at, link, &head, field) {
 *         if (!is_wanted(at)) continue;
 *         SLIST_REMOVE_PREVPTR(link, at, field);
 *         break;                                     before `at` is freed
 *     }
 */
#define SLIST_FOREACH_PREVPTR(at, link, head, field) \
    for ((link) = &SLIST_FIRST(head); ((at) = *(link)) != NULL; (link) = &SLIST_NEXT(at, field))
#define SLIST_REMOVE_PREVPTR(link, at, field) ((void)(*(link) = SLIST_NEXT(at, field)))

/*
 * The last element, a struct `type`, or NULL for an empty queue. The head points at the link of the
 * last element, so the macro computes the element from its link.
 */
#define STAILQ_LAST(head, type, field) \
    (STAILQ_EMPTY(head) ? NULL         \
                        : __containerof((head)->stqh_last, _BLKSCOPE_TYPE(type), field.stqe_next))

/* The last element of a TAILQ, or NULL. Unlike TAILQ_LAST, the macro reads no other element. */
#define TAILQ_LAST_FAST(head, type, field) \
    (TAILQ_EMPTY(head) ? NULL              \
                       : __containerof((head)->tqh_last, _BLKSCOPE_TYPE(type), field.tqe_next))

/* The element before `at`, or NULL for the first. `head` is the head of the list that has `at`. */
#define LIST_PREV(at, head, type, field)      \
    ((at)->field.le_prev == &LIST_FIRST(head) \
         ? NULL                               \
         : __containerof((at)->field.le_prev, _BLKSCOPE_TYPE(type), field.le_next))
#define TAILQ_PREV_FAST(at, head, type, field)  \
    ((at)->field.tqe_prev == &TAILQ_FIRST(head) \
         ? NULL                                 \
         : __containerof((at)->field.tqe_prev, _BLKSCOPE_TYPE(type), field.tqe_next))

/* Unlinks the element behind `at`. `at` must not be the last element. */
#define SLIST_REMOVE_AFTER(at, field) \
    ((void)(SLIST_NEXT(at, field) = SLIST_NEXT(SLIST_NEXT(at, field), field)))
#define STAILQ_REMOVE_AFTER(head, at, field)                                               \
    do {                                                                                   \
        if ((STAILQ_NEXT(at, field) = STAILQ_NEXT(STAILQ_NEXT(at, field), field)) == NULL) \
            (head)->stqh_last = &STAILQ_NEXT(at, field);                                   \
    } while (0)

/*
 * Appends all elements of `from` to `to`, and empties `from`. The heads lack a link to the last
 * element, so the macros walk over all of `to`. STAILQ_CONCAT and TAILQ_CONCAT are the C library's.
 */
#define SLIST_CONCAT(to, from, type, field)                                                \
    do {                                                                                   \
        _BLKSCOPE_TYPE(type) **_blkscope_end = &SLIST_FIRST(to);                           \
        while (*_blkscope_end != NULL) _blkscope_end = &SLIST_NEXT(*_blkscope_end, field); \
        *_blkscope_end = SLIST_FIRST(from);                                                \
        SLIST_INIT(from);                                                                  \
    } while (0)
#define LIST_CONCAT(to, from, type, field)                                                \
    do {                                                                                  \
        _BLKSCOPE_TYPE(type) **_blkscope_end = &LIST_FIRST(to);                           \
        while (*_blkscope_end != NULL) _blkscope_end = &LIST_NEXT(*_blkscope_end, field); \
        *_blkscope_end = LIST_FIRST(from);                                                \
        if (*_blkscope_end != NULL) (*_blkscope_end)->field.le_prev = _blkscope_end;      \
        LIST_INIT(from);                                                                  \
    } while (0)

/*
 * Exchanges the elements of two heads. The first elements then store the address of a link in the
 * other head. An empty queue stores the address of its own first link.
 */
#define SLIST_SWAP(a, b, type) \
    _BLKSCOPE_SWAP(_BLKSCOPE_TYPE(type) *, SLIST_FIRST(a), SLIST_FIRST(b))
#define LIST_SWAP(a, b, type, field)                                          \
    do {                                                                      \
        _BLKSCOPE_SWAP(_BLKSCOPE_TYPE(type) *, LIST_FIRST(a), LIST_FIRST(b)); \
        if (!LIST_EMPTY(a)) LIST_FIRST(a)->field.le_prev = &LIST_FIRST(a);    \
        if (!LIST_EMPTY(b)) LIST_FIRST(b)->field.le_prev = &LIST_FIRST(b);    \
    } while (0)
#define STAILQ_SWAP(a, b, type)                                                   \
    do {                                                                          \
        _BLKSCOPE_SWAP(_BLKSCOPE_TYPE(type) *, STAILQ_FIRST(a), STAILQ_FIRST(b)); \
        _BLKSCOPE_SWAP(_BLKSCOPE_TYPE(type) **, (a)->stqh_last, (b)->stqh_last);  \
        if (STAILQ_EMPTY(a)) (a)->stqh_last = &STAILQ_FIRST(a);                   \
        if (STAILQ_EMPTY(b)) (b)->stqh_last = &STAILQ_FIRST(b);                   \
    } while (0)
#define TAILQ_SWAP(a, b, type, field)                                                           \
    do {                                                                                        \
        _BLKSCOPE_SWAP(_BLKSCOPE_TYPE(type) *, TAILQ_FIRST(a), TAILQ_FIRST(b));                 \
        _BLKSCOPE_SWAP(_BLKSCOPE_TYPE(type) **, (a)->tqh_last, (b)->tqh_last);                  \
        *(TAILQ_EMPTY(a) ? &(a)->tqh_last : &TAILQ_FIRST(a)->field.tqe_prev) = &TAILQ_FIRST(a); \
        *(TAILQ_EMPTY(b) ? &(b)->tqh_last : &TAILQ_FIRST(b)->field.tqe_prev) = &TAILQ_FIRST(b); \
    } while (0)

/*
 * Heads and entries of elements that are C++ classes: the same members as the others have, of type
 * `class type`. All other macros take either.
 */
#define _BLKSCOPE_CLASS_LINK(name, type, first) \
    struct name {                               \
        class type *first;                      \
    }
#define _BLKSCOPE_CLASS_LINKS(name, type, first, second) \
    struct name {                                        \
        class type *first;                               \
        class type **second;                             \
    }
#define SLIST_CLASS_HEAD(name, type) _BLKSCOPE_CLASS_LINK(name, type, slh_first)
#define SLIST_CLASS_ENTRY(type) _BLKSCOPE_CLASS_LINK(, type, sle_next)
#define STAILQ_CLASS_HEAD(name, type) _BLKSCOPE_CLASS_LINKS(name, type, stqh_first, stqh_last)
#define STAILQ_CLASS_ENTRY(type) _BLKSCOPE_CLASS_LINK(, type, stqe_next)
#define LIST_CLASS_HEAD(name, type) _BLKSCOPE_CLASS_LINK(name, type, lh_first)
#define LIST_CLASS_ENTRY(type) _BLKSCOPE_CLASS_LINKS(, type, le_next, le_prev)
#define TAILQ_CLASS_HEAD(name, type) _BLKSCOPE_CLASS_LINKS(name, type, tqh_first, tqh_last)
#define TAILQ_CLASS_ENTRY(type) _BLKSCOPE_CLASS_LINKS(, type, tqe_next, tqe_prev)

#endif
