#pragma once

#include "admin/all_tools.hpp"
#include "admin/asked_principal.hpp"
#include "admin/presence.hpp"
#include "admin/source_state.hpp"
#include "base/published.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/pipeline/call_services.hpp"
#include "core/registry/registry.hpp"
#include "net/http/routes.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::admin {

/// `GET /v1/admin/diagnose?device&tool&as`: what stands between a tool and its caller, as a list in
/// the order in which things have to be right; what cannot be known while an earlier one fails is
/// left out. Changes nothing. One, on the admin socket's event loop.
class Diagnosis {
public:
    struct Services {
        const trust::Tokens& tokens;
        const Published<core::RegistrySnapshot>& registry;
        const Published<core::CallRules>& rules;
        const AskedPrincipals& principals;
        const Clock& clock;
        BlockingPool& pool;
        std::function<std::vector<Presence>()> presence;
        /// What a device offered in vain, over its latest connection
        std::function<std::vector<Presence::Refused>(std::string_view device)> refused;
        std::function<std::vector<std::string>(std::string_view device)> waiting_tools;
        std::function<std::vector<SourceState>()> sources;  ///< may block
    };
    explicit Diagnosis(Services services)
        : services_(std::move(services)), tools_(services_.registry) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;
    struct Case;

    Task<void> answer(const Request& request);
    void find_source(Case& about) const;
    bool check_device(Case& about) const;
    bool check_offer(Case& about) const;
    bool check_waiting(Case& about) const;
    void check_refused(Case& about, const Presence::Refused& refused) const;
    void check_last_refusal(Case& about) const;
    void check_missing(Case& about) const;
    void check_source(Case& about, const std::vector<SourceState>& sources) const;
    void check_limits(Case& about) const;
    void check_call(Case& about) const;

    const Services services_;
    const AllTools tools_;
};

}  // namespace crab::admin
