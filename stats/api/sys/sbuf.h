/*
 * Strings that grow, or that end at a fixed size: <sys/sbuf.h> of FreeBSD, after sbuf(9). Link
 * libsbuf.
 *
 *     struct sbuf *sb = sbuf_new_auto();
 *     sbuf_printf(sb, "%d devices", n);
 *     if (sbuf_finish(sb) == 0) puts(sbuf_data(sb));
 *     sbuf_delete(sb);
 *
 * Ownership: sbuf_delete() frees the memory that the library allocated.
 * Threads:   one at a time per buffer.
 * Errors:    ENOMEM: no more room. EINVAL. Or the error of a drain. The first error stays: later
 *            text is dropped, sbuf_error() returns the error, and sbuf_finish() fails.
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

/* A drain takes up to len bytes of data. Returns the number of bytes taken, or a negative errno. */
typedef int(sbuf_drain_func)(void *arg, const char *data, int len);

/* The members belong to the library. The struct may lie in memory of the caller. */
struct sbuf {
    char *s_buf;                   /* the text */
    sbuf_drain_func *s_drain_func; /* NULL: no drain */
    void *s_drain_arg;             /* its first argument */
    int s_error;                   /* the first error, an errno value */
    ssize_t s_size;                /* bytes of s_buf */
    ssize_t s_len;                 /* bytes of the text, without the NUL */
    int s_flags;                   /* SBUF_ */
    ssize_t s_sect_len;            /* bytes of the innermost section */
    ssize_t s_rec_off;             /* the beginning of the outermost section */
};

/* s_flags: the caller's ... */
#define SBUF_FIXEDLEN 0x00000000   /* s_buf stays as large as it is */
#define SBUF_AUTOEXTEND 0x00000001 /* s_buf grows */
#define SBUF_INCLUDENUL 0x00000002 /* sbuf_len() counts the NUL, and a drain gets it */
#define SBUF_DRAINTOEOR 0x00000004 /* the drain gets whole records: outermost sections */
#define SBUF_NOWAIT 0x00000008     /* for FreeBSD's kernel; no effect here */
#define SBUF_USRFLAGMSK 0x0000ffff /* all flags of the caller */
/* ... and the library's. */
#define SBUF_DYNAMIC 0x00010000   /* s_buf is allocated */
#define SBUF_FINISHED 0x00020000  /* the text is complete */
#define SBUF_DYNSTRUCT 0x00080000 /* the struct is allocated */
#define SBUF_INSECTION 0x00100000 /* a section is open */

/* sbuf_hexdump(): bytes per line, 16 for 0; a character before each byte, a blank for 0. */
#ifndef HD_COLUMN_MASK
#define HD_COLUMN_MASK 0xff
#define HD_DELIM_MASK 0xff00
#define HD_OMIT_COUNT (1 << 16) /* no offset of the line */
#define HD_OMIT_HEX (1 << 17)   /* no hexadecimal digits */
#define HD_OMIT_CHARS (1 << 18) /* no characters */
#endif

/*
 * Prepares sb (NULL: a new one) with length bytes at buf (NULL: memory of its own). The caller
 * keeps sb and buf until sbuf_delete(), which frees only what the library allocated.
 *
 * Errors: NULL without memory, and for a negative length or a flag of the library.
 */
struct sbuf *sbuf_new(struct sbuf *sb, char *buf, int length, int flags);
#define sbuf_new_auto() sbuf_new(NULL, NULL, 0, SBUF_AUTOEXTEND)
void sbuf_delete(struct sbuf *sb);

/* The caller's flags: read, add, remove. */
int sbuf_get_flags(struct sbuf *sb);
void sbuf_set_flags(struct sbuf *sb, int flags);
void sbuf_clear_flags(struct sbuf *sb, int flags);

/*
 * Remove all text and the error; cut the text at pos bytes; remove blanks at the end. A cleared
 * buffer takes text again, also after sbuf_finish().
 *
 * Errors: -1: pos is outside of the text, or sbuf_trim() follows an error.
 */
void sbuf_clear(struct sbuf *sb);
int sbuf_setpos(struct sbuf *sb, ssize_t pos);
int sbuf_trim(struct sbuf *sb);

/* Sets the drain, which gets the text when the room is full and at the end. EDEADLK: the drain took
 * nothing. */
void sbuf_set_drain(struct sbuf *sb, sbuf_drain_func *drain, void *arg);

/*
 * Append (cpy: replace) bytes, a text, a byte, a newline if the last byte is none, a formatted
 * text. 0, or -1 after an error. A finished text must not be changed: the call aborts.
 */
int sbuf_bcat(struct sbuf *sb, const void *bytes, size_t length);
int sbuf_bcpy(struct sbuf *sb, const void *bytes, size_t length);
int sbuf_cat(struct sbuf *sb, const char *text);
int sbuf_cpy(struct sbuf *sb, const char *text);
int sbuf_putc(struct sbuf *sb, int c);
int sbuf_nl_terminate(struct sbuf *sb);
int sbuf_printf(struct sbuf *sb, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
int sbuf_vprintf(struct sbuf *sb, const char *format, va_list arguments)
    __attribute__((__format__(__printf__, 2, 0)));

/* The first error, an errno; 0 for none. */
int sbuf_error(const struct sbuf *sb);
/*
 * sbuf_finish() ends the text with a NUL and drains it: 0, or -1 with errno. sbuf_data() is the
 * text, which belongs to the buffer. sbuf_len() is its length in bytes, or -1 after an error. Both
 * are for finished texts. sbuf_done() is 1 for a finished text.
 */
int sbuf_finish(struct sbuf *sb);
char *sbuf_data(struct sbuf *sb);
ssize_t sbuf_len(struct sbuf *sb);
int sbuf_done(const struct sbuf *sb);

/*
 * A section is a part of the text whose length is counted. Sections may contain sections. The end
 * takes the *old_lenp of its start. The start of an outermost section may have NULL, and its end
 * takes -1. With a pad above 1, the end appends the byte c until the length is a multiple of pad.
 * Returns the length in bytes, or -1 after an error.
 */
void sbuf_start_section(struct sbuf *sb, ssize_t *old_lenp);
ssize_t sbuf_end_section(struct sbuf *sb, ssize_t old_len, size_t pad, int c);

/*
 * Appends the bytes at ptr as lines of hexadecimal digits and characters. Each line begins with
 * hdr, unless that is NULL. flags: HD_.
 */
void sbuf_hexdump(struct sbuf *sb, const void *ptr, int length, const char *hdr, int flags);

/*
 * Drains. The first only counts, and the second writes to standard output. arg is a size_t to which
 * the number of bytes is added; for the second it may be NULL.
 */
int sbuf_count_drain(void *arg, const char *data, int len);
int sbuf_printf_drain(void *arg, const char *data, int len);

/* Writes a finished text to standard output. */
void sbuf_putbuf(struct sbuf *sb);

#ifdef __cplusplus
}
#endif

#endif /* _SYS_SBUF_H_ */
