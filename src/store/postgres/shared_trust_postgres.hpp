#pragma once

#include "base/ordered_mutex.hpp"
#include "store/postgres/connection.hpp"
#include "trust/shared_trust.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace crab::store::postgres {

/// Pairing codes of a fleet, challenges that are used up, sessions of keys, and secrets. Codes end
/// by the clock of the server. The schema is there. Thread-safe.
class SharedTrustPostgres final : public trust::SharedTrust {
public:
    explicit SharedTrustPostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<void> open(NewCode code, std::size_t most) override;
    Result<void> end(std::string_view id) override;
    Result<void> vouch(Forms forms, std::string_view public_key) override;
    Result<trust::TakenCode> take(Forms forms, int wrong_tries) override;
    Result<void> settle(const trust::TakenCode& code,
                        const std::optional<std::string>& slug) override;
    Result<std::vector<trust::PairingProgress>> recent() override;

    Result<bool> use_up(std::string_view challenge) override;
    Result<void> add_session(const trust::StoredSession& session, std::size_t most) override;
    Result<std::vector<trust::StoredSession>> new_sessions() override;

    Result<std::optional<trust::StoredSecret>> find_secret(std::string_view name) override;
    Result<trust::StoredSecret> share_secret(std::string_view name,
                                             const trust::StoredSecret& secret) override;
    Result<void> replace_secret(std::string_view name, std::string_view before,
                                std::string_view sealed) override;

private:
    struct Found {
        bool any_open = false;
        std::optional<trust::TakenCode> code;
    };
    Result<void> lock_codes();
    Result<Found> find_open(Forms forms);
    Result<std::optional<trust::StoredSecret>> read_secret(std::string_view name);
    void forget_old();

    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
    std::int64_t sessions_read_ = 0;  ///< µs of Unix time, by the server's clock
    SteadyTime forget_at_{};
};

}  // namespace crab::store::postgres
