#pragma once

#include "trust/code_shelf.hpp"
#include "trust/shared_credentials.hpp"

namespace crab::trust {

/// What the nodes of a fleet share of trust that lasts for minutes or hours.
class SharedTrust : public CodeShelf, public SharedCredentials {};

}  // namespace crab::trust
