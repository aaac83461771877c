// libsbuf: the string buffers of <sys/sbuf.h>.
#include <sys/sbuf.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace blkscope::sbuffer {

namespace {

constexpr ssize_t size_least = 16;

ssize_t room(const sbuf& sb) {
    return sb.s_size - sb.s_len - 1;  // the NUL's place is kept
}

bool is_finished(const sbuf& sb) {
    return (sb.s_flags & SBUF_FINISHED) != 0;
}

// Twice as much, or what is needed.
bool grow(sbuf& sb, ssize_t more) {
    if ((sb.s_flags & SBUF_AUTOEXTEND) == 0) return false;
    const ssize_t size = std::max({sb.s_size * 2, sb.s_len + more + 1, size_least});
    const bool ours = (sb.s_flags & SBUF_DYNAMIC) != 0;
    auto* const buf =
        static_cast<char*>(std::realloc(ours ? sb.s_buf : nullptr, static_cast<size_t>(size)));
    if (buf == nullptr) return false;
    if (!ours) std::memcpy(buf, sb.s_buf, static_cast<size_t>(sb.s_len));
    sb.s_buf = buf;
    sb.s_size = size;
    sb.s_flags |= SBUF_DYNAMIC;
    return true;
}

// Hands all that is there to the drain. A drain that takes nothing would keep us for ever.
bool drain(sbuf& sb) {
    while (sb.s_len > 0 && sb.s_error == 0) {
        const int taken = sb.s_drain_func(sb.s_drain_arg, sb.s_buf, static_cast<int>(sb.s_len));
        if (taken <= 0 || taken > sb.s_len) {
            sb.s_error = taken < 0 ? -taken : EDEADLK;
            return false;
        }
        sb.s_len -= taken;
        std::memmove(sb.s_buf, sb.s_buf + taken, static_cast<size_t>(sb.s_len));
    }
    return sb.s_error == 0;
}

bool make_room(sbuf& sb, ssize_t more) {
    if (room(sb) >= more) return true;
    if (sb.s_drain_func != nullptr) return drain(sb) && room(sb) > 0;
    return grow(sb, more) || room(sb) > 0;
}

int append(sbuf& sb, const char* bytes, size_t length) {
    assert(!is_finished(sb));
    while (length > 0 && sb.s_error == 0) {
        if (!make_room(sb, static_cast<ssize_t>(length))) {
            if (sb.s_error == 0) sb.s_error = ENOMEM;
            break;
        }
        const auto part = std::min(static_cast<size_t>(room(sb)), length);
        std::memcpy(sb.s_buf + sb.s_len, bytes, part);
        sb.s_len += static_cast<ssize_t>(part);
        bytes += part;
        length -= part;
    }
    return sb.s_error == 0 ? 0 : -1;
}

int empty(sbuf& sb) {
    sb.s_len = 0;
    return 0;
}

}  // namespace

}  // namespace blkscope::sbuffer

using namespace blkscope::sbuffer;

extern "C" {

sbuf* sbuf_new(sbuf* sb, char* buf, int length, int flags) {
    int ours = 0;
    if (length < 0 || (flags & ~SBUF_USRFLAGMSK) != 0) return nullptr;
    if (sb == nullptr) {
        sb = static_cast<sbuf*>(std::malloc(sizeof *sb));
        if (sb == nullptr) return nullptr;
        ours = SBUF_DYNSTRUCT;
    }
    *sb = {buf, nullptr, nullptr, 0, length, 0, flags | ours, 0, 0};
    if (buf != nullptr) return sb;
    sb->s_size = std::max<ssize_t>(length, size_least);
    sb->s_buf = static_cast<char*>(std::malloc(static_cast<size_t>(sb->s_size)));
    sb->s_flags |= SBUF_DYNAMIC;
    if (sb->s_buf != nullptr) return sb;
    if (ours != 0) std::free(sb);
    return nullptr;
}

void sbuf_delete(sbuf* sb) {
    const int flags = sb->s_flags;
    if ((flags & SBUF_DYNAMIC) != 0) std::free(sb->s_buf);
    *sb = {};
    if ((flags & SBUF_DYNSTRUCT) != 0) std::free(sb);
}

int sbuf_get_flags(sbuf* sb) {
    return sb->s_flags & SBUF_USRFLAGMSK;
}

void sbuf_set_flags(sbuf* sb, int flags) {
    sb->s_flags |= flags & SBUF_USRFLAGMSK;
}

void sbuf_clear_flags(sbuf* sb, int flags) {
    sb->s_flags &= ~(flags & SBUF_USRFLAGMSK);
}

void sbuf_clear(sbuf* sb) {
    sb->s_flags &= ~SBUF_FINISHED;
    sb->s_error = 0;
    empty(*sb);
}

int sbuf_setpos(sbuf* sb, ssize_t pos) {
    if (pos < 0 || pos > sb->s_len) return -1;
    sb->s_len = pos;
    return 0;
}

int sbuf_trim(sbuf* sb) {
    if (sb->s_error != 0) return -1;
    while (sb->s_len > 0 && std::isspace(static_cast<unsigned char>(sb->s_buf[sb->s_len - 1])))
        --sb->s_len;
    return 0;
}

void sbuf_set_drain(sbuf* sb, sbuf_drain_func* drain_func, void* arg) {
    sb->s_drain_func = drain_func;
    sb->s_drain_arg = arg;
}

int sbuf_bcat(sbuf* sb, const void* bytes, size_t length) {
    return append(*sb, static_cast<const char*>(bytes), length);
}

int sbuf_bcpy(sbuf* sb, const void* bytes, size_t length) {
    sbuf_clear(sb);
    return sbuf_bcat(sb, bytes, length);
}

int sbuf_cat(sbuf* sb, const char* text) {
    return append(*sb, text, std::strlen(text));
}

int sbuf_cpy(sbuf* sb, const char* text) {
    sbuf_clear(sb);
    return sbuf_cat(sb, text);
}

int sbuf_putc(sbuf* sb, int c) {
    const auto byte = static_cast<char>(c);
    return append(*sb, &byte, 1);
}

int sbuf_nl_terminate(sbuf* sb) {
    if (sb->s_len > 0 && sb->s_buf[sb->s_len - 1] != '\n') return sbuf_putc(sb, '\n');
    return sb->s_error == 0 ? 0 : -1;
}

// Straight into the buffer when it fits, through memory of its own when not.
int sbuf_vprintf(sbuf* sb, const char* format, va_list arguments) {
    if (sb->s_error != 0) return -1;
    va_list again;
    va_copy(again, arguments);
    const ssize_t left = room(*sb) + 1;
    const int length = std::vsnprintf(
        sb->s_buf + sb->s_len, static_cast<size_t>(std::max<ssize_t>(left, 0)), format, arguments);
    int result = -1;
    if (length < 0) {
        sb->s_error = errno;
    } else if (length < left) {
        sb->s_len += length;
        result = 0;
    } else if (auto* const text =
                   static_cast<char*>(std::malloc(static_cast<size_t>(length) + 1))) {
        std::vsnprintf(text, static_cast<size_t>(length) + 1, format, again);
        result = append(*sb, text, static_cast<size_t>(length));
        std::free(text);
    } else {
        sb->s_error = ENOMEM;
    }
    va_end(again);
    return result;
}

int sbuf_printf(sbuf* sb, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int result = sbuf_vprintf(sb, format, arguments);
    va_end(arguments);
    return result;
}

int sbuf_error(const sbuf* sb) {
    return sb->s_error;
}

int sbuf_finish(sbuf* sb) {
    assert(!is_finished(*sb));
    if (sb->s_drain_func != nullptr && sb->s_error == 0) drain(*sb);
    if (sb->s_len < sb->s_size) sb->s_buf[sb->s_len] = '\0';
    sb->s_flags |= SBUF_FINISHED;
    if (sb->s_error == 0) return 0;
    errno = sb->s_error;
    return -1;
}

char* sbuf_data(sbuf* sb) {
    return sb->s_buf;
}

ssize_t sbuf_len(sbuf* sb) {
    if (sb->s_error != 0) return -1;
    const bool with_nul = is_finished(*sb) && (sb->s_flags & SBUF_INCLUDENUL) != 0;
    return sb->s_len + (with_nul ? 1 : 0);
}

int sbuf_done(const sbuf* sb) {
    return is_finished(*sb) ? 1 : 0;
}
}
