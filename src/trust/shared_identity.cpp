#include "trust/shared_identity.hpp"

#include "crypto/digest.hpp"
#include "trust/pairing/pairing_keys.hpp"
#include "trust/sealed_secret.hpp"

#include <string_view>
#include <utility>

namespace crab::trust {
namespace {

constexpr std::string_view kName = "gateway";

}  // namespace

Result<StoredSecret> SharedIdentity::share_own() const {
    if (const auto made = make(); !made) return fail(made.error());
    const auto own = GatewayKeys::pack(folder);
    if (!own) return fail(own.error());
    return shelf.share_secret(kName, {.sealed = seal_secret(keys, kName, *own),
                                      .digest = crypto::sha256_hex(own->reveal())});
}

/// A fleet whose keys were all replaced at once keeps its identity if this node still has that.
Result<void> SharedIdentity::seal_own(const StoredSecret& stored) const {
    const auto own = GatewayKeys::pack(folder);
    if (!own && own.error().code != ErrorCode::kNotFound) return fail(own.error());
    if (!own || crypto::sha256_hex(own->reveal()) != stored.digest)
        return fail(ErrorCode::kConflict,
                    "fleet.key_file: the fleet's identity was sealed by a key that is not in it, "
                    "and this node does not have it in its state folder: add the former key as "
                    "another line, or first start a node that was in the fleet before; if neither "
                    "is left, see docs/operations/fleet.md");
    return shelf.replace_secret(kName, stored.sealed, seal_secret(keys, kName, *own));
}

Result<bool> SharedIdentity::take() const {
    auto stored = shelf.find_secret(kName);
    if (!stored) return fail(stored.error());
    if (!*stored) {
        auto shared = share_own();
        if (!shared) return fail(shared.error());
        *stored = std::move(*shared);
    }
    const std::string& sealed = (*stored)->sealed;
    const auto opened = open_secret(keys, kName, sealed);
    if (!opened) {
        if (const auto anew = seal_own(**stored); !anew) return fail(anew.error());
        return false;
    }
    auto replaced = GatewayKeys::unpack(folder, opened->secret);
    if (!replaced || opened->by_first) return replaced;
    const auto anew = shelf.replace_secret(kName, sealed, seal_secret(keys, kName, opened->secret));
    if (!anew) return fail(anew.error());
    return replaced;
}

}  // namespace crab::trust
