#pragma once

#include "base/task/task_group.hpp"
#include "core/approvals/approvals.hpp"
#include "core/call/inquirer.hpp"
#include "net/loop/event_loop.hpp"

#include <string>

namespace crab::mcp {

/// Asks the person behind an MCP client, by a form, whether a call of that client may run
/// (`approvals.in_mcp: owner`). Operators are asked too; the first word counts. Lives in the frame
/// of the call. Source: docs/protocols/mcp.md, section 7.3.
class ClientApprover final : public core::Approver {
public:
    struct Uses {
        net::EventLoop& loop;
        core::Approvals& approvals;
        core::Inquirer& inquirer;  ///< of the call
        std::string by;  ///< whose word it is: the principal of the client
    };
    explicit ClientApprover(Uses uses);

    bool can_be_asked() const override { return uses_.inquirer.answers().form; }
    void on_question(const core::ApprovalQuestion& question) override;
    void on_end(const core::ApprovalQuestion& question, const core::ApprovalEnd& end) override;
    /// Nobody is asked any more when it returns. Before this is destroyed.
    Task<void> finish();

private:
    Task<void> ask(std::string id, std::string params);

    const Uses uses_;
    TaskGroup tasks_;
};

}  // namespace crab::mcp
