// Place: the name of an image in a Ceph cluster.
//
//     rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT][?conf=PATH&id=USER]
//
// Threads: any.
// Errors:  std::invalid_argument, which says what is wrong with the text.
#pragma once

#include <string>
#include <string_view>

namespace blkscope::rbd {

struct Place {
    std::string pool;
    std::string name_space = {};  // empty: the pool's own
    std::string image;
    std::string snapshot = {};  // empty: the image itself
    std::string conf = {};      // the path of a ceph.conf; empty: where librados looks
    std::string user = {};      // without "client."; empty: admin

    /// The specification without its parameters, for people.
    [[nodiscard]] std::string text() const;
    bool operator==(const Place&) const = default;
};

/// `spec` begins with "rbd:".
Place parse_place(std::string_view spec);

}  // namespace blkscope::rbd
