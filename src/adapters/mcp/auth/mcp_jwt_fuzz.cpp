// Any bytes as a token, as a key set, and as the metadata of servers: they are read or refused, no
// token has an algorithm without public key, and nothing that nobody signed verifies.

#include "adapters/mcp/auth/challenge.hpp"
#include "adapters/mcp/auth/jwk_set.hpp"
#include "adapters/mcp/auth/jwt.hpp"
#include "adapters/mcp/auth/server_metadata.hpp"
#include "base/base64url.hpp"
#include "base/fuzz_check.hpp"

namespace {

using namespace crab;
using namespace crab::mcp;

void check_token(std::string_view text) {
    const auto jwt = parse_jwt(text);
    if (!jwt) return;
    require(jwt->claims.is_object() && !jwt->signature.empty());
    require(looks_like_jwt(text) || !text.starts_with("ey"));
    require(text == jwt->signed_text + "." + to_base64url(jwt->signature), "one form of a token");
}

void check_keys(std::string_view text) {
    const auto keys = JwkSet::parse(text);
    if (!keys) return;
    require(keys->size() <= JwkSet::kMost);
    const Jwk* const key = keys->find("", crypto::JwsAlgorithm::kEs256);
    require(key == nullptr ||
            !key->key.verify(crypto::JwsAlgorithm::kEs256, text, std::string(64, '\x01')));
}

void check_metadata(std::string_view text) {
    const auto server = read_server_metadata(text, "https://issuer.example");
    require(!server || server->issuer == "https://issuer.example");
    const auto resource = read_resource_metadata(text, "https://server.example/mcp");
    require(!resource || !resource->authorization_servers.empty());
    (void)read_challenge(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 20 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_token(text);
    check_keys(text);
    check_metadata(text);
    return 0;
}
