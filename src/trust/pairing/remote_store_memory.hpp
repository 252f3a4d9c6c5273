#pragma once

#include "trust/pairing/remote_store.hpp"

#include <map>

namespace crab::trust {

/// A remote's memory that ends with the process: for tests, and for `crab peers pair test`.
/// `fail_from_write` makes the n-th write from now and all later ones fail.
class RemoteStoreMemory : public RemoteStore {
public:
    RemoteCertificates certificates;
    std::map<std::string, SystemTime, std::less<>> nonces;
    std::optional<int> fail_from_write;

    Result<RemoteCertificates> load() override { return certificates; }

    Result<bool> add_nonce(std::string_view nonce, SystemTime now) override {
        if (write_fails()) return fail(kFailure);
        std::erase_if(nonces, [&](const auto& entry) { return entry.second + kNonceLife < now; });
        return nonces.emplace(nonce, now).second;
    }
    Result<void> install(const InstalledCertificate& certificate) override {
        if (write_fails()) return fail(kFailure);
        certificates.installed = certificate;
        return {};
    }
    Result<void> complete(std::string_view pairing_id) override {
        if (write_fails()) return fail(kFailure);
        if (!is_installed(pairing_id)) return {};
        certificates.paired = std::move(certificates.installed);
        certificates.installed.reset();
        return {};
    }
    Result<void> go_back(std::string_view pairing_id) override {
        if (write_fails()) return fail(kFailure);
        if (is_installed(pairing_id)) certificates.installed.reset();
        return {};
    }

private:
    inline static const Error kFailure{.code = ErrorCode::kUnavailable,
                                       .message = "the disk is full"};
    bool is_installed(std::string_view pairing_id) const {
        return certificates.installed && certificates.installed->pairing_id == pairing_id;
    }
    bool write_fails() { return fail_from_write && --*fail_from_write <= 0; }
};

}  // namespace crab::trust
