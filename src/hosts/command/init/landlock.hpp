#pragma once

#include "hosts/command/init/list.hpp"

#include <cstdint>

namespace crab::sandbox {

struct LandlockRules {
    /// Readable and executable; missing files are left out
    List<const char*> readable;
    List<const char*> writable;   ///< also writable; devices cannot be created there
    /// No TCP where the kernel can (ABI 4), but for connecting to `proxy_port`
    bool no_network = false;
    std::uint16_t proxy_port = 0;        ///< 0: none
};

/// Restricts this process and its children to the files in `orders`. Needs no_new_privs. False with
/// errno set when the kernel refuses; a kernel without Landlock refuses.
bool restrict_by_landlock(const LandlockRules& orders);

}  // namespace crab::sandbox
