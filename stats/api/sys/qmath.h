/*
 * Fixed-point numbers that encode the place of their point.
 *
 * Source compatible with <sys/qmath.h> of FreeBSD 13 and later: same types, same macros, same
 * representation. Written anew, after qmath(3).
 *
 * A Q number is a plain integer of which the bits mean
 *
 *     sign (signed types) | integer part | fraction | control (3 bits)
 *
 * The sign stands for itself: the rest is a magnitude, not a two's complement. The control bits c
 * encode the number of fraction bits: ((c & 3) + 1) * 2, or * 16 if c & 4. The number is 2, 4, 6,
 * 8, 16, 32, 48 or 64, and at most the room of the type. Values are truncated towards zero.
 *
 * Arithmetic macros take a pointer to the number that they change and return 0 or an errno value:
 *
 *     EOVERFLOW  the result does not fit; the number is as it was
 *     EINVAL     a division by zero, or a negative result of a product or quotient in an unsigned
 *                number; the number is as it was
 *     ERANGE     the operands' precisions differ and the number is as it was; or the result was too
 *                small for the precision, and the number is 0
 *
 * Differences from the original: quotients of numbers with fractions are exact to their last bit.
 * Operations that do not fit are refused in every case. Comparisons and copies of numbers of
 * different precision use the values. Macros evaluate their arguments more than once, like the
 * original.
 *
 * Threads: any; a macro changes the number that its pointer argument gives, and nothing else.
 * Source:  qmath(3).
 */
#ifndef _SYS_QMATH_H_
#define _SYS_QMATH_H_

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC system_header /* macros of GNU C, as the original's */

/* Signed (s) and unsigned (u) Q numbers by their width in bits. */
typedef int8_t s8q_t;    /* 8 bits: 2 to 4 of fraction */
typedef uint8_t u8q_t;   /* 2 to 5 of fraction */
typedef int16_t s16q_t;  /* 16 bits: 2 to 12 of fraction */
typedef uint16_t u16q_t; /* 2 to 13 of fraction */
typedef int32_t s32q_t;  /* 32 bits: 2 to 28 of fraction */
typedef uint32_t u32q_t; /* 2 to 29 of fraction */
typedef int64_t s64q_t;  /* 64 bits: 2 to 60 of fraction */
typedef uint64_t u64q_t; /* 2 to 61 of fraction */
typedef s64q_t smaxq_t;  /* the widest signed type */
typedef u64q_t umaxq_t;  /* the widest unsigned type */

__extension__ typedef unsigned __int128 q_wide_; /* a product of two magnitudes fits */

/* A Q number or an integer without its C type: what the macros hand to the functions. */
struct q_num_ {
    uint64_t raw;  /* all bits, without a sign extension */
    unsigned bits; /* of its type */
    int is_signed; /* 1 if its type has a sign bit */
};

/* An integer of any type. */
struct q_int_ {
    uint64_t mag; /* the absolute value */
    int neg;      /* 1 if the integer is below 0 */
};

#define Q_NCBITS ((uint32_t)3) /* control bits */

#define Q_BT(q) __typeof(q)       /* the C type of q */
#define Q_TC(q, v) ((Q_BT(q))(v)) /* v in the type of q */
#define Q_U64_(n) ((uint64_t)(n)) /* the bits of n, with its sign extended */

/* Of any numeric type: is it signed, and is the value negative? Q numbers too. */
#define Q_SIGNED(n) ((Q_BT(n))(-1) < (Q_BT(n))1) /* 1 if the type of n is signed */
#define Q_LTZ(n) (Q_SIGNED(n) && (Q_U64_(n) & Q_SRAWMASK(n)) != 0) /* 1 if n is negative */

/* Magnitudes. Q_QABS keeps the control bits. */
#define Q_MAG_(n) (Q_LTZ(n) ? (uint64_t)0 - Q_U64_(n) : Q_U64_(n)) /* of an integer */
#define Q_ABS(n) Q_TC(n, Q_MAG_(n))                                /* of an integer, in its type */
/* Of a Q number, which stays a Q number. */
#define Q_QABS(q) Q_TC(q, Q_SIGNED(q) ? Q_U64_(q) & ~Q_SRAWMASK(q) : Q_U64_(q))

/* Counts of bits. Shifts count from the least significant bit. */
#define Q_NTBITS(q) ((uint32_t)(sizeof(q) * 8)) /* bits of the type */
/* Bits of the fraction that the control bits encode: perhaps more than the type has room for. */
#define Q_NFCBITS(q) ((uint32_t)(((Q_U64_(q) & 3) + 1) << ((Q_U64_(q) & 4) ? 4 : 1)))
#define Q_MINNFBITS(q) ((uint32_t)2) /* the fewest fraction bits */
/* The most fraction bits: all but sign and control. */
#define Q_MAXNFBITS(q) ((uint32_t)(Q_NTBITS(q) - (uint32_t)Q_SIGNED(q) - Q_NCBITS))
/* Bits of the fraction. */
#define Q_NFBITS(q) (Q_NFCBITS(q) > Q_MAXNFBITS(q) ? Q_MAXNFBITS(q) : Q_NFCBITS(q))
#define Q_RPSHFT(q) (Q_NCBITS + Q_NFBITS(q)) /* the place of the integer part */
/* Bits of the integer part. */
#define Q_NIBITS(q) ((uint32_t)(Q_NTBITS(q) - (uint32_t)Q_SIGNED(q) - Q_RPSHFT(q)))
#define Q_SIGNSHFT(q) (Q_NTBITS(q) - 1) /* the place of the sign */
/* Fraction bits of a less those of b. */
#define Q_RELPREC(a, b) ((int)Q_NFBITS(a) - (int)Q_NFBITS(b))
#define Q_PRECEQ(a, b) (Q_NFBITS(a) == Q_NFBITS(b)) /* 1 if both have as many fraction bits */

/* Control bits for n bits of fraction, rounded up to what can be encoded. */
#define Q_CTRLINI(n) (((n) <= 8) ? (((n)-1) >> 1) : (4 | (((n)-1) >> 4)))

#define Q_CRAWMASK(q) ((uint64_t)7)                  /* the control bits */
#define Q_SRAWMASK(q) ((uint64_t)1 << Q_SIGNSHFT(q)) /* the sign */
#define Q_GCRAW(q) (Q_U64_(q) & Q_CRAWMASK(q))       /* gets the control bits */
#define Q_GCVAL(q) Q_GCRAW(q)                        /* the same: they are at the bottom */
/* Sets the control bits to c. */
#define Q_SCVAL(q, c) ((q) = Q_TC(q, (Q_U64_(q) & ~Q_CRAWMASK(q)) | Q_U64_(c)))
/* The sign bit of such a number. */
#define Q_SIGNBIT_(q, neg) ((Q_SIGNED(q) && (neg)) ? Q_SRAWMASK(q) : 0)
/* Sets the sign: neg is 0 or 1. */
#define Q_SSIGN(q, neg) ((q) = Q_TC(q, (Q_U64_(q) & ~Q_SIGNBIT_(q, 1)) | Q_SIGNBIT_(q, neg)))

/*
 * Masks, largest and smallest values, by part: all bits of the magnitude ("IF"), the integer part
 * ("I"), the fraction ("F"). RAW leaves the bits at their place. ABSVAL and VAL shift the bits
 * down. G gets a part, and S sets it.
 */

/* The largest magnitude, in units of the last bit. */
#define Q_IFMAX_(q) (((uint64_t)1 << Q_MAXNFBITS(q)) - 1)
/* The largest fraction, in units of the last bit. */
#define Q_FMAX_(q) (((uint64_t)1 << Q_NFBITS(q)) - 1)
#define Q_VAL_(q, abs) Q_TC(q, Q_LTZ(q) ? (uint64_t)0 - (abs) : (abs)) /* abs with the sign of q */

#define Q_IFRAWMASK(q) Q_TC(q, Q_IFMAX_(q) << Q_NCBITS) /* mask of the magnitude */
#define Q_IFMAXVAL(q) Q_TC(q, Q_IFMAX_(q)) /* the largest value, in units of the last bit */
#define Q_IFMINVAL(q) Q_TC(q, Q_SIGNED(q) ? (uint64_t)0 - Q_IFMAX_(q) : 0) /* the smallest value */
#define Q_IFVALFMASK(q) Q_TC(q, Q_FMAX_(q))  /* mask of the fraction in a shifted magnitude */
#define Q_IFVALIMASK(q) Q_TC(q, ~Q_FMAX_(q)) /* mask of the integer part in a shifted magnitude */
#define Q_GIFABS_(q) ((Q_U64_(q) >> Q_NCBITS) & Q_IFMAX_(q)) /* gets the magnitude as an integer */
#define Q_GIFRAW(q) Q_TC(q, Q_GIFABS_(q) << Q_NCBITS)        /* gets the magnitude at its place */
#define Q_GIFABSVAL(q) Q_TC(q, Q_GIFABS_(q)) /* gets the magnitude in the type of q */
#define Q_GIFVAL(q) Q_VAL_(q, Q_GIFABS_(q))  /* gets the value in units of the last bit */
/* Sets the value; v is in units of the last bit. */
#define Q_SIFVAL(q, v) ((q) = Q_TC(q, q_made_(Q_NUM_(q), Q_MAG_(v), Q_LTZ(v))))
/* Sets integer part and fraction; a negative one makes the number negative. */
#define Q_SIFVALS(q, iv, fv)                                                             \
    ((q) = Q_TC(q, q_made_(Q_NUM_(q), (Q_MAG_(iv) << Q_NFBITS(q)) | Q_MAG_(fv),          \
                           Q_LTZ(iv) || Q_LTZ(fv))))

/* Mask of the integer part. */
#define Q_IRAWMASK(q) Q_TC(q, (Q_IFMAX_(q) & ~Q_FMAX_(q)) << Q_NCBITS)
#define Q_IMAXVAL(q) Q_TC(q, Q_IFMAX_(q) >> Q_NFBITS(q)) /* the largest integer part */
/* The smallest integer part. */
#define Q_IMINVAL(q) Q_TC(q, Q_SIGNED(q) ? (uint64_t)0 - (Q_IFMAX_(q) >> Q_NFBITS(q)) : 0)
#define Q_GIABS_(q) (Q_GIFABS_(q) >> Q_NFBITS(q))      /* gets the integer part without a sign */
#define Q_GIRAW(q) Q_TC(q, Q_GIABS_(q) << Q_RPSHFT(q)) /* gets the integer part at its place */
/* Gets the integer part without a sign, in the type of q. */
#define Q_GIABSVAL(q) Q_TC(q, Q_GIABS_(q))
#define Q_GIVAL(q) Q_VAL_(q, Q_GIABS_(q)) /* gets the integer part */
/* Sets the integer part; the fraction stays. */
#define Q_SIVAL(q, iv) \
    ((q) = Q_TC(q, q_made_(Q_NUM_(q), (Q_MAG_(iv) << Q_NFBITS(q)) | Q_GFABS_(q), Q_LTZ(iv))))

#define Q_FRAWMASK(q) Q_TC(q, Q_FMAX_(q) << Q_NCBITS) /* mask of the fraction */
#define Q_FMAXVAL(q) Q_TC(q, Q_FMAX_(q))              /* the largest fraction */
#define Q_GFABS_(q) (Q_GIFABS_(q) & Q_FMAX_(q))       /* gets the fraction as an integer */
#define Q_GFRAW(q) Q_TC(q, Q_GFABS_(q) << Q_NCBITS)   /* gets the fraction at its place */
#define Q_GFABSVAL(q) Q_TC(q, Q_GFABS_(q))            /* gets the fraction without a sign */
#define Q_GFVAL(q) Q_VAL_(q, Q_GFABS_(q))             /* gets the fraction with the number's sign */
/* Sets the fraction; the integer part stays. */
#define Q_SFVAL(q, fv)                                                                    \
    ((q) = Q_TC(q, q_made_(Q_NUM_(q), (Q_GIABS_(q) << Q_NFBITS(q)) | Q_MAG_(fv), Q_LTZ(fv))))

/* An integer moved to where a number's integer part is among its IF bits, and back. */
#define Q_SHL(q, iv) Q_TC(q, Q_LTZ(iv) ? (uint64_t)0 - (Q_MAG_(iv) << Q_NFBITS(q)) : Q_U64_(iv) << Q_NFBITS(q))
#define Q_SHR(q, v) Q_TC(q, Q_LTZ(v) ? (uint64_t)0 - (Q_MAG_(v) >> Q_NFBITS(q)) : Q_U64_(v) >> Q_NFBITS(q))

/* From a macro's argument to what the functions below take. */
#define Q_NUM_(q) q_num_of_(Q_U64_(q), sizeof(q), Q_SIGNED(q)) /* a Q number */
#define Q_INT_(i) q_int_of_(Q_MAG_(i), Q_LTZ(i))               /* an integer */
#define Q_INOUT_(p) (p), sizeof(*(p)), Q_SIGNED(*(p))          /* a number to change */

/*
 * The functions behind the macros. Each takes a number to change as a pointer, the bytes of its
 * type, and whether the type is signed. Each is static, so every program has its own copy.
 */
static __inline__ struct q_num_ q_num_of_(uint64_t raw, size_t bytes, int is_signed) {
    struct q_num_ n;
    n.bits = (unsigned)bytes * 8;
    n.raw = bytes < 8 ? raw & (((uint64_t)1 << n.bits) - 1) : raw; /* undoes the sign extension */
    n.is_signed = is_signed;
    return n;
}

static __inline__ struct q_int_ q_int_of_(uint64_t mag, int neg) {
    struct q_int_ i;
    i.mag = mag;
    i.neg = neg;
    return i;
}

/* Reads a number of any type. The pointer may be misaligned, as into a packed structure. */
static __inline__ struct q_num_ q_load_(const void *p, size_t bytes, int is_signed) {
    uint8_t b8;
    uint16_t b16;
    uint32_t b32;
    uint64_t b64;
    switch (bytes) {
        case 1: return memcpy(&b8, p, 1), q_num_of_(b8, bytes, is_signed);
        case 2: return memcpy(&b16, p, 2), q_num_of_(b16, bytes, is_signed);
        case 4: return memcpy(&b32, p, 4), q_num_of_(b32, bytes, is_signed);
        default: return memcpy(&b64, p, 8), q_num_of_(b64, bytes, is_signed);
    }
}

/* Writes the lower `bytes` bytes of raw. The pointer may be misaligned. */
static __inline__ void q_store_(void *p, size_t bytes, uint64_t raw) {
    const uint8_t b8 = (uint8_t)raw;
    const uint16_t b16 = (uint16_t)raw;
    const uint32_t b32 = (uint32_t)raw;
    switch (bytes) {
        case 1: memcpy(p, &b8, 1); return;
        case 2: memcpy(p, &b16, 2); return;
        case 4: memcpy(p, &b32, 4); return;
        default: memcpy(p, &raw, 8); return;
    }
}

/* Bits of the magnitude: all but the sign and the control bits. */
static __inline__ unsigned q_room_(struct q_num_ n) { return n.bits - (unsigned)n.is_signed - 3; }

/* Bits of the fraction. A type with less room than encoded has a fraction only. */
static __inline__ unsigned q_nfbits_(struct q_num_ n) {
    const unsigned encoded = (unsigned)((n.raw & 3) + 1) << ((n.raw & 4) != 0 ? 4 : 1);
    return encoded < q_room_(n) ? encoded : q_room_(n);
}

/* The largest magnitude, the magnitude in units of the last bit, and the sign. */
static __inline__ uint64_t q_max_(struct q_num_ n) { return ((uint64_t)1 << q_room_(n)) - 1; }
static __inline__ uint64_t q_mag_(struct q_num_ n) { return (n.raw >> 3) & q_max_(n); }
static __inline__ int q_neg_(struct q_num_ n) {
    return n.is_signed && ((n.raw >> (n.bits - 1)) & 1) != 0;
}

/* The same number without its sign. */
static __inline__ struct q_num_ q_abs_(struct q_num_ n) {
    if (n.is_signed) n.raw &= ~((uint64_t)1 << (n.bits - 1));
    return n;
}

/* The bits of a number like n with another value. */
static __inline__ uint64_t q_made_(struct q_num_ n, uint64_t mag, int neg) {
    const uint64_t sign = n.is_signed && neg ? (uint64_t)1 << (n.bits - 1) : 0;
    return (n.raw & 7) | ((mag & q_max_(n)) << 3) | sign;
}

/* The end of every operation: a value of any width into *p, if it can be. */
static __inline__ int q_put_(void *p, struct q_num_ like, q_wide_ mag, int neg) {
    if (mag > q_max_(like) || (neg && mag != 0 && !like.is_signed)) return EOVERFLOW;
    q_store_(p, like.bits / 8, q_made_(like, (uint64_t)mag, neg && mag != 0));
    return 0;
}

/* The same for an operand that was not 0, of a result that should not be. */
static __inline__ int q_put_nonzero_(void *p, struct q_num_ like, q_wide_ mag, int neg) {
    const int error = q_put_(p, like, mag, neg);
    return error == 0 && mag == 0 ? ERANGE : error;
}

/* *p = a + b. Magnitudes of one sign are added; else the smaller is subtracted from the larger. */
static __inline__ int q_sum_(void *p, struct q_num_ a, q_wide_ b, int b_neg) {
    const q_wide_ mag = q_mag_(a);
    const int neg = q_neg_(a);
    if (neg == b_neg) return q_put_(p, a, mag + b, neg);
    return mag >= b ? q_put_(p, a, mag - b, neg) : q_put_(p, a, b - mag, b_neg);
}

/* *p += b, or *p -= b with `subtract`. ERANGE: the precisions differ. EOVERFLOW: no room. */
static __inline__ int q_addq_(void *p, size_t bytes, int is_signed, struct q_num_ b, int subtract) {
    const struct q_num_ a = q_load_(p, bytes, is_signed);
    if (q_nfbits_(a) != q_nfbits_(b)) return ERANGE;
    return q_sum_(p, a, q_mag_(b), q_neg_(b) != subtract);
}

/* The same with an integer. EOVERFLOW: no room. */
static __inline__ int q_addi_(void *p, size_t bytes, int is_signed, struct q_int_ i, int subtract) {
    const struct q_num_ a = q_load_(p, bytes, is_signed);
    return q_sum_(p, a, (q_wide_)i.mag << q_nfbits_(a), i.neg != subtract);
}

/* *p *= b. The exact product has twice the fraction bits; the lower half is cut off. EINVAL: an
 * unsigned number would become negative. */
static __inline__ int q_mulq_(void *p, size_t bytes, int is_signed, struct q_num_ b) {
    const struct q_num_ a = q_load_(p, bytes, is_signed);
    const q_wide_ product = (q_wide_)q_mag_(a) * q_mag_(b);
    if (q_nfbits_(a) != q_nfbits_(b)) return ERANGE;
    if (!is_signed && q_neg_(b)) return EINVAL;
    if (product == 0) return q_put_(p, a, 0, 0);
    return q_put_nonzero_(p, a, product >> q_nfbits_(a), q_neg_(a) != q_neg_(b));
}

/* *p *= i. The product is exact. EINVAL: as above. EOVERFLOW: no room. */
static __inline__ int q_muli_(void *p, size_t bytes, int is_signed, struct q_int_ i) {
    const struct q_num_ a = q_load_(p, bytes, is_signed);
    if (!is_signed && i.neg) return EINVAL;
    return q_put_(p, a, (q_wide_)q_mag_(a) * i.mag, q_neg_(a) != i.neg);
}

/* *p /= b, exact to the last bit and then cut off. EINVAL: b is 0, or as above. */
static __inline__ int q_divq_(void *p, size_t bytes, int is_signed, struct q_num_ b) {
    const struct q_num_ a = q_load_(p, bytes, is_signed);
    if (q_nfbits_(a) != q_nfbits_(b)) return ERANGE;
    if (q_mag_(b) == 0 || (!is_signed && q_neg_(b))) return EINVAL;
    if (q_mag_(a) == 0) return 0;
    return q_put_nonzero_(p, a, ((q_wide_)q_mag_(a) << q_nfbits_(a)) / q_mag_(b),
                          q_neg_(a) != q_neg_(b));
}

/* *p /= i. EINVAL: i is 0, or as above. ERANGE: the result became 0. */
static __inline__ int q_divi_(void *p, size_t bytes, int is_signed, struct q_int_ i) {
    const struct q_num_ a = q_load_(p, bytes, is_signed);
    if (i.mag == 0 || (!is_signed && i.neg)) return EINVAL;
    if (q_mag_(a) == 0) return 0;
    return q_put_nonzero_(p, a, q_mag_(a) / i.mag, q_neg_(a) != i.neg);
}

/* *p = in / id, with the fraction bits that *p has. EINVAL: id is 0, or the sign does not fit. */
static __inline__ int q_fraci_(void *p, size_t bytes, int is_signed, struct q_int_ in,
                               struct q_int_ id) {
    const struct q_num_ a = q_load_(p, bytes, is_signed);
    if (id.mag == 0) return EINVAL;
    if (in.mag == 0) return q_put_(p, a, 0, 0);
    if (!is_signed && in.neg != id.neg) return EINVAL;
    return q_put_nonzero_(p, a, ((q_wide_)in.mag << q_nfbits_(a)) / id.mag, in.neg != id.neg);
}

/* Can b be in a number like `to` without loss? Then its magnitude there is in *mag. */
static __inline__ int q_fit_(struct q_num_ to, struct q_num_ b, uint64_t *mag) {
    const unsigned have = q_nfbits_(b);
    const unsigned want = q_nfbits_(to);
    q_wide_ value = q_mag_(b);
    if (want >= have)
        value <<= want - have;
    else if ((value & (((q_wide_)1 << (have - want)) - 1)) != 0)
        return EOVERFLOW;
    else
        value >>= have - want;
    if (value > q_max_(to) || (q_neg_(b) && value != 0 && !to.is_signed)) return EOVERFLOW;
    *mag = (uint64_t)value;
    return 0;
}

/* 0 if b has room for the value of a, else EOVERFLOW. */
static __inline__ int q_canrepq_(struct q_num_ a, struct q_num_ b) {
    uint64_t mag;
    return q_fit_(b, a, &mag);
}

/* 0 if the integer part of q has room for i, else EOVERFLOW. */
static __inline__ int q_canrepi_(struct q_num_ q, struct q_int_ i) {
    const int fits = i.mag <= q_max_(q) >> q_nfbits_(q) && (!i.neg || q.is_signed);
    return fits ? 0 : EOVERFLOW;
}

/* *p = b. With `with_control` *p takes the precision of b first. EOVERFLOW: *p is unchanged. */
static __inline__ int q_copy_(void *p, size_t bytes, int is_signed, struct q_num_ b,
                              int with_control) {
    struct q_num_ to = q_load_(p, bytes, is_signed);
    uint64_t mag = 0;
    int error;
    if (with_control) to.raw = (to.raw & ~(uint64_t)7) | (b.raw & 7);
    error = q_fit_(to, b, &mag);
    return error != 0 ? error : q_put_(p, to, mag, q_neg_(b));
}

/* *p = i, in the precision of *p. EOVERFLOW: *p is unchanged. */
static __inline__ int q_copyi_(void *p, size_t bytes, int is_signed, struct q_int_ i) {
    const struct q_num_ to = q_load_(p, bytes, is_signed);
    const int error = q_canrepi_(to, i);
    return error != 0 ? error : q_put_(p, to, (q_wide_)i.mag << q_nfbits_(to), i.neg);
}

/* Below 0, 0 or above as a is less than, equal to or greater than b. */
static __inline__ int q_cmp_(struct q_num_ a, struct q_num_ b) {
    const q_wide_ x = (q_wide_)q_mag_(a) << (64 - q_nfbits_(a));
    const q_wide_ y = (q_wide_)q_mag_(b) << (64 - q_nfbits_(b));
    const int x_neg = q_neg_(a) && x != 0;
    const int y_neg = q_neg_(b) && y != 0;
    if (x_neg != y_neg) return x_neg ? -1 : 1;
    if (x == y) return 0;
    return (x < y) != x_neg ? -1 : 1;
}

/* The value as a floating-point number. A number of more than 53 significant bits is rounded. */
static __inline__ double q_double_(struct q_num_ q) {
    const double value = (double)q_mag_(q) / (double)((uint64_t)1 << q_nfbits_(q));
    return q_neg_(q) ? -value : value;
}

/* .digits in binary, cut off after nfbits. Eighteen digits are finer than any number's last bit. */
static __inline__ uint64_t q_binary_(const char *digits, unsigned nfbits) {
    uint64_t value = 0;
    uint64_t one = 1;
    uint64_t bits = 0;
    unsigned i;
    for (i = 0; i < 18 && digits[i] >= '0' && digits[i] <= '9'; ++i) {
        value = value * 10 + (uint64_t)(digits[i] - '0');
        one *= 10;
    }
    for (i = 0; i < nfbits; ++i) {
        value *= 2;
        bits <<= 1;
        if (value >= one) {
            bits |= 1;
            value -= one;
        }
    }
    return bits;
}

/* Renders an integer part; returns the end, or NULL if it does not fit in [s, end). */
static __inline__ char *q_integer_(uint64_t part, unsigned base, char *s, const char *end) {
    char digits[64]; /* backwards */
    int n = 0;
    do {
        digits[n++] = "0123456789abcdef"[part % base];
        part /= base;
    } while (part != 0);
    if (end - s <= n) return NULL; /* the NUL too */
    while (n > 0) *s++ = digits[--n];
    return s;
}

/* Renders q: see Q_TOSTR. Digits behind prec are cut off, not rounded. */
static __inline__ char *q_tostr_(struct q_num_ q, int prec, unsigned base, char *buf,
                                 ptrdiff_t size) {
    const unsigned nf = q_nfbits_(q);
    uint64_t fraction = q_mag_(q) & (((uint64_t)1 << nf) - 1);
    const char *const end = buf + (size > 0 ? size : 0);
    char *s = buf;
    if (size <= 0) return NULL;
    if (prec < 0 || prec > (int)nf) prec = (int)nf;
    *buf = '\0';
    if (end - s > 1 && q_neg_(q)) *s++ = '-';
    s = q_integer_(q_mag_(q) >> nf, base, s, end);
    if (s == NULL || (prec > 0 && end - s < prec + 2)) {
        *buf = '\0';
        return NULL;
    }
    if (prec > 0) *s++ = '.';
    for (; prec > 0; --prec) {
        const q_wide_ shifted = (q_wide_)fraction * base;
        *s++ = "0123456789abcdef"[(unsigned)(shifted >> nf)];
        fraction = (uint64_t)(shifted & (((q_wide_)1 << nf) - 1));
    }
    *s = '\0';
    return s;
}

/* The number of the highest bit that is set, from 1; 0 for 0. */
static __inline__ int q_fls_(uint64_t v) { return v == 0 ? 0 : 64 - __builtin_clzll(v); }

/* Bits that a digit of a base is worth; bases that are no power of two are rounded. */
#define Q_BITSPERBASEDOWN(base) (q_fls_(Q_U64_(base)) - 1)
#define Q_BITSPERBASEUP(base) \
    (q_fls_(Q_U64_(base)) - (__builtin_popcountll(Q_U64_(base)) == 1))
#define Q_BITSPERBASE(base, rnd) Q_BITSPERBASE##rnd(base) /* rnd is UP or DOWN */

/* Characters that a number's text takes at most, with sign, point and NUL. */
/* Of the integer part. */
#define Q_NIBITS2NCHARS(nbits, base) \
    (((nbits) + (uint32_t)Q_BITSPERBASEDOWN(base) - 1) / (uint32_t)Q_BITSPERBASEDOWN(base))
#define Q_NFBITS2NCHARS(nbits, base) (nbits) /* of the fraction: each bit is at most one digit */
#define Q_MAXSTRLEN(q, base)                                                             \
    (3 + Q_NIBITS2NCHARS(Q_NIBITS(q), base) + Q_NFBITS2NCHARS(Q_NFBITS(q), base) + \
     (uint32_t)Q_SIGNED(q))

/*
 * Renders q in base 2 to 16 with prec digits behind the point. A negative or too large prec gives
 * all digits. A prec of 0 gives no point. Returns a pointer to the NUL, or NULL, with s empty, if
 * slen bytes are too few.
 */
#define Q_TOSTR(q, prec, base, s, slen) \
    q_tostr_(Q_NUM_(q), (int)(prec), (unsigned)(base), (s), (ptrdiff_t)(slen))

/*
 * The decimal fraction .dfv with nfbits binary digits; dfv is the digits themselves: 05 is .05. A variable
 * does not compile ("invalid suffix"), because 1##dfv##1. is a number for digits only.
 */
#define Q_DFV2BFV(dfv, nfbits) \
    ((void)sizeof(1##dfv##1.), q_binary_("" #dfv, (unsigned)(nfbits)))

/* Makes *q the number iv.dfv with n bits of fraction or the next more. In two steps: iv may ask
 * about *q. */
#define Q_INI(q, iv, dfv, n) \
    ((void)(*(q) = Q_TC(*(q), Q_CTRLINI(n))), Q_SIFVALS(*(q), iv, Q_DFV2BFV(dfv, Q_NFBITS(*(q)))))

/* Conversions to floating point. */
#define Q_Q2F(q) ((float)q_double_(Q_NUM_(q))) /* rounded to a float */
#define Q_Q2D(q) (q_double_(Q_NUM_(q)))        /* rounded to a double: 53 bits */

/*
 * Compares a and b by value with two operators: intcmp for different values, and fraccmp for equal
 * ones. So Q_QCMPQ(a, b, <, <=) is 1 if a is at most b.
 */
#define Q_QCMPQ(a, b, intcmp, fraccmp)        \
    ((q_cmp_(Q_NUM_(a), Q_NUM_(b)) intcmp 0) || \
     ((q_cmp_(Q_NUM_(a), Q_NUM_(b)) == 0) && (0 fraccmp 0)))

/* Comparisons by value; the types and precisions of a and b may differ. */
#define Q_QLTQ(a, b) (q_cmp_(Q_NUM_(a), Q_NUM_(b)) < 0)  /* a < b */
#define Q_QLEQ(a, b) (q_cmp_(Q_NUM_(a), Q_NUM_(b)) <= 0) /* a <= b */
#define Q_QGTQ(a, b) (q_cmp_(Q_NUM_(a), Q_NUM_(b)) > 0)  /* a > b */
#define Q_QGEQ(a, b) (q_cmp_(Q_NUM_(a), Q_NUM_(b)) >= 0) /* a >= b */
#define Q_QEQ(a, b) (q_cmp_(Q_NUM_(a), Q_NUM_(b)) == 0)  /* a == b */
#define Q_QNEQ(a, b) (q_cmp_(Q_NUM_(a), Q_NUM_(b)) != 0) /* a != b */
#define Q_QMAXQ(a, b) (Q_QGTQ(a, b) ? (a) : (b))         /* the larger number */
#define Q_QMINQ(a, b) (Q_QLTQ(a, b) ? (a) : (b))         /* the smaller number */

/* 0 if b can have the value of a (q that of the integer i) without loss, else EOVERFLOW. */
#define Q_QCANREPQ(a, b) q_canrepq_(Q_NUM_(a), Q_NUM_(b))
#define Q_QCANREPI(q, i) q_canrepi_(Q_NUM_(q), Q_INT_(i))

/* 0 if *a and b can be added as they are. */
#define Q_NORMPREC(a, b) (Q_PRECEQ(*(a), b) ? 0 : ERANGE)

/* Copies: with the control bits; the value only; an integer. */
/* *l becomes r, with the precision of r */
#define Q_QCLONEQ(l, r) q_copy_(Q_INOUT_(l), Q_NUM_(r), 1)
/* *l gets the value of r; *l keeps its precision */
#define Q_QCPYVALQ(l, r) q_copy_(Q_INOUT_(l), Q_NUM_(r), 0)
/* *q gets the value of i; *q keeps its precision */
#define Q_QCPYVALI(q, i) q_copyi_(Q_INOUT_(q), Q_INT_(i))

/*
 * Arithmetic. *a and *q are Q numbers, b is a Q number of the same precision, and i is an integer.
 * Each returns 0 or an errno value, as the beginning of this header says.
 */
#define Q_QADDQ(a, b) q_addq_(Q_INOUT_(a), Q_NUM_(b), 0)                  /* *a += b */
#define Q_QSUBQ(a, b) q_addq_(Q_INOUT_(a), Q_NUM_(b), 1)                  /* *a -= b */
#define Q_QMULQ(a, b) q_mulq_(Q_INOUT_(a), Q_NUM_(b))                     /* *a *= b */
#define Q_QDIVQ(a, b) q_divq_(Q_INOUT_(a), Q_NUM_(b))                     /* *a /= b */
#define Q_QADDI(q, i) q_addi_(Q_INOUT_(q), Q_INT_(i), 0)                  /* *q += i */
#define Q_QSUBI(q, i) q_addi_(Q_INOUT_(q), Q_INT_(i), 1)                  /* *q -= i */
#define Q_QMULI(q, i) q_muli_(Q_INOUT_(q), Q_INT_(i))                     /* *q *= i */
#define Q_QDIVI(q, i) q_divi_(Q_INOUT_(q), Q_INT_(i))                     /* *q /= i */
#define Q_QFRACI(q, in, id) q_fraci_(Q_INOUT_(q), Q_INT_(in), Q_INT_(id)) /* *q = in / id */

/* The same sums with the operator as an argument. '+' adds the magnitude of b or i, and another
 * character subtracts it. */
#define Q_QADDSUBQ(a, b, eop) q_addq_(Q_INOUT_(a), q_abs_(Q_NUM_(b)), (eop) != '+')
#define Q_QADDSUBI(q, i, eop) q_addi_(Q_INOUT_(q), q_int_of_(Q_MAG_(i), 0), (eop) != '+')

/*
 * The arguments of printf that show all parts of q: printf(Q_DEBUG(q, "", "\n", 0)). With incfmt
 * the format itself follows.
 */
#define Q_DEBUGFMT(q, prefmt, postfmt)                                                             \
    prefmt "\"%s\"@%p\n\ttype=%c%uq_t, Qm.n=Q%u.%u, rpshft=%u, imin=0x%jx, imax=0x%jx\n"            \
           "\tqraw=0x%0*jx\n\timask=0x%0*jx, fmask=0x%0*jx, cmask=0x%0*jx, ifmask=0x%0*jx\n"        \
           "\tiraw=0x%0*jx, iabsval=0x%jx, ival=0x%jx\n\tfraw=0x%0*jx, fabsval=0x%jx, fval=0x%jx%s" \
    postfmt
/* As many bits as q has. */
#define Q_HEX_(q, v) ((uintmax_t)(Q_U64_(v) & (~(uint64_t)0 >> (64 - Q_NTBITS(q)))))
#define Q_PADHEX_(q, v) (int)(sizeof(q) * 2), Q_HEX_(q, v) /* width and value of a field */
#define Q_DEBUG(q, prefmt, postfmt, incfmt)                                                      \
    Q_DEBUGFMT(q, prefmt, postfmt), #q, (const void *)&(q), Q_SIGNED(q) ? 's' : 'u', Q_NTBITS(q), \
        Q_NIBITS(q), Q_NFBITS(q), Q_RPSHFT(q), Q_HEX_(q, Q_IMINVAL(q)), Q_HEX_(q, Q_IMAXVAL(q)),  \
        Q_PADHEX_(q, q), Q_PADHEX_(q, Q_IRAWMASK(q)), Q_PADHEX_(q, Q_FRAWMASK(q)),                \
        Q_PADHEX_(q, Q_CRAWMASK(q)), Q_PADHEX_(q, Q_IFRAWMASK(q)), Q_PADHEX_(q, Q_GIRAW(q)),      \
        Q_HEX_(q, Q_GIABSVAL(q)), Q_HEX_(q, Q_GIVAL(q)), Q_PADHEX_(q, Q_GFRAW(q)),                \
        Q_HEX_(q, Q_GFABSVAL(q)), Q_HEX_(q, Q_GFVAL(q)),                                          \
        (incfmt) ? "\nfmt:" Q_DEBUGFMT(q, "", "") : ""

#endif /* _SYS_QMATH_H_ */
