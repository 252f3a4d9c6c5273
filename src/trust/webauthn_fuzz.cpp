// Any bytes as what an authenticator and its browser say: nothing of it is accepted without a
// signature, and what is read of a new credential lies inside what came.

#include "base/encoding.hpp"
#include "base/fuzz_check.hpp"
#include "trust/test_authenticator.hpp"
#include "trust/webauthn.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crab;
    using namespace crab::trust;
    static const test::Authenticator authenticator;
    static const WebauthnSite site = *webauthn_site_of("https://home.example");
    const std::string_view text(reinterpret_cast<const char*>(data), size);

    // half of the inputs get past the hash of the host name
    const std::string of_site = authenticator.data().substr(0, 32) + std::string(text);
    for (const std::string_view bytes : {text, std::string_view(of_site)}) {
        const auto read = read_authenticator_data(bytes, site.rp_id);
        if (read)
            require(read->credential_id.size() <= 1023 && bytes.contains(read->credential_id));
    }
    const auto challenge = read_client_data(text, Ceremony::kAssert, site);
    require(!challenge || !read_client_data(text, Ceremony::kRegister, site));

    const std::size_t middle = size / 2;
    Assertion forged{.credential_id = authenticator.credential_id,
                     .client_data = authenticator.client_data("webauthn.get", "a"),
                     .authenticator_data = authenticator.data(),
                     .signature = std::string(text)};
    const crypto::PublicKey& key = authenticator.key.public_key();
    require(!verify_assertion(forged, key, site));
    forged.client_data = text.substr(0, middle);
    forged.signature = text.substr(middle);
    require(!verify_assertion(forged, key, site));
    return 0;
}
