#include "nodes/link.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace pse::coschedule
{
namespace
{

constexpr size_t token_bytes = 16, most_addresses = 8;
constexpr int patience = 10; // Seconds in which another node must answer.
constexpr size_t read_bytes = 1 << 20;

struct Endpoint {
    uint8_t token[token_bytes];
    uint16_t port, addresses;
    uint32_t address[most_addresses]; // As they are in sockaddr_in; the machine's own one is the last.
    ProcessPlace leader;
};
static_assert(sizeof(Endpoint) <= PSE_BCS_ENDPOINT, "an endpoint has room");

// What a node says first to the one that it has reached.
struct Greeting {
    uint8_t token[token_bytes];
    uint32_t node;
};

[[noreturn]] void fail(const char *what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

std::vector<uint32_t> own_addresses()
{
    std::vector<uint32_t> found;
    ifaddrs *all = nullptr;
    if (getifaddrs(&all) != 0)
        fail("look for this machine's addresses");
    for (ifaddrs *one = all; one; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) &&
            !(one->ifa_flags & IFF_LOOPBACK) && found.size() + 1 < most_addresses)
            found.push_back(reinterpret_cast<sockaddr_in *>(one->ifa_addr)->sin_addr.s_addr);
    freeifaddrs(all);
    found.push_back(htonl(INADDR_LOOPBACK));
    return found;
}

bool wait_for(int socket, short events, int seconds)
{
    pollfd one{socket, events, 0};
    return poll(&one, 1, seconds * 1000) == 1;
}

// All bytes, within the patience for each piece.
bool receive_all(int socket, void *into, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t came = wait_for(socket, POLLIN, patience)
                           ? recv(socket, static_cast<uint8_t *>(into) + done, bytes - done, 0)
                           : 0;
        if (came <= 0)
            return false;
        done += static_cast<size_t>(came);
    }
    return true;
}

template <class Part> bool send_all(int socket, const Part &part)
{
    return send(socket, &part, sizeof part, MSG_NOSIGNAL) == sizeof part;
}

int connect_to(uint32_t address, uint16_t port)
{
    int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = port;
    to.sin_addr.s_addr = address;
    int error = ::connect(one, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0 ? 0 : errno;
    socklen_t length = sizeof error;
    if (error == EINPROGRESS && wait_for(one, POLLOUT, patience))
        getsockopt(one, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0)
        return one;
    close(one);
    errno = error;
    return -1;
}

void set_option(int socket, int level, int option, int value)
{
    setsockopt(socket, level, option, &value, sizeof value);
}

} // namespace

Link::Link(uint32_t node, uint32_t nodes)
    : node_(node), token_(token_bytes, '\0'), peers_(nodes), room_(read_bytes)
{
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof here;
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr *>(&here), sizeof here) != 0 ||
        listen(listener_, SOMAXCONN) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr *>(&here), &length) != 0 ||
        pipe2(call_, O_CLOEXEC | O_NONBLOCK) != 0 || getrandom(token_.data(), token_bytes, 0) < 0)
        fail("wait for other nodes");
    port_ = here.sin_port;
}

Link::~Link()
{
    for (Peer &peer : peers_)
        if (peer.socket >= 0)
            close(peer.socket);
    for (int file : {listener_, call_[0], call_[1]})
        if (file >= 0)
            close(file);
}

std::string Link::endpoint() const
{
    Endpoint mine{};
    std::vector<uint32_t> addresses = own_addresses();
    std::copy(token_.begin(), token_.end(), mine.token);
    std::copy(addresses.begin(), addresses.end(), mine.address);
    mine.port = port_;
    mine.leader = own_place();
    mine.addresses = static_cast<uint16_t>(addresses.size());
    std::string text(PSE_BCS_ENDPOINT, '\0');
    std::memcpy(text.data(), &mine, sizeof mine);
    return text;
}

// A node reaches those before it, and is reached by those behind it.
void Link::connect(const std::string &endpoints)
{
    for (uint32_t node = 0; node < node_; node++)
        if (!reach(node, endpoints.substr(size_t{node} * PSE_BCS_ENDPOINT, PSE_BCS_ENDPOINT)))
            fail(("reach node " + std::to_string(node) + " from node " + std::to_string(node_)).c_str());
    accept_others(static_cast<uint32_t>(peers_.size()) - node_ - 1);
    close(listener_);
    listener_ = -1;
}

ProcessPlace Link::place_of(const std::string &endpoint)
{
    Endpoint there;
    std::memcpy(&there, endpoint.data(), sizeof there);
    return there.leader;
}

bool Link::reach(uint32_t node, const std::string &endpoint)
{
    Endpoint there;
    std::memcpy(&there, endpoint.data(), sizeof there);
    Greeting greeting{{}, node_};
    std::copy(std::begin(there.token), std::end(there.token), greeting.token);
    for (uint16_t one = 0; one < there.addresses; one++) {
        int socket = connect_to(there.address[one], there.port);
        uint32_t answer = 0; // Who has the same port on another machine doesn't know it.
        if (socket >= 0 && send_all(socket, greeting) && receive_all(socket, &answer, sizeof answer) &&
            answer == node) {
            keep(node, socket);
            return true;
        }
        if (socket >= 0)
            close(socket);
    }
    return false;
}

void Link::accept_others(uint32_t count)
{
    while (count) {
        if (!wait_for(listener_, POLLIN, patience)) {
            errno = ETIMEDOUT;
            fail("wait for other nodes");
        }
        int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        Greeting greeting;
        bool known = socket >= 0 && receive_all(socket, &greeting, sizeof greeting) &&
                     std::equal(token_.begin(), token_.end(), reinterpret_cast<char *>(greeting.token)) &&
                     greeting.node > node_ && greeting.node < peers_.size() && send_all(socket, node_);
        if (known) {
            keep(greeting.node, socket);
            count--;
        } else if (socket >= 0) {
            close(socket);
        }
    }
}

// A machine that is gone is noticed although it says nothing.
void Link::keep(uint32_t node, int socket)
{
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, patience / 2);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, patience / 2);
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, patience * 1000);
    peers_[node].socket = socket;
}

void Link::post(uint32_t node, uint32_t kind, const std::string &bytes)
{
    Peer &peer = peers_[node];
    if (peer.socket < 0)
        return;
    Header header{kind, 0, bytes.size()};
    std::string message(reinterpret_cast<const char *>(&header), sizeof header);
    message += bytes;
    peer.queued += message.size();
    peer.out.push_back(std::move(message));
    send_some(peer); // That the connection is lost is seen where it is read.
}

bool Link::send_some(Peer &peer)
{
    while (!peer.out.empty()) {
        const std::string &first = peer.out.front();
        ssize_t gone = send(peer.socket, first.data() + peer.begun, first.size() - peer.begun, MSG_NOSIGNAL);
        if (gone < 0)
            return errno == EAGAIN || errno == EINTR;
        peer.begun += static_cast<size_t>(gone);
        peer.queued -= static_cast<size_t>(gone);
        if (peer.begun == first.size()) {
            peer.out.pop_front();
            peer.begun = 0;
        }
    }
    return true;
}

bool Link::receive_some(uint32_t node, Receiver &receiver)
{
    std::string &in = peers_[node].in;
    ssize_t came = recv(peers_[node].socket, room_.data(), room_.size(), 0);
    bool again = came < 0 && (errno == EAGAIN || errno == EINTR);
    in.append(room_.data(), static_cast<size_t>(std::max<ssize_t>(came, 0)));
    size_t at = 0;
    for (Header header; in.size() - at >= sizeof header;) {
        std::memcpy(&header, in.data() + at, sizeof header);
        if (in.size() - at - sizeof header < header.bytes)
            break;
        receiver.message(node, header.kind, in.substr(at + sizeof header, header.bytes));
        at += sizeof header + header.bytes;
    }
    in.erase(0, at);
    return came > 0 || again;
}

void Link::lose(uint32_t node, Receiver &receiver)
{
    close(peers_[node].socket);
    peers_[node] = Peer{};
    receiver.lost(node);
}

void Link::wait(Receiver &receiver, int timeout)
{
    std::vector<pollfd> files{{call_[0], POLLIN, 0}};
    for (const Peer &peer : peers_)
        files.push_back({peer.socket, static_cast<short>(POLLIN | (peer.out.empty() ? 0 : POLLOUT)), 0});
    if (poll(files.data(), files.size(), timeout) <= 0)
        return;
    char calls[64];
    while (files[0].revents && read(call_[0], calls, sizeof calls) > 0)
        continue;
    for (uint32_t node = 0; node < peers_.size(); node++) {
        short seen = files[node + 1].revents;
        bool fine = !(seen & POLLOUT) || send_some(peers_[node]);
        if (seen & ~POLLOUT)
            fine &= receive_some(node, receiver);
        if (!fine)
            lose(node, receiver);
    }
}

} // namespace pse::coschedule
