#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace crab::mcp {

/// How much work one request may cause by URIs that are compared with templates, whoever sends
/// them and however many there are: one step is a place in a URI, or 16 bytes that are compared.
class MatchBudget {
public:
    static constexpr std::size_t kSteps = std::size_t{1} << 18;

    explicit MatchBudget(std::size_t steps = kSteps) : left_(steps) {}
    /// False when there are not as many left; then there are none left.
    bool take(std::size_t steps) {
        if (steps > left_) used_up_ = true;
        left_ = used_up_ ? 0 : left_ - steps;
        return !used_up_;
    }
    /// Something was not compared for want of steps.
    bool used_up() const { return used_up_; }
    std::size_t left() const { return left_; }

private:
    std::size_t left_;
    bool used_up_ = false;
};

/// Whether `uri` may have been made from this template (RFC 6570): how many of its characters the
/// template says itself, so that the closest of several can be found. `{x}` stands for at least one
/// character other than `/`, an expression with an operator (`{+x}`, `{?x}`, `{/x}`, …) for
/// anything. Nothing when it does not match, for a template that is broken, and once the budget is
/// used up.
std::optional<std::size_t> match_template(std::string_view uri_template, std::string_view uri,
                                          MatchBudget& budget);

}  // namespace crab::mcp
