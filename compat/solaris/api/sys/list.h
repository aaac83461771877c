/*
 * Lists whose links are inside the members, as Solaris' kernel and programs have them.
 *
 *     list_create(&list, sizeof(struct member), offsetof(struct member, link));
 *     list_insert_tail(&list, member);
 *     for (m = list_head(&list); m != NULL; m = list_next(&list, m)) ...
 *
 * Ownership: the members are the caller's; a list never frees one.
 * Threads:   one at a time per list.
 * Source:    list_create(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_LIST_H
#define _BLKSCOPE_SOLARIS_SYS_LIST_H

#pragma GCC system_header /* C++: casts of C */

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The link in a member, and the head of a list. The list is a ring. The head's two links are the
 * first and the last member. In an empty list they are the head itself.
 */
typedef struct list_node {
    struct list_node *list_next, *list_prev; /* NULL: in no list */
} list_node_t;

typedef struct list {
    size_t list_size, list_offset; /* of a member, and of the link in it */
    list_node_t list_head;
} list_t;

/* The link of a member, and the member of a link. The head of the ring belongs to no member. */
static __inline__ list_node_t *_list_link(list_t *list, void *member) {
    return (list_node_t *)(void *)((char *)member + list->list_offset);
}

static __inline__ void *_list_member(list_t *list, list_node_t *link) {
    return link == &list->list_head ? NULL : (void *)((char *)link - list->list_offset);
}

/* Inserts a link behind another one. */
static __inline__ void _list_join(list_node_t *before, list_node_t *link) {
    link->list_prev = before;
    link->list_next = before->list_next;
    before->list_next->list_prev = link;
    before->list_next = link;
}

/*
 * Makes an empty list of members of this size, with the link at this offset. A member is then in
 * at most one list by this link.
 */
static __inline__ void list_create(list_t *list, size_t size, size_t offset) {
    list->list_size = size;
    list->list_offset = offset;
    list->list_head.list_next = list->list_head.list_prev = &list->list_head;
}

/* The list must be empty. */
static __inline__ void list_destroy(list_t *list) {
    list->list_head.list_next = list->list_head.list_prev = NULL;
}

/* Whether the list has no member. */
static __inline__ int list_is_empty(list_t *list) {
    return list->list_head.list_next == &list->list_head;
}

/* Marks the link of a member that is in no list. */
static __inline__ void list_link_init(list_node_t *link) {
    link->list_next = link->list_prev = NULL;
}

/* Whether the member of this link is in a list. */
static __inline__ int list_link_active(list_node_t *link) {
    return link->list_next != NULL;
}

/* Each of these returns NULL where no member is. */
static __inline__ void *list_head(list_t *list) {
    return _list_member(list, list->list_head.list_next);
}

static __inline__ void *list_tail(list_t *list) {
    return _list_member(list, list->list_head.list_prev);
}

static __inline__ void *list_next(list_t *list, void *member) {
    return _list_member(list, _list_link(list, member)->list_next);
}

static __inline__ void *list_prev(list_t *list, void *member) {
    return _list_member(list, _list_link(list, member)->list_prev);
}

/* The member must be in no list, and becomes the first or the last one. */
static __inline__ void list_insert_head(list_t *list, void *member) {
    _list_join(&list->list_head, _list_link(list, member));
}

static __inline__ void list_insert_tail(list_t *list, void *member) {
    _list_join(list->list_head.list_prev, _list_link(list, member));
}

/* Inserts behind the member `there`; NULL: at the head. The new member must be in no list. */
static __inline__ void list_insert_after(list_t *list, void *there, void *member) {
    _list_join(there == NULL ? &list->list_head : _list_link(list, there),
               _list_link(list, member));
}

/* Inserts in front of `there`; NULL: at the tail. */
static __inline__ void list_insert_before(list_t *list, void *there, void *member) {
    list_node_t *const link = there == NULL ? &list->list_head : _list_link(list, there);
    _list_join(link->list_prev, _list_link(list, member));
}

/* Takes the member out of this list. The member stays as it is, and its link is marked. */
static __inline__ void list_remove(list_t *list, void *member) {
    list_node_t *const link = _list_link(list, member);
    link->list_prev->list_next = link->list_next;
    link->list_next->list_prev = link->list_prev;
    list_link_init(link);
}

/* Both return the removed member; NULL: the list is empty. */
static __inline__ void *list_remove_head(list_t *list) {
    void *const member = list_head(list);
    if (member != NULL) list_remove(list, member);
    return member;
}

static __inline__ void *list_remove_tail(list_t *list) {
    void *const member = list_tail(list);
    if (member != NULL) list_remove(list, member);
    return member;
}

#ifdef __cplusplus
}
#endif

#endif
