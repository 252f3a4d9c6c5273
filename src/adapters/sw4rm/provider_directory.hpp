#pragma once

#include "adapters/sw4rm/provider_host.hpp"
#include "adapters/sw4rm/provider_tool.hpp"
#include "base/task/fair_pool.hpp"
#include "core/registry/tool_listing.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::sw4rm {

/// Keeps the tools of remote providers in the registry: those that the configuration declares, or
/// the result of DescribeTools, polled at start, every minute, and soon after a provider reported
/// an unknown tool; RegisterProvider replaces them in between. A provider that does not answer for
/// five minutes loses the tools that are not declared. Source: docs/protocols/sw4rm.md, section 12.
class ProviderDirectory {
public:
    struct Services {
        core::Registry& registry;
        FairPool& schemas;  ///< parses lists and compiles schemas
        net::EventLoop& home;  ///< polls for lists; one of `loops`
        std::vector<net::EventLoop*> loops;
    };
    struct Provider {
        ProviderHost::Options host;
        std::string principal;  ///< who may register for it; empty: nobody
        std::vector<OfferedTool> declared;  ///< if not empty, the provider is not polled
        core::PolicyCeilings ceilings;
    };
    using Status = core::ToolListing::Status;
    using Times = core::PollSchedule::Times;

    /// Errors: kInvalidArgs, naming the provider and the invalid tool.
    static Result<std::unique_ptr<ProviderDirectory>> make(Services services,
                                                           std::vector<Provider> providers,
                                                           Times times = {});
    ProviderDirectory(const ProviderDirectory&) = delete;
    ProviderDirectory& operator=(const ProviderDirectory&) = delete;
    /// After stop(), or if start() was never called.
    ~ProviderDirectory();

    /// Starts polling. Thread-safe.
    void start();
    /// Ends everything and waits for it; must not be called on one of the loops.
    void stop();
    /// Thread-safe.
    std::vector<Status> status() const;

    /// RegisterProvider: `tools` become all of the provider's. On any of the loops.
    /// Errors, and then nothing has changed: kForbidden (not the provider's principal), kNotFound,
    /// kInvalidArgs with what is wrong.
    Task<Result<void>> register_tools(std::string principal, std::string provider_id,
                                      std::vector<OfferedTool> tools);

private:
    class Watched;
    ProviderDirectory(Services services, Times times);

    Services services_;
    const Times times_;
    std::vector<std::shared_ptr<Watched>> providers_;  ///< as configured
    TaskGroup tasks_;
};

}  // namespace crab::sw4rm
