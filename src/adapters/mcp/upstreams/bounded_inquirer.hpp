#pragma once

#include "base/task/fair_pool.hpp"
#include "base/task/wakeup.hpp"
#include "core/call/inquirer.hpp"

#include <cstddef>
#include <deque>
#include <string>

namespace crab::mcp {

/// Whoever an upstream asks, with forms that cost no more than this: their schemas are compiled
/// once, on the schema pool, within limits far below those of tools. Questions that come together
/// go on in one iteration of the loop, when all their forms are compiled. Lives as long as the
/// call, on the upstream's loop.
class BoundedInquirer final : public core::Inquirer {
public:
    static constexpr std::size_t kMostText = std::size_t{64} << 10;
    static constexpr std::size_t kMostProgram = std::size_t{256} << 10;

    BoundedInquirer(core::Inquirer& asked, FairPool& schemas, std::string source)
        : asked_(asked), schemas_(schemas), source_(std::move(source)) {}

    Answers answers() const override { return asked_.answers(); }
    core::LongCall* long_call() override { return asked_.long_call(); }
    /// Errors: kOversize and kInvalidArgs for a form above the limits or one that is no schema,
    /// which is not shown to anybody.
    Task<Result<std::string>> ask(core::Question question) override;

private:
    void let_go();

    core::Inquirer& asked_;
    FairPool& schemas_;
    const std::string source_;
    std::size_t compiling_ = 0;  ///< forms
    std::deque<Wakeup*> held_;  ///< until they are
};

}  // namespace crab::mcp
