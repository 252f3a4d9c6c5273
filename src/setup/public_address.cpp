#include "setup/public_address.hpp"

#include "setup/tls_certificates.hpp"

#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

namespace crab::setup {
namespace {

std::optional<crypto::Certificate> read_certificate(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    auto certificate =
        crypto::Certificate::from_pem(std::string(std::istreambuf_iterator<char>(file), {}));
    return certificate ? std::optional(std::move(*certificate)) : std::nullopt;
}

/// As a URL has it.
std::string host_in_url(const std::string& host) {
    return host.find(':') == std::string::npos || host.starts_with('[') ? host
                                                                        : fmt::format("[{}]", host);
}

/// Whom others dial: a name of the configuration's or of the certificate, where every address of
/// the machine is listened on.
std::string host_of(const config::ListenOptions& listen,
                    const std::optional<crypto::Certificate>& leaf) {
    const std::string& bound = listen.public_address->host;
    // names are then those of a proxy before it
    if (listen.public_address->is_loopback()) return bound;
    if (!listen.host_names.empty()) return listen.host_names.front();
    if (bound != "0.0.0.0" && bound != "::") return bound;
    if (leaf && !leaf->alt_names().dns_names.empty()) return leaf->alt_names().dns_names.front();
    if (leaf && !leaf->alt_names().ip_addresses.empty())
        return leaf->alt_names().ip_addresses.front();
    return bound;
}

/// The authority that `crab tls init` has left beside the certificate, if it vouches for it.
std::string authority_of(const std::filesystem::path& certificate,
                         const crypto::Certificate& leaf) {
    const std::filesystem::path file =
        std::filesystem::absolute(certificate).parent_path() / TlsFiles::kCa;
    const auto authority = read_certificate(file);
    return authority && crypto::check_chain(leaf, *authority, std::chrono::system_clock::now())
               ? file.string()
               : std::string();
}

}  // namespace

std::string PublicAddress::url(std::string_view plain, std::string_view secure) const {
    return fmt::format("{}://{}{}", tls ? secure : plain, authority, prefix);
}

std::optional<PublicAddress> public_address(const config::ListenOptions& listen,
                                            std::uint16_t port) {
    if (!listen.public_address) return std::nullopt;
    const auto leaf = listen.tls ? read_certificate(listen.tls->cert) : std::nullopt;
    PublicAddress place{.authority = fmt::format("{}:{}", host_in_url(host_of(listen, leaf)), port),
                        .prefix = listen.path_prefix,
                        .tls = listen.tls.has_value(),
                        .loopback = listen.public_address->is_loopback(),
                        .ca_file = {}};
    if (leaf) place.ca_file = authority_of(listen.tls->cert, *leaf);
    return place;
}

std::string peer_url(const config::ListenOptions& listen) {
    if (!listen.peers || listen.peers->port == 0) return {};
    char name[256] = {};
    const bool any = listen.peers->host == "0.0.0.0" || listen.peers->host == "::";
    const std::string host =
        any && ::gethostname(name, sizeof name - 1) == 0 ? name : listen.peers->host;
    return fmt::format("https://{}:{}", host_in_url(host), listen.peers->port);
}

}  // namespace crab::setup
