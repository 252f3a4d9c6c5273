#pragma once

#include "net/loop/peer_address.hpp"

#include <unistd.h>

namespace crab::net {

/// Whether the user behind a local socket is the one who runs this process, or root. Defence in
/// depth, in case the socket's mode is changed.
inline bool is_own_user(const PeerAddress& peer) {
    return peer.is_unix() && (peer.uid() == ::getuid() || peer.uid() == 0);
}

}  // namespace crab::net
