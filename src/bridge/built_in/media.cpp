#include "base/task/gather.hpp"
#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"

#include <algorithm>

namespace crab::bridge {
namespace {

using json::Value;

constexpr std::string_view kPrefix = "org.mpris.MediaPlayer2.";
constexpr const char* kMediaPath = "/org/mpris/MediaPlayer2";
constexpr std::chrono::seconds kOfPlayer{1};  // one that hangs is left out

/// Source: MPRIS D-Bus Interface Specification 2.2.
class Media final : public Adapter {
public:
    explicit Media(const Sources& sources)
        : clock_(sources.loop.clock()), session_(sources.bus(BusKind::kSession)) {}

    Task<Result<void>> check(Deadline) override {
        if (!session_.connected())
            co_return fail(ErrorCode::kUnavailable, "there is no session bus");
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string&, const Value&, Deadline deadline) override {
        std::vector<std::string> names = co_await session_.owned_names(deadline);
        std::erase_if(names, [](const std::string& name) { return !name.starts_with(kPrefix); });
        std::ranges::sort(names);
        std::vector<Task<Result<Value>>> questions;
        for (const std::string& name : names)
            questions.push_back(
                describe_player(name, std::min(deadline, clock_.steady_now() + kOfPlayer)));
        auto players = co_await gather(std::move(questions));
        Value answer = Value::object();
        Value& list = answer.set("players", Value::array());
        for (auto& player : players) {
            if (player) list.push_back(*std::move(player));
        }
        co_return answer;
    }

private:
    Task<Result<Value>> describe_player(std::string name, Deadline deadline) {
        const auto player = co_await session_.properties(name, kMediaPath,
                                                         "org.mpris.MediaPlayer2.Player", deadline);
        if (!player) co_return fail(player.error());
        const auto app =
            co_await session_.properties(name, kMediaPath, "org.mpris.MediaPlayer2", deadline);
        Value answer = Value::object({{"player", name.substr(kPrefix.size())}});
        if (app) pick(answer, *app, {{"Identity", "player"}});
        std::string state = text_in(*player, "PlaybackStatus");
        std::ranges::transform(state, state.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        answer.set("state", std::move(state));
        if (const Value* track = player->find("Metadata")) {
            pick(answer, *track,
                 {{"xesam:title", "title"}, {"xesam:artist", "artists"}, {"xesam:album", "album"}});
            if (const auto length = integer_in(*track, "mpris:length"); length > 0)
                answer.set("length_seconds", length / 1'000'000);
        }
        if (const auto position = integer_in(*player, "Position"); position > 0)
            answer.set("position_seconds", position / 1'000'000);
        co_return answer;
    }

    const Clock& clock_;
    BusLink& session_;
};

}  // namespace

AdapterInfo media_adapter() {
    return {.label = "media",
            .name = "Now playing",
            .reads = "MPRIS players",
            .on = true,
            .tools = {{"now_playing",
                       "What the media players of this desktop play: title, artists, album, state",
                       std::string(kNoArgs)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Media>(sources);
            }};
}

}  // namespace crab::bridge
