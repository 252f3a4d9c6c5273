#pragma once

#include "adapters/cetp/manifest.hpp"
#include "adapters/cetp/refresh_timer.hpp"
#include "adapters/cetp/tool_set.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/fair_pool.hpp"
#include "base/task/task_group.hpp"
#include "base/task/waiter.hpp"
#include "bridge/bridge_paths.hpp"
#include "bridge/provider_caller.hpp"
#include "bridge/user_choices.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace crab::bridge {

/// State of one provider.
struct KnownProvider {
    enum class State : std::uint8_t {
        kOff,        ///< until the user enables it
        kListing,    ///< its tools are being listed for the first time
        kListed,
        kRejected,    ///< `problem` says why
    };
    std::shared_ptr<const cetp::ProviderRecord> record{};
    State state = State::kOff;
    std::vector<cetp::DeclaredTool> tools{};
    std::vector<std::string> diagnostics{};  ///< what of its list was dropped
    std::string problem{};                   ///< kRejected
    bool queued = false, asked = false;      ///< waits for, or is in, a listing
    bool broken = false;  ///< does not implement the protocol: not called until its record changes
    cetp::RefreshTimer refresh{};  ///< its own changes
};
std::string_view name_of(KnownProvider::State state);

/// Finds providers, lists their tools, eight at a time, and publishes one set per refresh. A
/// provider that hangs is left out after 5 s and delays nothing. Used on its loop's thread. Source:
/// docs/protocols/cetp.md, rules 3 to 13 and 34 to 42.
class ProviderDirectory {
public:
    static constexpr std::size_t kAtOnce = 8;
    static constexpr Milliseconds kListTimeout{5'000};
    /// A set waits for outstanding lists until none has arrived for kQuiet, and at most kGather.
    static constexpr Milliseconds kQuiet{100};
    static constexpr Milliseconds kGather{1'000};

    struct Services {
        net::EventLoop& loop;
        BlockingPool& blocking;
        /// Parses lists and compiles schemas, round-robin between providers
        FairPool& lists;
        ProviderCaller& caller;
        const BridgePaths& paths;
    };
    using Providers = std::map<std::string, KnownProvider, std::less<>>;
    /// Called with every new set, including an empty first one.
    using OnSet = std::function<void(const std::shared_ptr<const cetp::ToolSet>& set)>;
    /// Further candidates, of lowest precedence, such as bus names; called at each scan.
    using MoreCandidates = std::function<Task<std::vector<cetp::Candidate>>()>;

    ProviderDirectory(const Services& services, OnSet on_set, std::function<void()> on_status,
                      MoreCandidates more = {});

    /// Scans, and again after each change, until stop().
    void start();
    void stop(std::function<void()> done) { tasks_.stop(std::move(done)); }

    /// A record, a choice or the bus has changed; debounced to one scan.
    void on_change();
    /// The file of choices was written, perhaps by this bridge: scans only if a decision has
    /// changed.
    void on_choices_change();
    /// The tools of this provider have changed or seem to have; debounced to one listing.
    void on_provider_change(std::string_view id);
    /// A call has shown that it does not implement the protocol.
    void on_not_spoken(std::string_view id, const cetp::Envelope& answer);

    const Providers& providers() const { return providers_; }
    const std::vector<std::string>& diagnostics() const { return diagnostics_; }
    /// Since the latest scan of the records began.
    std::chrono::nanoseconds since_scan() const {
        return services_.loop.clock().steady_now() - scan_began_;
    }
    /// The label of a provider that has one.
    std::string label_of(std::string_view id) const { return labels_.find(id); }

private:
    struct Found {
        std::vector<cetp::Candidate> candidates;
        Result<UserChoices> choices;
    };
    Task<void> watch_changes();
    Task<void> compare_choices();
    Task<void> scan();
    Deadline next_due() const;
    void take_records(std::vector<cetp::ProviderRecord> records);
    void ask(std::string_view id);
    void ask_next();
    Task<void> list(std::string id);
    Task<Result<cetp::ToolList>> read(std::string id, cetp::Envelope answer);
    static void take_list(KnownProvider& provider, Result<cetp::ToolList> list);
    void publish_soon();
    Task<void> publish_later();
    void publish();

    const Services services_;
    const OnSet on_set_;
    const std::function<void()> on_status_;
    const MoreCandidates more_;
    UserChoices choices_;
    cetp::LabelTable labels_;
    Providers providers_;
    std::vector<std::string> diagnostics_;
    std::deque<std::string> to_ask_;
    std::size_t asking_ = 0;
    std::shared_ptr<const cetp::ToolSet> set_;
    cetp::RefreshTimer refresh_;
    Waiter changed_;
    bool scanned_ = false;  // at least once
    SteadyTime scan_began_{};
    bool publish_waits_ = false;
    SteadyTime last_news_{};  // when the latest list arrived while others were outstanding
    TaskGroup tasks_;
};

}  // namespace crab::bridge
