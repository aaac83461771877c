/*
 * libkvm, FreeBSD's access to kernel memory. Here there is no such access: programs that use libkvm
 * compile, and link with -lkvm. One handle exists, for this machine. libdevstat treats the handle
 * as NULL, and no memory can be read through the handle.
 *
 * Ownership: the handle belongs to the library; kvm_close frees nothing.
 * Threads:   any.
 * Errors:    as each function says.
 */
#ifndef _KVM_H
#define _KVM_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct __kvm kvm_t;

/* A symbol that is looked up, as FreeBSD's <nlist.h> has it. */
#ifndef _BLKSCOPE_NLIST
#define _BLKSCOPE_NLIST
struct nlist {
    const char *n_name;
    unsigned char n_type;
    char n_other;
    short n_desc;
    unsigned long n_value;
};
#endif

/*
 * The handle, where corefile is NULL, /dev/mem or /dev/null. Of another file NULL, and why is in
 * errbuf (of _POSIX2_LINE_MAX bytes), or behind errstr on standard error.
 */
kvm_t *kvm_openfiles(const char *execfile, const char *corefile, const char *swapfile, int flags,
                     char *errbuf);
kvm_t *kvm_open(const char *execfile, const char *corefile, const char *swapfile, int flags,
                const char *errstr);

int kvm_close(kvm_t *kd);                          /* 0 */
char *kvm_geterr(kvm_t *kd);                       /* why nothing can be read */
int kvm_nlist(kvm_t *kd, struct nlist *nl);        /* how many there are: none is found */
ssize_t kvm_read(kvm_t *kd, unsigned long address, /* -1 */
                 void *buf, size_t nbytes);
int kvm_getcptime(kvm_t *kd, long *times);                   /* kern.cp_time; 0, or -1 */
int kvm_getloadavg(kvm_t *kd, double averages[], int count); /* as getloadavg(3) */

#ifdef __cplusplus
}
#endif

#endif
