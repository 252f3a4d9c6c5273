#pragma once

#include "crypto/key_folder.hpp"
#include "trust/secret_shelf.hpp"
#include "trust/shared_keys.hpp"

#include <functional>
#include <span>

namespace crab::trust {

/// The nodes of a fleet are one gateway to their peers: that of the node that came first.
struct SharedIdentity {
    const crypto::KeyFolder& folder;
    SecretShelf& shelf;
    std::span<const SharedKeys::Key> keys;  ///< of the fleet's file, not empty
    /// Makes those files of GatewayKeys that the folder does not have
    std::function<Result<void>()> make;

    /// Puts the fleet's identity into the folder; if the fleet has none, the folder's becomes that.
    /// Afterwards the first key seals it. Where no key of the file opens it, a folder that still
    /// has it does instead. Returns whether the folder had another identity. Errors: those of the
    /// folder, the shelf and `make`; kConflict when neither a key nor the folder has it.
    Result<bool> take() const;

private:
    Result<StoredSecret> share_own() const;
    Result<void> seal_own(const StoredSecret& stored) const;
};

}  // namespace crab::trust
