/*
 * Strings that grow, or that stop at the end of the room they were given, as <sys/sbuf.h> of FreeBSD
 * has them. Link libsbuf.
 *
 *     struct sbuf *sb = sbuf_new_auto();
 *     sbuf_printf(sb, "%d devices", n);
 *     if (sbuf_finish(sb) == 0) puts(sbuf_data(sb));
 *     sbuf_delete(sb);
 *
 * An error (ENOMEM: no more room; EINVAL; what a drain returned) sticks: what is appended later is
 * dropped, sbuf_error() tells, and sbuf_finish() fails. One thread at a time may use a buffer.
 */
#ifndef _SYS_SBUF_H_
#define _SYS_SBUF_H_

#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbuf;

/* Takes up to len bytes of data: returns how many it took, or a negative errno value. */
typedef int(sbuf_drain_func)(void *arg, const char *data, int len);

struct sbuf {
    char *s_buf; /* the text */
    sbuf_drain_func *s_drain_func;
    void *s_drain_arg;
    int s_error; /* the first error, an errno value */
    ssize_t s_size; /* of s_buf, bytes */
    ssize_t s_len; /* of the text, without the NUL */
    int s_flags;
    ssize_t s_sect_len;
    ssize_t s_rec_off;
};

/* s_flags: the caller's ... */
#define SBUF_FIXEDLEN 0x00000000   /* s_buf stays as large as it is */
#define SBUF_AUTOEXTEND 0x00000001 /* it grows */
#define SBUF_INCLUDENUL 0x00000002 /* sbuf_len() of a finished text counts the NUL */
#define SBUF_USRFLAGMSK 0x0000ffff
/* ... and our own: s_buf is ours, the struct is ours, the text is complete. */
#define SBUF_DYNAMIC 0x00010000
#define SBUF_FINISHED 0x00020000
#define SBUF_DYNSTRUCT 0x00080000

/* Prepares sb (NULL: a new one) with length bytes at buf (NULL: memory of its own). Returns NULL
 * without memory. sbuf_delete() frees what was allocated. */
struct sbuf *sbuf_new(struct sbuf *sb, char *buf, int length, int flags);
#define sbuf_new_auto() sbuf_new(NULL, NULL, 0, SBUF_AUTOEXTEND)
void sbuf_delete(struct sbuf *sb);

int sbuf_get_flags(struct sbuf *sb);
void sbuf_set_flags(struct sbuf *sb, int flags);
void sbuf_clear_flags(struct sbuf *sb, int flags);

/* Empties it and forgets its error; cuts it; trims blanks off its end. */
void sbuf_clear(struct sbuf *sb);
int sbuf_setpos(struct sbuf *sb, ssize_t pos);
int sbuf_trim(struct sbuf *sb);

/* Where text goes when there is no room for more, and at the end. */
void sbuf_set_drain(struct sbuf *sb, sbuf_drain_func *drain, void *arg);

/* Append (cpy: replace). 0, or -1 after an error. */
int sbuf_bcat(struct sbuf *sb, const void *bytes, size_t length);
int sbuf_bcpy(struct sbuf *sb, const void *bytes, size_t length);
int sbuf_cat(struct sbuf *sb, const char *text);
int sbuf_cpy(struct sbuf *sb, const char *text);
int sbuf_putc(struct sbuf *sb, int c);
int sbuf_nl_terminate(struct sbuf *sb);
int sbuf_printf(struct sbuf *sb, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
int sbuf_vprintf(struct sbuf *sb, const char *format, va_list arguments)
    __attribute__((__format__(__printf__, 2, 0)));

int sbuf_error(const struct sbuf *sb);
/* 0, or -1 with errno; data and len are for finished texts. len is -1 after an error. */
int sbuf_finish(struct sbuf *sb);
char *sbuf_data(struct sbuf *sb);
ssize_t sbuf_len(struct sbuf *sb);
int sbuf_done(const struct sbuf *sb);

#ifdef __cplusplus
}
#endif

#endif /* _SYS_SBUF_H_ */
