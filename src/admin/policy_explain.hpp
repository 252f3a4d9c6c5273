#pragma once

#include "admin/all_tools.hpp"
#include "admin/asked_principal.hpp"
#include "base/published.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/approvals/approvals.hpp"
#include "core/pipeline/call_check.hpp"
#include "core/policy/policy_trace.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "net/http/routes.hpp"
#include "trust/access.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::admin {

/// `POST /v1/admin/policy/explain`: may this principal do that, which rule says so, what does every
/// other rule say, and what would be looked at next? Asked are the policy of the running gateway,
/// as calls ask it, or with `file` the one that a reload would bring. Nothing runs, nothing is
/// recorded. One, on the admin socket's event loop.
class PolicyExplain {
public:
    using ReadPolicy = std::function<Result<std::shared_ptr<const core::Policy>>()>;
    struct Services {
        const Published<core::RegistrySnapshot>& registry;
        const Published<core::CallRules>& rules;
        const trust::Access& access;
        const core::Approvals& approvals;
        core::CallCheck& checks;
        const AskedPrincipals& principals;
        const Clock& clock;
        BlockingPool& pool;
        ReadPolicy read_file;  ///< of the file on disk; blocks. Errors: kInvalidArgs, …
    };
    explicit PolicyExplain(Services services)
        : services_(std::move(services)), tools_(services_.registry) {}

    void add_routes(net::Routes<core::PrincipalRef>& routes);

private:
    using Request = net::Routes<core::PrincipalRef>::Request;
    struct Question;
    struct Answer;

    Result<Question> read(std::string_view body);
    Task<void> explain(const Request& request);
    Result<Answer> decide(const Question& question, const core::Policy& policy);
    Result<Answer> decide_call(const Question& question, const core::Policy& policy);
    core::Tool tool_of(const Question& question, const core::Policy& policy,
                       std::string_view tenant, Answer& answer) const;
    Task<void> look_further(const Question& question, Answer& answer);
    void tell_limits(Answer& answer, const core::CallRules& rules,
                     const core::Principal& who) const;

    const Services services_;
    const AllTools tools_;
    json::Parser parser_;
};

}  // namespace crab::admin
