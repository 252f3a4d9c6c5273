#pragma once

#include "base/task/task_group.hpp"
#include "crypto/random_source.hpp"
#include "net/http/http_client.hpp"
#include "net/http/name_lookups.hpp"
#include "net/tls/tls_context.hpp"
#include "push/sending/push_services.hpp"
#include "push/subscriptions.hpp"
#include "push/vapid.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace crab::push {

/// Sends messages to push services, each sealed for its browser. At most kMostSending are on their
/// way, kMostWaiting wait of each purpose, and one browser, or one device that is woken, gets
/// kBurst at once and then one in kEvery; what comes beyond is dropped and counted. What wakes a
/// device comes after what tells of questions, takes kMostWaking of the places, and one for each
/// device: a push service that never answers holds up nobody else. No redirect is followed, of an
/// answer only its status counts, and the address that is checked is the one that is dialled.
/// Source: RFC 8030. On one event loop, but for send() and counts().
class PushSender {
public:
    static constexpr std::size_t kMostSending = 4, kMostWaking = 2, kMostWaiting = 256;
    static constexpr double kBurst = 10;
    static constexpr Milliseconds kEvery{6'000}, kPatience{10'000};

    /// What it uses; all of it outlives it.
    struct Uses {
        net::EventLoop& loop;
        net::NameLookups& names;
        std::shared_ptr<net::TlsContext> tls;  ///< a client's, which checks chain and name
        const Vapid& vapid;
        /// The push service says that this subscription is no more. Must not block.
        std::function<void(std::string id)> gone;
    };
    struct Message {
        std::string plain;
        std::chrono::seconds keep_for{60};  ///< while the browser cannot be reached
        std::string topic{};  ///< takes the place of an earlier one with it; up to 32 of base64url
    };
    struct Counts {
        std::uint64_t sent = 0, gone = 0, failed = 0, dropped = 0;
    };

    PushSender(Uses uses, PushServices services);

    /// Any thread; never waits.
    void send(Subscription to, Message message);
    Counts counts() const;
    void set_services(PushServices services);
    /// Ends what is on its way.
    void stop(std::function<void()> done);

private:
    struct Waiting {
        Subscription to;
        Message message;
    };
    struct Allowance {
        double left = kBurst;
        SteadyTime filled;

        double left_at(SteadyTime now) const;
    };
    void take(Waiting waiting);
    bool is_allowed(const Subscription& to);
    /// The next that there is a place for; nothing: none.
    std::optional<Waiting> take_next();
    void begin_next();
    Task<void> send_one(Waiting waiting);
    Task<Result<int>> post(Waiting waiting);
    Task<Result<net::DialTarget>> find_server(net::HttpUrl url, Deadline deadline);

    const Uses uses_;
    PushServices services_;
    crypto::SystemRandom random_;
    std::deque<Waiting> questions_, wakings_;
    std::unordered_map<std::string, Allowance> allowances_;  ///< by endpoint, or device
    std::size_t sending_ = 0;
    std::unordered_set<std::string> waking_;  ///< devices that a message is on its way to
    bool stopped_ = false;
    std::atomic<std::uint64_t> sent_{0}, gone_{0}, failed_{0}, dropped_{0};
    TaskGroup tasks_;
};

}  // namespace crab::push
