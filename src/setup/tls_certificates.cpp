#include "setup/tls_certificates.hpp"

#include "base/process/file.hpp"
#include "base/scope_exit.hpp"
#include "crypto/certificate_authority.hpp"
#include "crypto/key_folder.hpp"
#include "json/schema/format.hpp"
#include "net/tls/tls_context.hpp"

#include <algorithm>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::setup {
namespace {

using Access = crypto::KeyFolder::Access;

void add_once(std::vector<std::string>& list, std::string item) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(std::move(item));
}

struct Authority {
    crypto::CertificateAuthority authority;
    bool is_new;
};

Result<Authority> open_authority(const crypto::KeyFolder& folder, std::string_view machine,
                                 SystemTime now) {
    const auto key = folder.read(TlsFiles::kCaKey, Access::kPrivate);
    if (!key) return fail(key.error());
    const auto certificate = folder.read(TlsFiles::kCa, Access::kPublic);
    if (!certificate) return fail(certificate.error());
    if (*key && *certificate) {
        auto loaded = crypto::CertificateAuthority::load(Secret<std::string>(**key), **certificate);
        if (!loaded) return fail(std::move(loaded.error()));
        return Authority{std::move(*loaded), false};
    }
    if (*key || *certificate)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("of {} and {} one is missing: bring it back, or remove the other",
                                TlsFiles::kCa, TlsFiles::kCaKey));
    auto made = crypto::CertificateAuthority::create(fmt::format("crab TLS of {}", machine), now);
    const Secret<std::string> secret = made.key_pem();
    if (auto written = folder.write(TlsFiles::kCaKey, secret.reveal(), Access::kPrivate); !written)
        return fail(std::move(written.error()));
    if (auto written = folder.write(TlsFiles::kCa, made.certificate().to_pem(), Access::kPublic);
        !written)
        return fail(std::move(written.error()));
    return Authority{std::move(made), true};
}

}  // namespace

Result<crypto::AltNames> alt_names_of(const std::vector<std::string>& names) {
    crypto::AltNames all;
    for (const std::string& given : names) {
        std::string name = given;
        std::ranges::transform(name, name.begin(), [](unsigned char c) {
            return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        });
        if (json::formats::is_ipv4(name) || json::formats::is_ipv6(name)) {
            add_once(all.ip_addresses, std::move(name));
        } else if (json::formats::is_hostname(name)) {
            add_once(all.dns_names, std::move(name));
        } else {
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("`{}` is neither a host name nor an IP address", given));
        }
    }
    if (all.dns_names.empty() && all.ip_addresses.empty())
        return fail(ErrorCode::kInvalidArgs, "a certificate needs at least one name");
    return all;
}

std::vector<std::string> names_of_this_machine() {
    std::vector<std::string> names;
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) == 0 && json::formats::is_hostname(host) &&
        std::string_view(host) != "localhost") {
        const std::string name(host);
        // as multicast DNS knows it
        if (name.find('.') == std::string::npos) names.push_back(name + ".local");
        names.push_back(name);
    }
    names.push_back("localhost");
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return names;
    const ScopeExit free_list([&] { ::freeifaddrs(first); });
    for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
        char text[INET6_ADDRSTRLEN] = {};
        if (each->ifa_addr->sa_family == AF_INET) {
            ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr,
                        text, sizeof text);
        } else if (each->ifa_addr->sa_family == AF_INET6) {
            const in6_addr& address =
                reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
            if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;
            ::inet_ntop(AF_INET6, &address, text, sizeof text);
        }
        if (*text != 0) add_once(names, text);
    }
    return names;
}

Result<TlsCertificates> make_tls_certificates(const std::filesystem::path& folder_path,
                                              const std::vector<std::string>& names,
                                              SystemTime now) {
    auto alt_names = alt_names_of(names);
    if (!alt_names) return fail(std::move(alt_names.error()));
    const auto folder = crypto::KeyFolder::open(folder_path);
    if (!folder) return fail(folder.error());
    const std::string common_name = names.front().substr(0, 64);  // ub-common-name of RFC 5280
    auto opened = open_authority(*folder, common_name.substr(0, 40), now);
    if (!opened) return fail(std::move(opened.error()));
    const crypto::PrivateKey key = crypto::PrivateKey::generate_p256();
    auto leaf = opened->authority.issue(
        {.common_name = common_name, .names = std::move(*alt_names)}, key.public_key(), now);
    if (!leaf) return fail(std::move(leaf.error()));
    const Secret<std::string> secret = key.to_pem();
    if (auto written = folder->write(TlsFiles::kKey, secret.reveal(), Access::kPrivate); !written)
        return fail(std::move(written.error()));
    if (auto written = folder->write(TlsFiles::kCertificate, leaf->to_pem(), Access::kPublic);
        !written)
        return fail(std::move(written.error()));
    return TlsCertificates{.authority = opened->authority.certificate(),
                           .leaf = std::move(*leaf),
                           .authority_is_new = opened->is_new};
}

Result<crypto::Certificate> check_tls_files(const std::filesystem::path& certificate,
                                            const std::filesystem::path& key, SystemTime now) {
    const auto text = read_file(certificate);
    if (!text) return fail(text.error());
    constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
    const std::size_t end = text->find(kEnd);
    auto leaf = crypto::Certificate::from_pem(
        end == std::string::npos ? *text : text->substr(0, end + kEnd.size()));
    if (!leaf)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{}: {}", certificate.string(), leaf.error().message));
    if (!leaf->is_valid_at(now))
        return fail(ErrorCode::kInvalidArgs,
                    certificate.string() + " is not valid now; get a new one");
    net::TlsContext::Options options;
    options.certificate.file = certificate.string();
    options.key.file = key.string();
    if (const auto usable = net::TlsContext::make(std::move(options)); !usable)
        return fail(usable.error());
    return std::move(*leaf);
}

}  // namespace crab::setup
