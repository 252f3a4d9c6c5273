#include "trust/pairing/pairing_keys.hpp"

#include "trust/pairing/peer_name.hpp"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace crab::trust {
namespace {

using crypto::KeyFolder;
using Access = KeyFolder::Access;
constexpr auto kBootstrapLife = std::chrono::days(3650);

struct PemPair {
    Secret<std::string> key;
    std::string certificate;
};

/// A private file, then its public half: both, or neither.
Result<std::optional<PemPair>> read_pair(const KeyFolder& folder, std::string_view key_file,
                                         std::string_view certificate_file) {
    auto key = folder.read(key_file, Access::kPrivate);
    if (!key) return fail(key.error());
    auto certificate = folder.read(certificate_file, Access::kPublic);
    if (!certificate) return fail(certificate.error());
    if (key->has_value() != certificate->has_value()) {
        return fail(ErrorCode::kConflict,
                    fmt::format("{} and {} belong together and one is missing; restore it, or "
                                "remove the other to start over",
                                key_file, certificate_file));
    }
    if (!*key) return std::optional<PemPair>();
    return PemPair{Secret(std::move(**key)), std::move(**certificate)};
}

Result<void> write_pair(const KeyFolder& folder, std::string_view key_file,
                        const Secret<std::string>& key, std::string_view certificate_file,
                        const crypto::Certificate& certificate) {
    if (auto written = folder.write(key_file, key.reveal(), Access::kPrivate); !written)
        return written;
    return folder.write(certificate_file, certificate.to_pem(), Access::kPublic);
}

Error in_file(std::string_view name, Error error) {
    error.message = fmt::format("{}: {}", name, error.message);
    return error;
}

constexpr std::string_view kGatewayFile = "gateway_identity.json";
constexpr std::string_view kCaKeyFile = "pairing_ca_key.pem";
constexpr std::string_view kCaFile = "pairing_ca_cert.pem";
constexpr std::pair<std::string_view, Access> kGatewayFiles[] = {
    {kGatewayFile, Access::kPrivate}, {kCaKeyFile, Access::kPrivate}, {kCaFile, Access::kPublic}};
constexpr std::string_view kRemoteFile = "remote_identity.json";
constexpr std::string_view kBootstrapKeyFile = "bootstrap_key.pem";
constexpr std::string_view kBootstrapFile = "bootstrap_cert.pem";

Result<crypto::CertificateAuthority> load_or_make_authority(const KeyFolder& folder,
                                                            const std::optional<PemPair>& files,
                                                            std::string_view gateway_id,
                                                            SystemTime now) {
    if (files) {
        auto authority = crypto::CertificateAuthority::load(files->key, files->certificate);
        if (!authority) return fail(in_file(kCaFile, authority.error()));
        return authority;
    }
    auto authority =
        crypto::CertificateAuthority::create(fmt::format("crab-pairing-ca-{}", gateway_id), now);
    if (auto written =
            write_pair(folder, kCaKeyFile, authority.key_pem(), kCaFile, authority.certificate());
        !written)
        return fail(written.error());
    return authority;
}

Result<KeyedCertificate> load_or_make_bootstrap(const KeyFolder& folder,
                                                std::string_view component_id, SystemTime now) {
    const auto files = read_pair(folder, kBootstrapKeyFile, kBootstrapFile);
    if (!files) return fail(files.error());
    if (*files) {
        auto key = crypto::PrivateKey::from_pem((*files)->key);
        if (!key) return fail(in_file(kBootstrapKeyFile, key.error()));
        auto certificate = crypto::Certificate::from_pem((*files)->certificate);
        if (!certificate) return fail(in_file(kBootstrapFile, certificate.error()));
        if (key->public_key() != certificate->public_key())
            return fail(ErrorCode::kConflict,
                        "the bootstrap key and certificate do not belong together");
        return KeyedCertificate{std::move(*key), std::move(*certificate)};
    }
    auto key = crypto::PrivateKey::generate_p256();
    auto certificate =
        crypto::make_self_signed(key, {std::string(component_id), {}}, now, kBootstrapLife);
    if (auto written =
            write_pair(folder, kBootstrapKeyFile, key.to_pem(), kBootstrapFile, certificate);
        !written)
        return fail(written.error());
    return KeyedCertificate{std::move(key), std::move(certificate)};
}

}  // namespace

Result<GatewayKeys> GatewayKeys::load_or_make(const KeyFolder& folder, std::string_view gateway_id,
                                              SystemTime now, crypto::RandomSource& random) {
    auto file = folder.read(kGatewayFile, Access::kPrivate);
    if (!file) return fail(file.error());
    const auto files = read_pair(folder, kCaKeyFile, kCaFile);
    if (!files) return fail(files.error());
    std::optional<GatewayIdentity> identity;
    if (*file) {
        auto parsed = GatewayIdentity::parse(Secret(std::move(**file)));
        if (!parsed) return fail(in_file(kGatewayFile, parsed.error()));
        identity = std::move(*parsed);
    } else {
        // A new key would lock out every remote that is configured with the old one.
        if (*files)
            return fail(ErrorCode::kConflict,
                        fmt::format("{} is missing next to {}; restore it, or "
                                    "remove the authority too to start over",
                                    kGatewayFile, kCaFile));
        if (!is_gateway_id(gateway_id))
            return fail(ErrorCode::kInvalidArgs,
                        "gateway id: 1-48 characters of letters, digits, `.`, `_` and `-`, the "
                        "first a letter or digit");
        identity = GatewayIdentity{std::string(gateway_id), crypto::Ed25519Key::generate(random)};
        if (auto written =
                folder.write(kGatewayFile, identity->to_text().reveal(), Access::kPrivate);
            !written)
            return fail(written.error());
    }
    auto authority = load_or_make_authority(folder, *files, identity->gateway_id, now);
    if (!authority) return fail(authority.error());
    return GatewayKeys{std::move(*identity), std::move(*authority)};
}

/// Each after its size, which none of them has a line for.
Result<Secret<std::string>> GatewayKeys::pack(const KeyFolder& folder) {
    std::string packed;
    for (const auto& [name, access] : kGatewayFiles) {
        const auto content = folder.read(name, access);
        if (!content) return fail(content.error());
        if (!*content) return fail(ErrorCode::kNotFound, fmt::format("{} is missing", name));
        packed += fmt::format("{}\n{}", (*content)->size(), **content);
    }
    return Secret(std::move(packed));
}

Result<bool> GatewayKeys::unpack(const KeyFolder& folder, const Secret<std::string>& packed) {
    std::string_view rest = packed.reveal();
    bool replaced = false;
    for (const auto& [name, access] : kGatewayFiles) {
        std::size_t size = 0;
        const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), size);
        const auto digits = static_cast<std::size_t>(read.ptr - rest.data());
        if (read.ec != std::errc() || rest.size() <= digits || rest.size() - digits - 1 < size)
            return fail(ErrorCode::kInvalidArgs, "the fleet's identity cannot be read");
        const std::string_view content = rest.substr(digits + 1, size);
        rest.remove_prefix(digits + 1 + size);
        const auto before = folder.read(name, access);
        if (!before) return fail(before.error());
        if (*before && **before == content) continue;
        if (*before) {
            auto kept = folder.write(fmt::format("{}.before_fleet", name), **before, access);
            if (!kept) return fail(kept.error());
            replaced = true;
        }
        if (auto written = folder.write(name, content, access); !written)
            return fail(written.error());
    }
    return replaced;
}

Result<KeyedCertificate> GatewayKeys::issue_own(crypto::AltNames names, SystemTime now) const {
    names.uris = {gateway_uri(identity.gateway_id)};
    auto key = crypto::PrivateKey::generate_p256();
    auto certificate =
        authority.issue({identity.gateway_id, std::move(names)}, key.public_key(), now);
    if (!certificate) return fail(certificate.error());
    return KeyedCertificate{std::move(key), std::move(*certificate)};
}

Result<RemoteKeys> RemoteKeys::load_or_make(const KeyFolder& folder, std::string_view component_id,
                                            SystemTime now, crypto::RandomSource& random) {
    if (!is_component_id(component_id))
        return fail(ErrorCode::kInvalidArgs,
                    "component id: 1-64 characters of letters, digits, `.`, `_` and `-`, the first "
                    "a letter or digit");
    auto file = folder.read(kRemoteFile, Access::kPrivate);
    if (!file) return fail(file.error());
    std::optional<RemoteIdentity> identity;
    if (*file) {
        auto parsed = RemoteIdentity::parse(Secret(std::move(**file)));
        if (!parsed) return fail(in_file(kRemoteFile, parsed.error()));
        identity = std::move(*parsed);
    } else {
        identity = RemoteIdentity{crypto::Ed25519Key::generate(random),
                                  crypto::X25519Key::generate(random)};
        if (auto written =
                folder.write(kRemoteFile, identity->to_text().reveal(), Access::kPrivate);
            !written)
            return fail(written.error());
    }
    auto bootstrap = load_or_make_bootstrap(folder, component_id, now);
    if (!bootstrap) return fail(bootstrap.error());
    return RemoteKeys{std::move(*identity), std::move(*bootstrap)};
}

}  // namespace crab::trust
