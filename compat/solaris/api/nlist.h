/* A symbol that a program looks up in the kernel. <kvm.h> has the function, which finds none here. */
#ifndef _BLKSCOPE_SOLARIS_NLIST_H
#define _BLKSCOPE_SOLARIS_NLIST_H

/* Source: the names and the order are those of Solaris' <nlist.h>. */
#if !defined(_BLKSCOPE_NLIST) && !defined(__A_OUT_GNU_H__) /* FreeBSD's <kvm.h>, and <a.out.h> */
#define _BLKSCOPE_NLIST
#define N_NLIST_DECLARED /* which <a.out.h> then leaves out */
struct nlist {
    char *n_name;          /* the symbol */
    long n_value;          /* where it is; 0: not found */
    short n_scnum;         /* its section */
    unsigned short n_type; /* its type, of C */
    char n_sclass;         /* how it is stored */
    char n_numaux;         /* further entries */
};
#endif

#endif
