/*
 * Numbers and pointers that several threads change without a lock.
 *
 *     static volatile uint64_t requests;
 *     ...
 *     atomic_inc_64(&requests);                           in any thread
 *     if (atomic_dec_32_nv(&references) == 0) free(thing);
 *
 * The names end in the type: 32, 64, uint, ulong or ptr; functions that add end in int or long. With
 * _nv behind, a function returns the new value.
 *
 * A kstat without ks_lock may have such counters. Each value in a copy is then whole, and two values
 * of one copy are perhaps of two moments.
 *
 * Threads: any.
 * Source:  atomic_ops(3C), atomic_add(9F), membar_ops(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_ATOMIC_H
#define _BLKSCOPE_SOLARIS_SYS_ATOMIC_H

#pragma GCC system_header /* C++: casts of C */

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes *target by `change`, a function of the compiler, and returns the new value. */
#define _BLKSCOPE_ATOMIC_NV(name, type, value_type, change)                     \
    static __inline__ type name##_nv(volatile type *target, value_type value) { \
        return change(target, (type)value, __ATOMIC_SEQ_CST);                   \
    }                                                                           \
    static __inline__ void name(volatile type *target, value_type value) {      \
        (void)name##_nv(target, value);                                         \
    }

/* The same for a change by 1. */
#define _BLKSCOPE_ATOMIC_STEP(name, type, change)             \
    static __inline__ type name##_nv(volatile type *target) { \
        return change(target, 1, __ATOMIC_SEQ_CST);           \
    }                                                         \
    static __inline__ void name(volatile type *target) {      \
        (void)name##_nv(target);                              \
    }

/*
 * All functions of one type:
 *
 *     add, inc, dec   *target += value, += 1, -= 1
 *     or, and         *target |= value, &= value
 *     swap            *target = value; returns what the target was
 *     cas             *target = value where the target is `old`; returns what the target was
 *
 * `difference` is the type of the value that is added. A sum that is too large wraps.
 */
#define _BLKSCOPE_ATOMIC(suffix, add_suffix, type, difference)                                \
    _BLKSCOPE_ATOMIC_NV(atomic_add_##add_suffix, type, difference, __atomic_add_fetch)        \
    _BLKSCOPE_ATOMIC_NV(atomic_or_##suffix, type, type, __atomic_or_fetch)                    \
    _BLKSCOPE_ATOMIC_NV(atomic_and_##suffix, type, type, __atomic_and_fetch)                  \
    _BLKSCOPE_ATOMIC_STEP(atomic_inc_##suffix, type, __atomic_add_fetch)                      \
    _BLKSCOPE_ATOMIC_STEP(atomic_dec_##suffix, type, __atomic_sub_fetch)                      \
    static __inline__ type atomic_swap_##suffix(volatile type *target, type value) {          \
        return __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);                          \
    }                                                                                         \
    static __inline__ type atomic_cas_##suffix(volatile type *target, type old, type value) { \
        return __sync_val_compare_and_swap(target, old, value);                               \
    }

_BLKSCOPE_ATOMIC(32, 32, uint32_t, int32_t)
_BLKSCOPE_ATOMIC(64, 64, uint64_t, int64_t)
_BLKSCOPE_ATOMIC(uint, int, uint_t, int)
_BLKSCOPE_ATOMIC(ulong, long, ulong_t, long)

#undef _BLKSCOPE_ATOMIC
#undef _BLKSCOPE_ATOMIC_NV
#undef _BLKSCOPE_ATOMIC_STEP

/* The same for a pointer at the target. A sum is counted in bytes. */
static __inline__ void *atomic_add_ptr_nv(volatile void *target, ssize_t bytes) {
    return (void *)__atomic_add_fetch((volatile uintptr_t *)target, (uintptr_t)bytes,
                                      __ATOMIC_SEQ_CST);
}
static __inline__ void atomic_add_ptr(volatile void *target, ssize_t bytes) {
    (void)atomic_add_ptr_nv(target, bytes);
}
/* Stores the value where the target is `old`. The result is what the target was. */
static __inline__ void *atomic_cas_ptr(volatile void *target, void *old, void *value) {
    return __sync_val_compare_and_swap((void *volatile *)target, old, value);
}
static __inline__ void *atomic_swap_ptr(volatile void *target, void *value) {
    return __atomic_exchange_n((void *volatile *)target, value, __ATOMIC_SEQ_CST);
}

/*
 * Order memory: behind a lock's taking, before its release, among stores, and among loads. Each is a
 * full barrier.
 */
static __inline__ void membar_enter(void) {
    __sync_synchronize();
}
static __inline__ void membar_exit(void) {
    __sync_synchronize();
}
static __inline__ void membar_producer(void) {
    __sync_synchronize();
}
static __inline__ void membar_consumer(void) {
    __sync_synchronize();
}

#ifdef __cplusplus
}
#endif

#endif
