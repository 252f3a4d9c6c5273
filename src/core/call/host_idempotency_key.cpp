#include "core/call/host_idempotency_key.hpp"

#include "crypto/digest.hpp"

#include <fmt/format.h>

namespace crab::core {
namespace {

std::string of(const Call& call, const Principal& principal, std::string_view kind,
               std::string_view text) {
    const std::string_view tenant = call.tenant.empty() ? "default" : call.tenant;
    // what the caller chose comes last: no text of it reads as another tenant, principal or kind
    return crypto::sha256_hex(fmt::format("{}\n{}\n{}\n{}", tenant, principal.id, kind, text))
        .substr(0, 32);
}

}  // namespace

std::string host_idempotency_key(const Call& call, const Principal& principal) {
    if (call.idempotency_key.empty()) return of(call, principal, "id", call.id);
    return of(call, principal, "key", call.idempotency_key);
}

}  // namespace crab::core
