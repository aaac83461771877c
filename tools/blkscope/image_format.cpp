#include "tools/blkscope/image_format.hpp"

#include <algorithm>
#include <array>
#include <fstream>

namespace blkscope {
namespace {

using namespace std::string_view_literals;

struct Signature {
    size_t offset;
    std::string_view bytes;
    std::string_view format;
};

constexpr std::array signatures{
    Signature{0, "QFI\xfb\0\0\0\1"sv, "qcow"},
    Signature{0, "QFI\xfb"sv, "qcow2"},  // versions 2 and 3
    Signature{0, "QED\0"sv, "qed"},
    Signature{0, "KDMV"sv, "vmdk"},
    Signature{0, "COWD"sv, "vmdk"},
    Signature{0, "# Disk DescriptorFile"sv, "vmdk"},
    Signature{0, "vhdxfile"sv, "vhdx"},
    Signature{0, "conectix"sv, "vpc"},
    Signature{64, "\x7f\x10\xda\xbe"sv, "vdi"},
    Signature{0, "WithoutFreeSpace"sv, "parallels"},
    Signature{0, "WithouFreSpacExt"sv, "parallels"},
};

static_assert(std::ranges::all_of(signatures, [](const Signature& one) {
    return one.offset + one.bytes.size() <= image_head_bytes;
}));

}  // namespace

std::string_view image_format(std::span<const char> head) {
    const std::string_view text(head.data(), head.size());
    for (const Signature& one : signatures) {
        if (text.size() >= one.offset && text.substr(one.offset).starts_with(one.bytes)) {
            return one.format;
        }
    }
    return {};
}

std::string_view image_format_of(const std::string& path) {
    std::array<char, image_head_bytes> head{};
    std::ifstream in(path, std::ios::binary);
    in.read(head.data(), head.size());
    return image_format(std::span(head).first(static_cast<size_t>(in.gcount())));
}

}  // namespace blkscope
