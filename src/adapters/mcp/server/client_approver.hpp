#pragma once

#include "base/task/task_group.hpp"
#include "core/approvals/approvals.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/inquirer.hpp"
#include "net/loop/event_loop.hpp"

#include <string>

namespace crab::mcp {

/// Tells an MCP client, as progress, that its call waits for an approval, and asks the person
/// behind it, by a form, whether the call may run (`approvals.in_mcp: owner`). Operators are asked
/// too; the first word counts. Lives in the frame of the call. Source: docs/protocols/mcp.md,
/// section 7.3.
class ClientApprover final : public core::Approver {
public:
    struct Uses {
        net::EventLoop& loop;
        core::FrameSink* sink = nullptr;  ///< of the call; null: its client is told otherwise
        core::Approvals* approvals = nullptr;  ///< null: the person is not asked
        core::Inquirer* inquirer = nullptr;  ///< of the call
        std::string by;  ///< whose word it is: the principal of the client
    };
    explicit ClientApprover(Uses uses);

    bool can_be_asked() const override {
        return uses_.approvals != nullptr && uses_.inquirer != nullptr &&
               uses_.inquirer->answers().form;
    }
    void on_wait(const core::ApprovalQuestion& question) override;
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
