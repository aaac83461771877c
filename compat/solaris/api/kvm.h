/*
 * libkvm for Solaris' programs. Where such a program must not read the kernel's memory, it goes on with kstats
 * alone. Here no kernel memory can be read, so kvm_open() says so, and there is no handle for the other
 * functions.
 *
 * Threads: any.
 * Source:  kvm_open(3KVM), kvm_nlist(3KVM), kvm_read(3KVM).
 */
#ifndef _BLKSCOPE_SOLARIS_KVM_H
#define _BLKSCOPE_SOLARIS_KVM_H

#pragma GCC system_header /* C++: casts of C */

#include <errno.h>
#include <nlist.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct _kvmd kvm_t;

/* NULL, and errno is EACCES. */
static __inline__ kvm_t *kvm_open(const char *namelist, const char *corefile, const char *swapfile,
                                  int flag, const char *errstr) {
    (void)namelist, (void)corefile, (void)swapfile, (void)flag, (void)errstr;
    errno = EACCES;
    return NULL;
}

/* Of no handle: -1, and errno is EBADF. */
static __inline__ int kvm_close(kvm_t *kd) {
    (void)kd;
    errno = EBADF;
    return -1;
}

static __inline__ int kvm_nlist(kvm_t *kd, struct nlist nl[]) {
    (void)nl;
    return kvm_close(kd);
}

static __inline__ ssize_t kvm_kread(kvm_t *kd, uintptr_t address, void *buf, size_t nbytes) {
    (void)address, (void)buf, (void)nbytes;
    return kvm_close(kd);
}

static __inline__ ssize_t kvm_read(kvm_t *kd, uintptr_t address, void *buf, size_t nbytes) {
    return kvm_kread(kd, address, buf, nbytes);
}

#ifdef __cplusplus
}
#endif

#endif
