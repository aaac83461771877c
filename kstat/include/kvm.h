/*
 * libkvm, FreeBSD's door to kernel memory, which is closed here: programs that name it compile, and
 * link with -lkvm, and every function says that there is nothing to read.
 *
 * Threads: any. Errors: as each says; there are no handles, so none is ever used.
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

/* NULL; why is in errbuf (of _POSIX2_LINE_MAX bytes), or behind errstr on standard error. */
kvm_t *kvm_openfiles(const char *execfile, const char *corefile, const char *swapfile, int flags,
                     char *errbuf);
kvm_t *kvm_open(const char *execfile, const char *corefile, const char *swapfile, int flags,
                const char *errstr);

int kvm_close(kvm_t *kd);                          /* 0 */
char *kvm_geterr(kvm_t *kd);                       /* why */
int kvm_nlist(kvm_t *kd, struct nlist *nl);        /* -1 */
ssize_t kvm_read(kvm_t *kd, unsigned long address, /* -1 */
                 void *buf, size_t nbytes);

#ifdef __cplusplus
}
#endif

#endif
