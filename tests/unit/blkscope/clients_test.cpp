// The table of clients.
#include "tools/blkscope/clients.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blkscope {
namespace {

ClientLine line(const std::string& device, const std::string& client, double actv) {
    ClientLine made{.device = device, .client = client, .connections = "1", .who = "fio"};
    made.figures.actv = actv;
    made.figures.reads = 10 * actv;
    return made;
}

TEST(ClientsTable, TheBusiestClientOfADeviceIsFirstAndSharesAreOfItsDevice) {
    EXPECT_EQ(clients_table({line("nbd10", "client-1", 5), line("nbd2", "client-1", 1),
                             line("nbd2", "client-2", 3)}),
              "device   client        conns       r/s       w/s   wsvc_t   asvc_t share  who\n"
              "nbd2     client-2          1      30.0       0.0    0.000    0.000   75%  fio\n"
              "nbd2     client-1          1      10.0       0.0    0.000    0.000   25%  fio\n"
              "nbd10    client-1          1      50.0       0.0    0.000    0.000  100%  fio\n");
}

TEST(ClientsTable, NamesOfAnyLengthAreOneColumn) {
    EXPECT_EQ(clients_table({line("nbd0@12345", "client-1", 1), line("nbd0@678", "client-1", 1)}),
              "device     client        conns       r/s       w/s   wsvc_t   asvc_t share  who\n"
              "nbd0@678   client-1          1      10.0       0.0    0.000    0.000  100%  fio\n"
              "nbd0@12345 client-1          1      10.0       0.0    0.000    0.000  100%  fio\n");
}

TEST(ClientsTable, IdleClientsHaveNoShare) {
    EXPECT_NE(clients_table({line("nbd0", "client-1", 0)}).find("    -  fio"), std::string::npos);
}

TEST(ClientsTable, AUnitIsTheLastServiceOrScopeOfACgroup) {
    EXPECT_EQ(unit_of("0::/system.slice/ssh.service\n"), "ssh.service");
    EXPECT_EQ(unit_of("0::/user.slice/user-0.slice/session-3.scope\n"), "session-3.scope");
    EXPECT_EQ(unit_of("0::/\n"), "");
    EXPECT_EQ(unit_of("0::/a\x1b[2J.service\n"), "a\\x1b[2J.service");
}

}  // namespace
}  // namespace blkscope
