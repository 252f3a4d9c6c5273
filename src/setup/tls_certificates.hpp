#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/alt_names.hpp"
#include "crypto/certificate.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace crab::setup {

/// The files that `crab tls init` keeps in its folder (mode 0700).
struct TlsFiles {
    static constexpr std::string_view kCa = "ca.pem", kCaKey = "ca.key", kCertificate = "cert.pem",
                                      kKey = "key.pem";
};

/// What is in the folder after make_tls_certificates().
struct TlsCertificates {
    crypto::Certificate authority;
    crypto::Certificate leaf;
    bool authority_is_new = false;
};

/// A certificate for `names` (host names and IP addresses), with a new key, from the authority in
/// `folder`. An authority that is there is used again, so that whoever trusts it need not do
/// anything; without one it is made. The authority is this folder's own and has nothing to do with
/// that of pairing: who trusts it with a name of this gateway gives no peer any right. Errors:
/// kInvalidArgs for no names or invalid ones; those of crypto::KeyFolder and
/// CertificateAuthority.
Result<TlsCertificates> make_tls_certificates(const std::filesystem::path& folder,
                                              const std::vector<std::string>& names,
                                              SystemTime now);

/// `names` as a certificate has them: IP addresses apart, host names in lower case, each once.
/// Errors: kInvalidArgs, naming the bad one.
Result<crypto::AltNames> alt_names_of(const std::vector<std::string>& names);

/// What this machine is called: its host name, that name with `.local`, `localhost`, and its
/// addresses but those of single links.
std::vector<std::string> names_of_this_machine();

/// Whether the certificate in the first file belongs to the key in the second and is valid now;
/// returns it. Errors: kInvalidArgs, kNotFound.
Result<crypto::Certificate> check_tls_files(const std::filesystem::path& certificate,
                                            const std::filesystem::path& key, SystemTime now);

}  // namespace crab::setup
