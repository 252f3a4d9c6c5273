#pragma once

#include "base/task/blocking_pool.hpp"
#include "base/task/task.hpp"
#include "console/console_session.hpp"
#include "console/passkey_store.hpp"
#include "trust/challenges.hpp"
#include "trust/tokens.hpp"
#include "trust/webauthn.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::console {

/// The passkeys of the console's people (Web Authentication). The key of each is one of `Tokens`,
/// so that it acts for its owner, is listed and ends as all keys do; here is what is a passkey's
/// own. Thread-safe.
class Passkeys {
public:
    static constexpr std::size_t kMostOfOnePerson = 16;

    /// What it uses; all of it outlives it.
    struct Uses {
        const Clock& clock;
        trust::Tokens& tokens;
        std::shared_ptr<PasskeyStore> store;
        BlockingPool& pool;
        /// Records a change for the audit log; false: it is not recorded. Any thread.
        std::function<bool(std::string_view kind, const ConsoleSession& session)> record;
    };
    explicit Passkeys(Uses uses) : uses_(std::move(uses)), challenges_(uses_.clock) {}

    /// Forgets those whose key is no longer valid; blocks. Errors: those of the store.
    Result<void> load();
    /// The same for one person at all times, so that an authenticator keeps one passkey of a
    /// person; it tells nobody who that is.
    static std::string user_handle_of(std::string_view principal, std::string_view rp_id);

    /// What an authenticator is to sign, as a text; good once, for Challenges::kLifetime, and only
    /// in the session with that number, or for 0 where there is none.
    std::string challenge(std::uint64_t session);

    /// Whose passkey has signed a challenge, just now, in the session with that number. Where there
    /// is none, it has to say whose it is. Errors: kUnauthenticated; those of the store.
    Task<Result<trust::Proven>> prove(trust::Assertion assertion, trust::WebauthnSite site,
                                      std::uint64_t session);
    /// A further key for whoever is signed in: with its roles, and for as long as what it signed in
    /// with. Whether that was proven, the caller has seen to. Errors: kUnauthenticated,
    /// kInvalidArgs for what it brings; kForbidden for a device; kConflict for a known key, and for
    /// too many; those of the store.
    struct Addition {
        ConsoleSession session;
        trust::Registration made;
        trust::WebauthnSite site;
        std::string label;
    };
    Task<Result<StoredPasskey>> add(Addition addition);
    /// Those of the session's principal whose keys are good, the oldest first; an operator's are
    /// there for an operator's sessions alone, and so can be removed by these alone. Errors: those
    /// of the store.
    Task<Result<std::vector<StoredPasskey>>> list(ConsoleSession session);
    /// Ends the one with that key. Errors: kNotFound, also for one of somebody else; those of the
    /// store.
    Task<Result<void>> remove(ConsoleSession session, std::string key_id);

private:
    bool use_up(std::string_view challenge, std::uint64_t session);
    bool names_owner(const trust::Assertion& assertion, const StoredPasskey& passkey,
                     std::uint64_t session) const;
    /// As its key has it now; null when that was revoked or has ended.
    core::PrincipalRef owner_of(const StoredPasskey& passkey) const;
    Result<std::vector<StoredPasskey>> list_now(const ConsoleSession& session) const;
    Result<StoredPasskey> add_now(const Addition& addition,
                                  const trust::VerifiedRegistration& made);

    const Uses uses_;
    trust::Challenges challenges_;
};

}  // namespace crab::console
