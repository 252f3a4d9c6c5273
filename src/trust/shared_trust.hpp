#pragma once

#include "trust/code_shelf.hpp"
#include "trust/secret_shelf.hpp"
#include "trust/shared_credentials.hpp"

namespace crab::trust {

/// What the nodes of a fleet share of trust besides what each has a store for.
class SharedTrust : public CodeShelf, public SharedCredentials, public SecretShelf {};

}  // namespace crab::trust
