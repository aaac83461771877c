/*
 * Words for the compiler: what a function does with its arguments, and whether it returns. The words
 * stand behind a declaration:
 *
 *     void fail(char *message, ...) __NORETURN __PRINTFLIKE(1);
 */
#ifndef _BLKSCOPE_SOLARIS_SYS_CCOMPILE_H
#define _BLKSCOPE_SOLARIS_SYS_CCOMPILE_H

/* The function never returns; a parameter or a function is perhaps not used. */
#define __NORETURN __attribute__((__noreturn__))
#define __UNUSED __attribute__((__unused__))
/* The format is argument n; its values follow, or are a va_list. */
#define __PRINTFLIKE(n) __attribute__((__format__(printf, n, (n) + 1)))
#define __VPRINTFLIKE(n) __attribute__((__format__(printf, n, 0)))

#endif
