// A provider's bytes in a reader of kstat2s. The input is a sequence of replies. Each has a byte
// for its sort, two bytes of length, and a body. The sorts are a page of maps, the values that
// every map then gets, optional statistics, and a generation.
//
// After each, a program must be able to walk the tree. Every map is under its URI, and every name,
// string and array has its end.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kstat/reader/libkstat2/remote.hpp"
#include "kstat/reader/libkstat2/tree.hpp"
#include "kstat/wire/kstat2.hpp"
#include "require.hpp"

namespace {

using namespace blkscope::kstat2;
using namespace blkscope::kstat2::reader;

// Answers every question with the values that came last, as far as they may be an answer to it.
class LastValues : public Source {
  public:
    blkscope::Result<Values> read(const Listed& listed) override {
        Values answer = values;
        answer.kid = listed.map.kid;
        if (!fits(answer, listed.map)) return blkscope::os_error(EPROTO);
        return answer;
    }

    Values values;
};

size_t walk_value(const struct kstat2_nv& nv) {
    switch (nv.type) {
        case KSTAT2_NVVT_INT:
            return nv.kstat2_integer != 0 ? 1 : 0;
        case KSTAT2_NVVT_INTS: {
            size_t sum = 0;
            for (uint32_t i = 0; i < nv.kstat2_integers.length; ++i) {
                sum += nv.kstat2_integers.array[i] != 0 ? 1 : 0;
            }
            return sum;
        }
        case KSTAT2_NVVT_STR:
            return std::strlen(nv.kstat2_string);
        case KSTAT2_NVVT_STRS: {
            size_t sum = 0;
            for (uint32_t i = 0; i < nv.kstat2_strings.length; ++i) {
                sum += std::strlen(nv.kstat2_strings.array[i]);
            }
            return sum;
        }
        default:
            std::abort();
    }
}

// Everything that the header promises is there, and the sanitizers see it read.
size_t walk(Tree& tree, Node& node) {
    require(tree.find(node.uri()) == &node);
    size_t sum = std::strlen(node.uri().c_str());
    for (const Entry* entry : node.entries(KSTAT2_NVK_ALL)) {
        const auto& nv = *entry->nv();
        require(node.find(entry->name()) != nullptr && *nv.name != 0);
        if (nv.kind == KSTAT2_NVK_MAP) {
            sum += walk(tree, *node.child(entry->name()));
        } else {
            require(node.metadata(entry->name())->scale != 0);
            sum += walk_value(nv);
        }
    }
    return sum;
}

struct Reader {
    LastValues source;
    Tree tree;
    Listing listing;

    void take(uint8_t what, blkscope::kstat::wire::Bytes body);
    void take_page(blkscope::kstat::wire::Bytes body);
};

void Reader::take_page(blkscope::kstat::wire::Bytes body) {
    auto page = wire::decode_page(body, 2);
    if (!page) return;
    listing.clear();
    for (Map& map : page->maps) {
        require(map.kid > 2);
        std::string uri = "kstat:" + map.path;
        listing[uri] = std::make_shared<Listed>(Listed{&source, uri, std::move(map)});
    }
    tree.update(listing);
}

void Reader::take(uint8_t what, blkscope::kstat::wire::Bytes body) {
    switch (what % 4) {
        case 0:
            return take_page(body);
        case 1:
            if (auto values = wire::decode_values(body)) source.values = std::move(*values);
            return tree.update(listing);
        case 2:
            if (const auto optionals = wire::decode_optionals(body)) {
                for (const Optional& optional : *optionals) require(!optional.name.empty());
            }
            return;
        default:
            static_cast<void>(wire::decode_generation(body));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
    Reader reader;
    static volatile size_t sum = 0;
    for (size_t at = 0; size - at >= 3;) {
        const uint8_t what = input[at];
        const size_t length =
            std::min<size_t>(input[at + 1] + size_t{256} * input[at + 2], size - at - 3);
        // A copy of its own size, so that a byte too many is seen.
        const std::vector<std::byte> body = [&] {
            const auto* const begin = reinterpret_cast<const std::byte*>(input + at + 3);
            return std::vector<std::byte>(begin, begin + length);
        }();
        at += 3 + length;
        reader.take(what, body);
        sum = sum + walk(reader.tree, reader.tree.root());
    }
    return 0;
}
