// Client: all connections to a device with the same key, as their requests carry it.
//
// Units:     connections.
// Ownership: Clients (blockdev/accounting/clients.hpp) owns it; borrows its statistics. Each request
//            of the client borrows it until iodone.
// Threads:   a worker, with the device locked.
// Errors:    none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "blockdev/model/limits.hpp"
#include "blockdev/queue/waiting_line.hpp"

namespace blkscope {

class ClientStats;

struct Client {
    std::string key;
    std::string tls_name;          // as in its identity
    std::string name;              // of its own statistics, as client-1; empty if it has none
    ClientStats* stats = nullptr;  // its own, or those that it shares with other clients
    uint32_t number = 0;           // of its name; UINT32_MAX if it shares statistics
    uint32_t connections = 0;      // open ones
    WaitingLine line;              // its requests, if the device starts requests in fair order
    std::optional<model::Limits> limits;  // its own buckets
    uint64_t counted_ns = 0;              // of their exceeded time, in the statistics
};

}  // namespace blkscope
