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

bool has(const sbuf& sb, int flag) {
    return (sb.s_flags & flag) != 0;
}

bool is_finished(const sbuf& sb) {
    return has(sb, SBUF_FINISHED);
}

// Twice as much, or what is needed.
bool grow(sbuf& sb, ssize_t more) {
    if (!has(sb, SBUF_AUTOEXTEND)) return false;
    const ssize_t size = std::max({sb.s_size * 2, sb.s_len + more + 1, size_least});
    const bool ours = has(sb, SBUF_DYNAMIC);
    auto* const buf =
        static_cast<char*>(std::realloc(ours ? sb.s_buf : nullptr, static_cast<size_t>(size)));
    if (buf == nullptr) return false;
    if (!ours) std::memcpy(buf, sb.s_buf, static_cast<size_t>(sb.s_len));
    sb.s_buf = buf;
    sb.s_size = size;
    sb.s_flags |= SBUF_DYNAMIC;
    return true;
}

// Calls the drain once. Inside a section, a drain of whole records gets the text in front of the
// section. A drain that takes nothing would be called for ever, so that is an error.
bool drain(sbuf& sb) {
    const bool whole_records = has(sb, SBUF_DRAINTOEOR) && has(sb, SBUF_INSECTION);
    const ssize_t ready = whole_records ? sb.s_rec_off : sb.s_len;
    const int taken =
        ready > 0 ? sb.s_drain_func(sb.s_drain_arg, sb.s_buf, static_cast<int>(ready)) : 0;
    if (taken <= 0 || taken > ready) {
        sb.s_error = taken < 0 ? -taken : EDEADLK;
        return false;
    }
    sb.s_len -= taken;
    sb.s_rec_off -= taken;
    std::memmove(sb.s_buf, sb.s_buf + taken, static_cast<size_t>(sb.s_len));
    return true;
}

bool make_room(sbuf& sb, ssize_t more) {
    if (sb.s_drain_func != nullptr) return drain(sb);
    if (grow(sb, more)) return true;
    sb.s_error = ENOMEM;
    return false;
}

// Counts bytes that were written behind the text.
void add(sbuf& sb, ssize_t length) {
    sb.s_len += length;
    if (has(sb, SBUF_INSECTION)) sb.s_sect_len += length;
}

int append(sbuf& sb, const char* bytes, size_t length) {
    assert(!is_finished(sb));
    while (length > 0 && sb.s_error == 0) {
        if (room(sb) <= 0 && !make_room(sb, static_cast<ssize_t>(length))) break;
        const auto part = std::min(static_cast<size_t>(room(sb)), length);
        std::memcpy(sb.s_buf + sb.s_len, bytes, part);
        add(sb, static_cast<ssize_t>(part));
        bytes += part;
        length -= part;
    }
    return sb.s_error == 0 ? 0 : -1;
}

// Prints behind the text what fits. Returns the length of all of it, or -1.
int print(sbuf& sb, const char* format, va_list arguments) {
    va_list copy;
    va_copy(copy, arguments);
    const auto size = static_cast<size_t>(std::max<ssize_t>(room(sb) + 1, 0));
    const int length = std::vsnprintf(sb.s_buf + sb.s_len, size, format, copy);
    va_end(copy);
    return length;
}

// Appends a printed text of that length in pieces, through memory of its own.
int append_printed(sbuf& sb, int length, const char* format, va_list arguments) {
    const auto size = static_cast<size_t>(length) + 1;
    auto* const text = static_cast<char*>(std::malloc(size));
    if (text == nullptr) {
        sb.s_error = ENOMEM;
        return -1;
    }
    std::vsnprintf(text, size, format, arguments);
    const int result = append(sb, text, static_cast<size_t>(length));
    std::free(text);
    return result;
}

// One line of a dump: up to `columns` of the `length` bytes.
void dump_line(sbuf* sb, const unsigned char* bytes, int length, int columns, int flags) {
    const int delimiter = (flags & HD_DELIM_MASK) != 0 ? (flags & HD_DELIM_MASK) >> 8 : ' ';
    for (int i = 0; (flags & HD_OMIT_HEX) == 0 && i < columns; ++i) {
        if (i < length) {
            sbuf_printf(sb, "%c%02x", delimiter, bytes[i]);
        } else {
            sbuf_cat(sb, "   ");
        }
    }
    if ((flags & HD_OMIT_CHARS) == 0) {
        sbuf_cat(sb, "  |");
        for (int i = 0; i < columns; ++i) {
            const bool is_shown = i < length && bytes[i] >= ' ' && bytes[i] <= '~';
            sbuf_putc(sb, is_shown ? bytes[i] : i < length ? '.' : ' ');
        }
        sbuf_putc(sb, '|');
    }
    sbuf_putc(sb, '\n');
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
    if (has(*sb, SBUF_AUTOEXTEND)) sb->s_size = std::max<ssize_t>(length, size_least);
    const auto size = static_cast<size_t>(std::max<ssize_t>(sb->s_size, 1));
    sb->s_buf = static_cast<char*>(std::malloc(size));
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
    sb->s_len = 0;
    sb->s_rec_off = 0;
    sb->s_sect_len = 0;
}

int sbuf_setpos(sbuf* sb, ssize_t pos) {
    if (pos < 0 || pos > sb->s_len) return -1;
    sb->s_len = pos;
    return 0;
}

int sbuf_trim(sbuf* sb) {
    if (sb->s_error != 0) return -1;
    while (sb->s_len > 0 && std::isspace(static_cast<unsigned char>(sb->s_buf[sb->s_len - 1])))
        add(*sb, -1);
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

// Prints straight into the buffer, after draining or growing it. A text that is longer than a
// drained buffer goes through memory of its own.
int sbuf_vprintf(sbuf* sb, const char* format, va_list arguments) {
    if (sb->s_error != 0) return -1;
    int length = print(*sb, format, arguments);
    while (length > room(*sb)) {
        const bool drains = sb->s_drain_func != nullptr && sb->s_len > 0;
        const bool has_more = drains ? drain(*sb) : grow(*sb, length);
        if (sb->s_error != 0) return -1;
        if (!has_more) return append_printed(*sb, length, format, arguments);
        length = print(*sb, format, arguments);
    }
    if (length < 0) {
        sb->s_error = errno;
        return -1;
    }
    add(*sb, length);
    return 0;
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

// The drain gets the NUL, too, if the text includes it.
int sbuf_finish(sbuf* sb) {
    assert(!is_finished(*sb));
    if (sb->s_len < sb->s_size) sb->s_buf[sb->s_len] = '\0';
    if (sb->s_drain_func != nullptr) {
        if (has(*sb, SBUF_INCLUDENUL) && sb->s_len < sb->s_size) ++sb->s_len;
        while (sb->s_len > 0 && sb->s_error == 0) drain(*sb);
    }
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
    return sb->s_len + (has(*sb, SBUF_INCLUDENUL) ? 1 : 0);
}

int sbuf_done(const sbuf* sb) {
    return is_finished(*sb) ? 1 : 0;
}

// s_rec_off is the beginning of the outermost section, and s_sect_len the length of the innermost.
void sbuf_start_section(sbuf* sb, ssize_t* old_lenp) {
    assert(!is_finished(*sb));
    if (!has(*sb, SBUF_INSECTION)) {
        if (old_lenp != nullptr) *old_lenp = -1;
        sb->s_rec_off = sb->s_len;
        sb->s_flags |= SBUF_INSECTION;
        return;
    }
    assert(old_lenp != nullptr);
    *old_lenp = sb->s_sect_len;
    sb->s_sect_len = 0;
}

ssize_t sbuf_end_section(sbuf* sb, ssize_t old_len, size_t pad, int c) {
    assert(has(*sb, SBUF_INSECTION));
    if (pad > 1) {
        const size_t over = static_cast<size_t>(sb->s_sect_len) % pad;
        for (size_t left = over == 0 ? 0 : pad - over; left > 0 && sb->s_error == 0; --left)
            sbuf_putc(sb, c);
    }
    const ssize_t length = sb->s_sect_len;
    if (old_len == -1) {
        sb->s_rec_off = 0;
        sb->s_sect_len = 0;
        sb->s_flags &= ~SBUF_INSECTION;
    } else {
        sb->s_sect_len += old_len;
    }
    return sb->s_error == 0 ? length : -1;
}

void sbuf_hexdump(sbuf* sb, const void* ptr, int length, const char* hdr, int flags) {
    constexpr int usual = 16;
    const int columns = (flags & HD_COLUMN_MASK) != 0 ? flags & HD_COLUMN_MASK : usual;
    const auto* const bytes = static_cast<const unsigned char*>(ptr);
    for (int at = 0; at < length; at += columns) {
        if (hdr != nullptr) sbuf_cat(sb, hdr);
        if ((flags & HD_OMIT_COUNT) == 0) sbuf_printf(sb, "%04x  ", static_cast<unsigned>(at));
        dump_line(sb, bytes + at, length - at, columns, flags);
    }
}

int sbuf_count_drain(void* arg, const char*, int len) {
    *static_cast<size_t*>(arg) += static_cast<size_t>(len);
    return len;
}

int sbuf_printf_drain(void* arg, const char* data, int len) {
    const size_t written = std::fwrite(data, 1, static_cast<size_t>(len), stdout);
    if (arg != nullptr) *static_cast<size_t*>(arg) += written;
    return written > 0 ? static_cast<int>(written) : -errno;
}

void sbuf_putbuf(sbuf* sb) {
    std::fputs(sbuf_data(sb), stdout);
}
}
