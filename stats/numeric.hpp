// The ten types that a value may have, behind one interface: Integer<T> and QNumber<T>. These
// classes can be template arguments, which the C macros of <sys/qmath.h> cannot.
#pragma once
#include <limits>
#include <type_traits>

#include "stats/layout.hpp"

namespace blkscope::stats {

__extension__ typedef __int128 Wide;  // exact where a product of 64-bit numbers would not be

template <class T>
struct Integer {
    using Stored = T;
    T value;

    static Integer from(const void* data) { return {load<T>(data)}; }
    void to(void* data) const { store(data, value); }

    int add(Integer other) {  // wraps, as the original's sums do
        using U = std::make_unsigned_t<T>;
        value = static_cast<T>(static_cast<U>(static_cast<U>(value) + static_cast<U>(other.value)));
        return 0;
    }
    bool less(Integer other) const { return value < other.value; }
    double real() const { return static_cast<double>(value); }

    /// In units of 2^-fraction_bits, with the bits that are lost to the right rounded.
    Wide fixed(unsigned fraction_bits) const {
        return static_cast<Wide>(value) * (static_cast<Wide>(1) << fraction_bits);
    }
};

template <class T>
struct QNumber {
    using Stored = T;
    T value;

    static QNumber from(const void* data) { return {load<T>(data)}; }
    void to(void* data) const { store(data, value); }

    int add(QNumber other) { return Q_QADDQ(&value, other.value); }
    bool less(QNumber other) const { return Q_QLTQ(value, other.value); }
    double real() const { return Q_Q2D(value); }

    Wide fixed(unsigned fraction_bits) const {
        const unsigned have = Q_NFBITS(value);
        Wide magnitude = static_cast<Wide>(Q_GIFABS_(value));
        if (fraction_bits >= have) {
            magnitude <<= fraction_bits - have;
        } else {
            const Wide half = static_cast<Wide>(1) << (have - fraction_bits - 1);
            magnitude = (magnitude + half) >> (have - fraction_bits);
        }
        return Q_LTZ(value) ? -magnitude : magnitude;
    }
};

/// Calls f with a null pointer to the numeric class of a dtype that is_numeric().
template <class F>
auto with_numeric(int dtype, F f) {
    switch (dtype) {
        case VSD_DTYPE_INT_S32:
            return f(static_cast<Integer<int32_t>*>(nullptr));
        case VSD_DTYPE_INT_U32:
            return f(static_cast<Integer<uint32_t>*>(nullptr));
        case VSD_DTYPE_INT_S64:
            return f(static_cast<Integer<int64_t>*>(nullptr));
        case VSD_DTYPE_INT_U64:
            return f(static_cast<Integer<uint64_t>*>(nullptr));
        case VSD_DTYPE_INT_SLONG:
            return f(static_cast<Integer<long>*>(nullptr));
        case VSD_DTYPE_INT_ULONG:
            return f(static_cast<Integer<unsigned long>*>(nullptr));
        case VSD_DTYPE_Q_S32:
            return f(static_cast<QNumber<s32q_t>*>(nullptr));
        case VSD_DTYPE_Q_U32:
            return f(static_cast<QNumber<u32q_t>*>(nullptr));
        case VSD_DTYPE_Q_S64:
            return f(static_cast<QNumber<s64q_t>*>(nullptr));
        default:
            return f(static_cast<QNumber<u64q_t>*>(nullptr));
    }
}

/// The class behind the pointer that with_numeric() hands over.
template <class P>
using Pointed = std::remove_pointer_t<P>;

/// The least and the greatest value of a type; of a Q number with the fraction that `like` has.
/// Units: as Stored, a whole Q number with its control bits.
template <class N>
typename N::Stored limit(int which, typename N::Stored like) {
    using T = typename N::Stored;
    if constexpr (std::is_same_v<N, QNumber<T>>) {
        T raw = static_cast<T>(Q_GCRAW(like));
        Q_SIFVAL(raw, which == LIM_MIN ? Q_IFMINVAL(raw) : Q_IFMAXVAL(raw));
        return raw;
    } else {
        (void)like;
        return which == LIM_MIN ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    }
}

/// The limit that numeric_limits has: the initial value of an extreme, and the end of an open
/// bucket. Of a Q number the limit is not the true one. The original stores the true limit in units
/// of the last bit, without the shift past the control bits. So the limit is about an eighth of the
/// true maximum, or seven eighths of the true minimum.
/// Units:  as Stored, with the fraction that `like` has.
template <class N>
typename N::Stored initial_limit(int which, typename N::Stored like) {
    using T = typename N::Stored;
    if constexpr (std::is_same_v<N, QNumber<T>>) {
        T raw = which == LIM_MIN ? Q_IFMINVAL(like) : Q_IFMAXVAL(like);
        Q_SCVAL(raw, Q_GCVAL(like));
        return raw;
    } else {
        return limit<N>(which, like);
    }
}

}  // namespace blkscope::stats
