#include "trust/request_authentication.hpp"

#include <fmt/format.h>

namespace crab::trust {
namespace {

bool is_bearer_scheme(std::string_view text) {
    constexpr std::string_view kBearer = "bearer ";
    if (text.size() < kBearer.size()) return false;
    for (std::size_t i = 0; i < kBearer.size(); ++i) {
        if ((text[i] | 0x20) != (kBearer[i] | 0x20)) return false;
    }
    return true;
}

}  // namespace

std::string_view bearer_of(std::string_view authorization) {
    if (!is_bearer_scheme(authorization)) return {};
    std::string_view token = authorization.substr(7);
    while (token.starts_with(' ')) token.remove_prefix(1);
    return token;
}

Result<Proven> RequestAuthentication::without_token(const RequestPeer& peer) const {
    if (!is_open_for(peer)) {
        return fail(ErrorCode::kUnauthenticated,
                    "no bearer token; pair the device or make a token with `crab devices pair`");
    }
    auto principal = std::make_shared<core::Principal>();
    principal->id = fmt::format("local/{}", peer.text);
    principal->tenant = TenantId(std::string(core::kDefaultTenant));
    principal->roles = {core::Role::kDevice, core::Role::kCaller};
    principal->proof = core::Proof::kOpenLoopback;
    return Proven{.principal = std::move(principal), .good_until = {}};
}

core::PrincipalRef local_operator(unsigned uid) {
    auto principal = std::make_shared<core::Principal>();
    principal->id = fmt::format("local/{}", uid);
    principal->roles = {core::Role::kOperator};
    principal->proof = core::Proof::kLocalSocket;
    return principal;
}

}  // namespace crab::trust
