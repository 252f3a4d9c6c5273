#pragma once

#include "trust/code_shelf.hpp"

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// The pairing codes of one gateway, in memory: a restart revokes them. Never blocks.
class OpenCodes final : public CodeShelf {
public:
    explicit OpenCodes(const Clock& clock) : clock_(clock) {}

    Result<void> open(NewCode code, std::size_t most) override;
    Result<void> end(std::string_view id) override;
    Result<void> vouch(Forms forms, std::string_view public_key) override;
    Result<TakenCode> take(Forms forms, int wrong_tries) override;
    Result<void> settle(const TakenCode& code, const std::optional<std::string>& slug) override;
    Result<std::vector<PairingProgress>> recent() override;

private:
    struct Open {
        TakenCode code;
        std::string form;
        SteadyTime expires_at;
        int wrong_tries = 0;
        bool is_taken = false;  ///< and not settled yet
    };
    // Callers hold mutex_.
    void note(std::string_view id, std::string_view state, std::string_view device = {});
    void drop_expired();
    Open* find(Forms forms);
    void count_wrong_try(int most);

    const Clock& clock_;
    std::mutex mutex_;
    std::vector<Open> open_;
    std::deque<PairingProgress> recent_;
};

}  // namespace crab::trust
