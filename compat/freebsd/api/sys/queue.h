/*
 * An addition to the C library's own <sys/queue.h>, which has the macros of 4.4BSD. The additions
 * are those of queue(3) that monitors use:
 *
 *   - _SAFE: loops whose body may remove the present element.
 *   - _FROM: loops that begin at the element that the variable points at.
 *   - STAILQ_LAST and the removal of the next element.
 *
 * Threads: the caller locks a list that several threads use.
 * Source:  queue(3).
 */
#ifndef _BLKSCOPE_FREEBSD_SYS_QUEUE_H
#define _BLKSCOPE_FREEBSD_SYS_QUEUE_H

#pragma GCC system_header /* for include_next */

#include <stddef.h>
#include_next <sys/queue.h>

/* Reads `next` before the body. The body may therefore remove and free the element `at`. */
#define _BLKSCOPE_FOR_SAFE(at, first, next, after) \
    for ((at) = (first); (at) != NULL && ((next) = (after), 1); (at) = (next))
#define _BLKSCOPE_FOR_FROM(at, first, after) \
    for ((at) = (at) != NULL ? (at) : (first); (at) != NULL; (at) = (after))

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

/* Loops that begin at `at`, or at the first element if `at` is NULL. */
#define LIST_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, LIST_FIRST(head), LIST_NEXT(at, field))
#define SLIST_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, SLIST_FIRST(head), SLIST_NEXT(at, field))
#define STAILQ_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, STAILQ_FIRST(head), STAILQ_NEXT(at, field))
#define TAILQ_FOREACH_FROM(at, head, field) \
    _BLKSCOPE_FOR_FROM(at, TAILQ_FIRST(head), TAILQ_NEXT(at, field))

/*
 * The last element, a struct `type`, or NULL for an empty queue. The head points at the link of the
 * last element, so the macro computes the element from its link.
 */
#define STAILQ_LAST(head, type, field) \
    (STAILQ_EMPTY(head) ? NULL : __containerof((head)->stqh_last, struct type, field.stqe_next))

/* Unlinks the element behind `at`. `at` must not be the last element. */
#define SLIST_REMOVE_AFTER(at, field) \
    ((void)(SLIST_NEXT(at, field) = SLIST_NEXT(SLIST_NEXT(at, field), field)))
#define STAILQ_REMOVE_AFTER(head, at, field)                                               \
    do {                                                                                   \
        if ((STAILQ_NEXT(at, field) = STAILQ_NEXT(STAILQ_NEXT(at, field), field)) == NULL) \
            (head)->stqh_last = &STAILQ_NEXT(at, field);                                   \
    } while (0)

#endif
