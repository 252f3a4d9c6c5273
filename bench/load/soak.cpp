#include "load/modes.hpp"

#include "load/device.hpp"
#include "load/driver.hpp"
#include "load/http_callers.hpp"
#include "load/payload.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace crab::bench {
namespace {

using namespace std::literals;

constexpr auto kReconnectEvery = 50ms;
constexpr auto kHangUpEvery = 2ms;

/// What a lane's call is for; one of each hundred calls or a few is not a plain one.
enum class Kind { kGood, kBadArguments, kUnknownTool, kAbandoned };

class Soak final : public Answers {
public:
    /// How much is asked for; `seed` decides what comes when.
    struct Size {
        std::size_t devices = 1;
        std::size_t lanes = 1;
        std::uint64_t seed = 0;
    };
    Soak(Loop& loop, const Address& server, const Device::Options& device, const std::string& token,
         const Size& size)
        : loop_(loop), random_(size.seed), kinds_(size.lanes) {
        for (std::size_t i = 0; i < size.devices; ++i) {
            Device::Options options = device;
            options.tool = "soak" + std::to_string(i);
            options.fail_every = 50;
            devices_.push_back(std::make_unique<Device>(loop, options));
            good_.emplace_back(server, token, options.tool, kArguments);
            bad_.emplace_back(server, token, options.tool, R"({"room":7,"mode":"boil"})");
        }
        Device::Options silent = device;
        silent.tool = "soak_silent";
        silent.answers = false;
        devices_.push_back(std::make_unique<Device>(loop, silent));
        abandoned_.emplace_back(server, token, silent.tool, kArguments);
        unknown_.emplace_back(server, token, "soak_nowhere", kArguments);
        callers_ = std::make_unique<HttpCallers>(loop, server, size.lanes,
                                                 std::vector<CallRequest>{}, *this);
    }

    void run(std::chrono::duration<double> seconds) {
        const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
        auto reconnect_at = Clock::now() + kReconnectEvery;
        auto hang_up_at = Clock::now() + kHangUpEvery;
        for (std::size_t lane = 0; lane < kinds_.size(); ++lane) start(lane);
        for (auto now = Clock::now(); now < until; now = Clock::now()) {
            loop_.turn(std::min({until, reconnect_at, hang_up_at}));
            if (now >= reconnect_at) {
                devices_[random_() % devices_.size()]->reconnect();
                ++reconnects_;
                reconnect_at = now + kReconnectEvery;
            }
            if (now >= hang_up_at) {
                hang_up_abandoned();
                hang_up_at = now + kHangUpEvery;
            }
        }
        stopping_ = true;
    }

    void report() const {
        std::uint64_t lost = 0;
        for (const auto& device : devices_) lost += device->lost();
        std::printf(
            "{\"calls\":%llu,\"ok\":%llu,\"refused\":%llu,\"failed\":%llu,\"abandoned\":%llu,"
            "\"reconnects\":%llu,\"broken\":%llu,\"devices_lost\":%llu}\n",
            number(ok_ + refused_ + failed_ + abandoned_calls_ + broken_), number(ok_),
            number(refused_), number(failed_), number(abandoned_calls_), number(reconnects_),
            number(broken_), number(lost));
    }

    void on_answer(std::size_t lane, std::string_view failure) override {
        const bool answered = failure.starts_with("HTTP/1.1 ");
        if (failure.empty()) {
            ++ok_;
        } else if (!answered) {
            ++broken_;
        } else if (kinds_[lane] == Kind::kGood) {
            ++failed_;  // the device said no, or its link broke under the call
        } else {
            ++refused_;
        }
        if (!stopping_) start(lane);
    }

private:
    static unsigned long long number(std::uint64_t value) { return value; }

    void start(std::size_t lane) {
        const auto dice = random_() % 100;
        kinds_[lane] = dice < 3   ? Kind::kBadArguments
                       : dice < 5 ? Kind::kUnknownTool
                       : dice < 6 ? Kind::kAbandoned
                                  : Kind::kGood;
        callers_->start(lane, request_for(kinds_[lane]));
        if (kinds_[lane] == Kind::kAbandoned) waiting_.push_back(lane);
    }

    CallRequest& request_for(Kind kind) {
        switch (kind) {
            case Kind::kGood: return good_[random_() % good_.size()];
            case Kind::kBadArguments: return bad_[random_() % bad_.size()];
            case Kind::kUnknownTool: return unknown_.front();
            case Kind::kAbandoned: return abandoned_.front();
        }
        std::unreachable();
    }

    void hang_up_abandoned() {
        for (const std::size_t lane : std::exchange(waiting_, {})) {
            if (kinds_[lane] != Kind::kAbandoned) continue;  // it was answered after all
            callers_->hang_up(lane);
            ++abandoned_calls_;
            start(lane);
        }
    }

    Loop& loop_;
    std::mt19937_64 random_;
    std::vector<Kind> kinds_;           // per lane
    std::vector<std::size_t> waiting_;  // lanes whose caller is about to leave
    std::vector<CallRequest> good_, bad_, unknown_, abandoned_;
    std::vector<std::unique_ptr<Device>> devices_;
    std::unique_ptr<HttpCallers> callers_;
    bool stopping_ = false;
    std::uint64_t ok_ = 0, refused_ = 0, failed_ = 0, abandoned_calls_ = 0, broken_ = 0,
                  reconnects_ = 0;
};

}  // namespace

void run_soak(Options options) {
    const Address server = parse_address(options.text("connect"));
    const Address gateway = parse_address(options.text("device"));
    const std::string token = options.text("token");
    const std::size_t devices = options.count("devices", 4);
    const std::size_t lanes = options.count("in-flight", 64);
    const double seconds = options.number("seconds", 30);
    const std::size_t seed = options.count("seed", 1);
    options.refuse_others();

    Loop loop;
    Soak soak(loop, server, Device::Options{.gateway = gateway, .token = token},
              server.path.empty() ? token : "", {devices, lanes, seed});
    soak.run(std::chrono::duration<double>(seconds));
    soak.report();
}

}  // namespace crab::bench
