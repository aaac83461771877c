#include "driver/attach/nbd_netlink.hpp"

#include <linux/genetlink.h>
#include <linux/nbd-netlink.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/throw_errno.hpp"

namespace blkscope {
namespace {

constexpr size_t message_bytes_max = 8192;
constexpr size_t alignment = 4;

using Message = std::vector<std::byte>;

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

void append(Message& message, std::span<const std::byte> bytes) {
    message.insert(message.end(), bytes.begin(), bytes.end());
    message.resize((message.size() + alignment - 1) / alignment * alignment);
}

void append_attribute(Message& message, unsigned type, std::span<const std::byte> value) {
    const nlattr head{static_cast<uint16_t>(sizeof(nlattr) + value.size()),
                      static_cast<uint16_t>(type)};
    append(message, bytes_of(head));
    append(message, value);
}

Message request(uint16_t family, uint8_t command, uint8_t version) {
    Message message;
    nlmsghdr head{};
    head.nlmsg_type = family;
    head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    append(message, bytes_of(head));
    append(message, bytes_of(genlmsghdr{command, version, 0}));
    return message;
}

// Calls `visit` with the type and value of each attribute in `bytes`.
template <class Visit>
void for_each_attribute(std::span<const std::byte> bytes, Visit visit) {
    while (bytes.size() >= sizeof(nlattr)) {
        nlattr head;
        std::memcpy(&head, bytes.data(), sizeof head);
        if (head.nla_len < sizeof head || head.nla_len > bytes.size()) return;
        visit(head.nla_type & NLA_TYPE_MASK,
              bytes.subspan(sizeof head, head.nla_len - sizeof head));
        const size_t step = (head.nla_len + alignment - 1) / alignment * alignment;
        bytes = bytes.subspan(std::min(step, bytes.size()));
    }
}

template <class T>
T number(std::span<const std::byte> bytes) {
    T value{};
    std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
    return value;
}

}  // namespace

NbdNetlink::NbdNetlink() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC)) {
    if (!socket_.is_open()) throw_errno("netlink");
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
        throw_errno("netlink");
    }
    find_family();
}

Message NbdNetlink::receive() {
    Message message(message_bytes_max);
    const ssize_t bytes = ::recv(socket_.get(), message.data(), message.size(), 0);
    if (bytes < static_cast<ssize_t>(sizeof(nlmsghdr)))
        throw_errno("netlink", bytes < 0 ? errno : EPROTO);
    message.resize(static_cast<size_t>(bytes));
    return message;
}

// Finds the family's number and joins its multicast group, which announces dead connections.
void NbdNetlink::find_family() {
    Message message = request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
    append_attribute(message, CTRL_ATTR_FAMILY_NAME,
                     std::as_bytes(std::span(NBD_GENL_FAMILY_NAME)));
    auto* head = reinterpret_cast<nlmsghdr*>(message.data());
    head->nlmsg_len = static_cast<uint32_t>(message.size());
    if (::send(socket_.get(), message.data(), message.size(), 0) < 0) throw_errno("netlink");
    const Message reply = receive();
    if (number<nlmsghdr>(reply).nlmsg_type == NLMSG_ERROR)
        throw_errno("the kernel's nbd driver", ENOENT);
    uint32_t group = 0;
    for_each_attribute(std::span(reply).subspan(NLMSG_HDRLEN + GENL_HDRLEN),
                       [&](int type, auto value) {
                           if (type == CTRL_ATTR_FAMILY_ID) family_ = number<uint16_t>(value);
                           if (type != CTRL_ATTR_MCAST_GROUPS) return;
                           for_each_attribute(value, [&](int, auto entry) {
                               for_each_attribute(entry, [&](int kind, auto what) {
                                   if (kind == CTRL_ATTR_MCAST_GRP_ID)
                                       group = number<uint32_t>(what);
                               });
                           });
                       });
    receive();  // the acknowledgement
    if (::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) <
        0) {
        throw_errno("netlink");
    }
}

// Returns the errno of the kernel's answer.
int NbdNetlink::ask(Message message) {
    auto* head = reinterpret_cast<nlmsghdr*>(message.data());
    head->nlmsg_len = static_cast<uint32_t>(message.size());
    head->nlmsg_seq = ++sequence_;
    if (::send(socket_.get(), message.data(), message.size(), 0) < 0) throw_errno("netlink");
    for (;;) {
        const Message reply = receive();
        const auto answer = number<nlmsghdr>(reply);
        if (answer.nlmsg_type == family_) dead_connection_seen_ = true;
        if (answer.nlmsg_type != NLMSG_ERROR || answer.nlmsg_seq != sequence_) continue;
        return -number<int>(std::span(reply).subspan(NLMSG_HDRLEN));
    }
}

void NbdNetlink::set_dead_timeout(uint32_t index, std::chrono::seconds dead_timeout) {
    Message message = request(family_, NBD_CMD_RECONFIGURE, NBD_GENL_VERSION);
    append_attribute(message, NBD_ATTR_INDEX, bytes_of(index));
    append_attribute(message, NBD_ATTR_DEAD_CONN_TIMEOUT,
                     bytes_of(static_cast<uint64_t>(dead_timeout.count())));
    if (const int error = ask(message))
        throw_errno("set the dead connection timeout of an nbd device", error);
}

bool NbdNetlink::replace_connection(uint32_t index, int socket) {
    Message descriptor;
    append_attribute(descriptor, NBD_SOCK_FD, bytes_of(static_cast<uint32_t>(socket)));
    Message item;
    append_attribute(item, NBD_SOCK_ITEM | NLA_F_NESTED, descriptor);
    Message message = request(family_, NBD_CMD_RECONFIGURE, NBD_GENL_VERSION);
    append_attribute(message, NBD_ATTR_INDEX, bytes_of(index));
    append_attribute(message, NBD_ATTR_SOCKETS | NLA_F_NESTED, item);
    const int error = ask(message);
    if (error == ENOSPC) return false;
    if (error != 0) throw_errno("connect an nbd device again", error);
    return true;
}

bool NbdNetlink::wait_for_dead_connection(std::chrono::milliseconds limit) {
    if (std::exchange(dead_connection_seen_, false)) return true;
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(limit.count())) <= 0) return false;
    return number<nlmsghdr>(receive()).nlmsg_type == family_;
}

}  // namespace blkscope
