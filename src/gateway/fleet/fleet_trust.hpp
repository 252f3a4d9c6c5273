#pragma once

#include "base/task/blocking_pool.hpp"
#include "base/task/task.hpp"
#include "base/task/waiter.hpp"
#include "fleet/change_table.hpp"
#include "fleet/messages.hpp"
#include "net/loop/event_loop.hpp"
#include "trust/pairing_codes.hpp"
#include "trust/tokens.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::gateway {

/// What people grant and revoke, as this node of a fleet knows it. It looks at what has changed in
/// the database each second, and when another node hints at it; it hints itself, and repeats who
/// was revoked for those who do not reach the database; and it stops believing tokens when it is
/// cut off from both for too long. On the first event loop, but for what says otherwise.
/// Source: docs/protocols/fleet.md, section 7.
class FleetTrust {
public:
    struct Uses {
        trust::Tokens& tokens;
        trust::PairingCodes& codes;
        fleet::ChangeTable& changes;
        net::EventLoop& loop;
        BlockingPool& pool;
        Milliseconds stale;  ///< cut off for longer than this
        std::function<void(const fleet::Hint&)> say;
        std::function<bool()> hears_others;
    };
    /// Whenever `what` has changed, and at first, `refresh` reads what the database has of it, on
    /// a pool thread.
    struct Watched {
        std::string_view what;  ///< lives for ever
        std::function<Result<void>()> refresh;
    };
    /// `others`: besides tokens, sessions of keys and pairing codes.
    FleetTrust(Uses uses, std::vector<Watched> others);

    /// Until it is cancelled.
    Task<void> run();
    void on_hint(std::string_view body);
    /// Something was changed here. Any thread, only posts.
    void changed_here();

private:
    using Numbers = fleet::ChangeTable::Numbers;

    void revoked(const std::string& credential);
    void wake();
    void say_hint();
    void judge(bool has_looked);
    Result<Numbers> look(const Numbers& seen) const;

    const Uses uses_;
    std::vector<Watched> watched_;
    Waiter pause_;
    SteadyTime known_at_;  ///< when what is known was last what is true
    Numbers seen_;
    bool failing_ = false;
    std::atomic<bool> has_changed_{false};
    std::mutex mutex_;
    std::deque<std::pair<std::string, SteadyTime>> revoked_;  ///< lately, under mutex_
};

}  // namespace crab::gateway
