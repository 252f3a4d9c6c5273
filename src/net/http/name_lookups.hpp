#pragma once

#include "base/task/fair_pool.hpp"
#include "net/http/dialer.hpp"
#include "net/loop/endpoint.hpp"
#include "net/loop/event_loop.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace crab::net {

/// Resolves names on threads of its own, because the system's resolver may hang. Each `line`
/// (queue) resolves one name at a time, queues are served round-robin, and concurrent requests for
/// one name share a lookup. Thread-safe.
class NameLookups {
public:
    using Resolve = std::function<Result<std::vector<SocketAddress>>(const Endpoint&)>;

    /// `threads`: how many lookups may hang without delaying others. `resolve` blocks.
    explicit NameLookups(std::size_t threads, Resolve resolve = net::resolve)
        : resolve_(std::move(resolve)), threads_(threads) {}

    /// The addresses of `endpoint`: immediately for a numeric address, else within `deadline`, even
    /// if no thread is free. On `loop`'s thread. An empty `line`: that of the name. Errors: those
    /// of resolve(); kTimeout, kCancelled.
    Task<Result<std::vector<SocketAddress>>> find(EventLoop& loop, Endpoint endpoint,
                                                  Deadline deadline, std::string line = {});
    /// The same as a target for dial(), on the thread's own loop; `tls` null for a plain one.
    Task<Result<DialTarget>> find_target(Endpoint endpoint, std::shared_ptr<TlsContext> tls,
                                         Deadline deadline);
    /// Waits until no name is looked up.
    void settle() { threads_.settle(); }

private:
    struct Asker;
    void look_up(const std::string& what, const Endpoint& endpoint);
    bool is_wanted(const std::string& what);

    const Resolve resolve_;
    std::mutex mutex_;
    /// Of each lookup that waits or is in progress.
    std::map<std::string, std::vector<std::weak_ptr<Asker>>> askers_;
    FairPool threads_;  ///< last: what it runs refers to the rest
};

}  // namespace crab::net
