/*
 * Memory of drivers, from malloc(3).
 *
 *     struct device *device = kmem_zalloc(sizeof *device, KM_SLEEP);
 *     ...
 *     kmem_free(device, sizeof *device);
 *
 * Ownership: the caller's, until kmem_free. The size must then be the size of the allocation.
 * An allocation of no bytes is allowed, and may be NULL.
 *
 * Threads: any.
 * Source:  kmem_alloc(9F).
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_KMEM_H
#define _BLKSCOPE_SOLARIS_SYS_KMEM_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Flags of an allocation, for the case that there is no memory. Linux rarely has that case: memory
 * that is not there is found when the program first writes to the memory.
 */
#define KM_SLEEP 0    /* Solaris waits; here the process aborts */
#define KM_NOSLEEP 1  /* NULL */
#define KM_PUSHPAGE 4 /* a hint to Solaris' kernel, beside one of the others */

/* Passes memory on; aborts where the caller cannot take NULL. */
static __inline__ void *_blkscope_kmem(void *memory, size_t size, int flags) {
    if (memory == NULL && size > 0 && (flags & KM_NOSLEEP) == 0) {
        fprintf(stderr, "kmem_alloc: no memory for %lu bytes\n", (unsigned long)size);
        abort();
    }
    return memory;
}

/* Memory of this size; the second function sets each byte to 0. */
static __inline__ void *kmem_alloc(size_t size, int flags) {
    return _blkscope_kmem(malloc(size), size, flags);
}
static __inline__ void *kmem_zalloc(size_t size, int flags) {
    return _blkscope_kmem(calloc(1, size), size, flags);
}

/* Frees memory; the size must be that of the allocation. */
static __inline__ void kmem_free(void *memory, size_t size) {
    (void)size;
    free(memory);
}

#ifdef __cplusplus
}
#endif

#endif
