#pragma once

#include "adapters/mcp/upstreams/upstream.hpp"
#include "base/ordered_mutex.hpp"
#include "net/loop/event_loop.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::mcp {

/// All configured upstreams, on one event loop. Thread-safe.
class Upstreams {
public:
    struct Uses {
        net::EventLoop& home;
        core::Registry& registry;
        Catalogs& catalogs;
        ResourceWatches& watches;
        UpstreamConnector& connector;
        trust::PinStore& pins;
        FairPool& schemas;
        BlockingPool& files;
    };
    explicit Upstreams(const Uses& uses) : uses_(uses), tasks_(uses.home.executor()) {}
    Upstreams(const Upstreams&) = delete;
    Upstreams& operator=(const Upstreams&) = delete;

    /// Starts one, or another in the place of that with its name. Its names are expected from now
    /// on.
    void put(UpstreamSettings settings);
    /// Withdraws what it offers and stops it.
    void remove(const std::string& source);
    /// remove() for good: what was accepted of it is dropped, and `drop_more`, on a thread of
    /// `files`, drops what else there is, once nothing of it runs any more. Another one of its name
    /// starts after that.
    void forget(const std::string& source, std::function<void()> drop_more);
    /// Upstream::try_again().
    void try_again(std::string_view source);
    /// Upstream::read_pins_again() of all.
    void read_pins_again();
    /// Stops all and waits for it; must not be called on the loop. Nothing runs afterwards.
    void stop();

    std::vector<UpstreamStatus> status() const;  ///< all of it: for operators
    std::vector<std::pair<std::string, UpstreamStatus::State>> states() const;
    /// What is counted of one.
    struct Counts {
        std::string source;
        std::uint64_t off_schema = 0, dropped = 0;  ///< as in UpstreamStatus
    };
    std::vector<Counts> counts() const;
    std::vector<std::pair<std::string, FoundEra>> proven_eras() const;  ///< of those that are up
    /// What is held back of `source`. Errors: kNotFound for an unknown one.
    Result<std::vector<HeldBack>> diff(std::string_view source) const;
    /// Upstream::accept(), from any loop.
    Task<Result<std::vector<std::string>>> accept(std::string source,
                                                  std::vector<SeenEntry> entries);

private:
    /// Something that ends once, for those on the loop who wait for it.
    class Ending;
    using Endings = std::map<std::string, std::shared_ptr<Ending>, std::less<>>;

    std::shared_ptr<Upstream> find(std::string_view source) const;
    void begin(std::shared_ptr<Upstream> upstream);
    Task<void> live(std::shared_ptr<Upstream> upstream, std::shared_ptr<Ending> after,
                    std::shared_ptr<Ending> ending);
    Task<void> drop(std::string source, std::shared_ptr<Ending> after,
                    std::shared_ptr<Ending> ending, std::function<void()> drop_more);

    const Uses uses_;
    mutable OrderedMutex<LockRank::kUpstreams> mutex_;
    std::map<std::string, std::shared_ptr<Upstream>, std::less<>> all_;
    /// Of each name that was ever configured, which came how many before it: one that is changed
    /// keeps its place
    std::map<std::string, std::uint64_t, std::less<>> places_;
    std::uint64_t owners_ = 0;  ///< that were given out
    bool stopping_ = false;
    Endings lives_, drops_;  ///< under way; used on the loop
    TaskGroup tasks_;  ///< used on the loop
};

}  // namespace crab::mcp
