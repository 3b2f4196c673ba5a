// Connections of a node's leader with those of all other nodes: by TCP, so that a thread may sleep until
// something comes, that a leader's end is noticed at once, and that no thread but the program's calls MPI.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "nodes/process_place.hpp"

namespace pse::coschedule
{

class Link
{
  public:
    // What comes.
    class Receiver
    {
      public:
        virtual ~Receiver() = default;
        virtual void message(uint32_t node, uint32_t kind, const std::string &bytes) = 0;
        virtual void lost(uint32_t node) = 0; // Its leader has ended, or can't be reached any more.
    };

    Link(uint32_t node, uint32_t nodes); // Each throws std::system_error.
    ~Link();
    Link(const Link &) = delete;
    Link &operator=(const Link &) = delete;

    // Where others reach this one, in endpoint_bytes bytes; and reach all, whose endpoints stand in the order
    // of nodes.
    std::string endpoint() const;
    void connect(const std::string &endpoints);
    // Where the leader of a node is.
    static ProcessPlace place_of(const std::string &endpoint);
    // A file to which a byte is written to end a wait.
    int caller() const
    {
        return call_[1];
    }

    void post(uint32_t node, uint32_t kind, const std::string &bytes);
    // Bytes that wait for a connection that has no room.
    size_t queued(uint32_t node) const
    {
        return peers_[node].queued;
    }
    // Sleep until something comes or can go, at most `timeout` ms (-1: however long it takes).
    void wait(Receiver &receiver, int timeout);

  private:
    struct Header {
        uint32_t kind, reserved;
        uint64_t bytes;
    };
    struct Peer {
        int socket = -1;
        std::deque<std::string> out;
        size_t begun = 0, queued = 0; // Bytes of the first message that have gone; of all that wait.
        std::string in;
    };

    void accept_others(uint32_t count);
    bool reach(uint32_t node, const std::string &endpoint);
    void keep(uint32_t node, int socket);
    bool send_some(Peer &peer);
    bool receive_some(uint32_t node, Receiver &receiver);
    void lose(uint32_t node, Receiver &receiver);

    uint32_t node_;
    int listener_ = -1, call_[2] = {-1, -1};
    uint16_t port_ = 0;
    std::string token_;
    std::vector<Peer> peers_;
    std::vector<char> room_; // For what comes, so that no memory is cleared for it each time.
};

} // namespace pse::coschedule
