#pragma once

#include "net/loop/peer_address.hpp"

#include <unistd.h>

namespace crab::net {

/// Whether the user behind a local socket is the one who runs this process, or root. The socket's
/// mode keeps others out; this holds even if somebody widens it.
inline bool is_own_user(const PeerAddress& peer) {
    return peer.is_unix() && (peer.uid() == ::getuid() || peer.uid() == 0);
}

}  // namespace crab::net
