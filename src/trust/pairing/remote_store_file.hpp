#pragma once

#include "base/ordered_mutex.hpp"
#include "crypto/key_folder.hpp"
#include "trust/pairing/remote_store.hpp"

#include <map>
#include <memory>
#include <string>

namespace crab::trust {

/// A remote's certificates and nonces in one private file, `remote_state.json`, which is replaced
/// as a whole at every change: each function happens in full or not at all, across a crash too.
/// Thread-safe. Blocks on the disk.
class RemoteStoreFile final : public RemoteStore {
public:
    /// Errors: those of KeyFolder; kInvalidArgs for a file that cannot be read as what this class
    /// writes.
    static Result<std::unique_ptr<RemoteStoreFile>> open(crypto::KeyFolder folder);

    Result<RemoteCertificates> load() override;
    Result<bool> add_nonce(std::string_view nonce, SystemTime now) override;
    Result<void> install(const InstalledCertificate& certificate) override;
    Result<void> complete(std::string_view pairing_id) override;
    Result<void> go_back(std::string_view pairing_id) override;

private:
    struct State {
        RemoteCertificates certificates;
        std::map<std::string, SystemTime, std::less<>> nonces;
        bool is_installed(std::string_view pairing_id) const {
            return certificates.installed && certificates.installed->pairing_id == pairing_id;
        }
    };

    RemoteStoreFile(crypto::KeyFolder folder, State state)
        : folder_(std::move(folder)), state_(std::move(state)) {}
    static Result<State> parse(std::string_view text);
    static std::string to_text(const State& state);
    /// Writes `next`; what is in memory changes only after that.
    Result<void> replace(State next);

    crypto::KeyFolder folder_;
    OrderedMutex<LockRank::kStore> mutex_;
    State state_;
};

}  // namespace crab::trust
