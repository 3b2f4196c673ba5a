// Messages between nodes: objects one after the other, as they are in memory.
#pragma once

#include <cstring>
#include <string>

namespace pse::coschedule
{

template <class Part> void append(std::string &message, const Part &part)
{
    message.append(reinterpret_cast<const char *>(&part), sizeof part);
}

template <class Part> Part read(const std::string &message, size_t &at)
{
    Part part;
    std::memcpy(static_cast<void *>(&part), message.data() + at, sizeof part);
    at += sizeof part;
    return part;
}

template <class Part> std::string bytes_of(const Part &part)
{
    return {reinterpret_cast<const char *>(&part), sizeof part};
}

template <class Part> Part part_of(const std::string &message)
{
    size_t at = 0;
    return read<Part>(message, at);
}

} // namespace pse::coschedule
