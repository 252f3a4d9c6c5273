// Any PEM or DER: requests and certificates are read or refused, what was read is inside its
// bounds, and nothing that was not signed by an authority chains to it. A first byte of 0 or 1
// makes the rest the DER of a certificate or request.

#include "base/fuzz_check.hpp"
#include "base/test_clock.hpp"
#include "crypto/certificate_authority.hpp"
#include "crypto/certificate_request.hpp"
#include "crypto/pem.hpp"

namespace {

using namespace crab;
using namespace crab::crypto;

const SystemTime kNow = FakeClock().system_now();

const CertificateAuthority& authority() {
    static const CertificateAuthority made =
        CertificateAuthority::create("crab-pairing-ca-fuzz", kNow);
    return made;
}

void check(const Certificate& certificate) {
    require(certificate.fingerprint().size() == 71 && !certificate.serial_number().empty() &&
            certificate.serial_number().front() != '0');
    const auto again = Certificate::from_pem(certificate.to_pem());
    require(again && again->der() == certificate.der() &&
            again->alt_names() == certificate.alt_names());
    require(!check_chain(certificate, authority().certificate(), kNow));
}

void check(const CertificateRequest& request) {
    require(request.public_key.kind != KeyKind::kOther);
    const auto leaf = authority().issue({"memory", {}}, request.public_key, kNow);
    require(leaf && leaf->public_key() == request.public_key && leaf->common_name() == "memory");
}

void try_certificate(const Result<Certificate>& certificate) {
    if (certificate) check(*certificate);
}

void try_request(std::string_view pem) {
    if (const auto request = CertificateRequest::parse(pem)) check(*request);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 20 << 10;
    if (size == 0 || size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text[0] == 0) {
        try_certificate(Certificate::from_der(text.substr(1)));
    } else if (text[0] == 1) {
        try_request(encode_pem("CERTIFICATE REQUEST", text.substr(1)));
    } else {
        try_certificate(Certificate::from_pem(text));
        try_request(text);
    }
    return 0;
}
