#include "base/task/gather.hpp"
#include "bridge/built_in/adapter_list.hpp"
#include "bridge/built_in/json_members.hpp"
#include "bridge/built_in/search_providers.hpp"

#include <algorithm>
#include <sstream>

namespace crab::bridge {
namespace {

using json::Value;

constexpr std::chrono::seconds kOfProvider{3};
constexpr const char* kGnome = "org.gnome.Shell.SearchProvider2";
constexpr const char* kRunner = "org.kde.krunner1";

/// Asks the apps that offer results to the desktop's own search. It only ever asks; nothing of a
/// result is run or opened. Source: the interfaces of GNOME Shell and KRunner.
class Search final : public Adapter {
public:
    explicit Search(const Sources& sources)
        : clock_(sources.loop.clock()),
          blocking_(sources.blocking),
          session_(sources.bus(BusKind::kSession)),
          data_dirs_(sources.data_dirs),
          locale_(sources.locale) {}

    Task<Result<void>> check(Deadline) override {
        const auto providers = co_await find_providers();
        if (!session_.connected())
            co_return fail(ErrorCode::kUnavailable, "there is no session bus");
        if (providers.empty())
            co_return fail(ErrorCode::kUnavailable, "no app offers search results");
        co_return Result<void>();
    }

    Task<Result<Value>> run(const std::string&, const Value& args, Deadline deadline) override {
        const auto providers = co_await find_providers();
        const auto limit = static_cast<std::size_t>(integer_in(args, "limit", 5));
        const Deadline soon = std::min(deadline, clock_.steady_now() + kOfProvider);
        std::vector<Task<Result<Value>>> questions;
        for (const SearchProvider& provider : providers) {
            questions.push_back(provider.api == SearchProvider::Api::kRunner
                                    ? ask_runner(provider, text_in(args, "text"), limit, soon)
                                    : ask_gnome(provider, text_in(args, "text"), limit, soon));
        }
        const auto answers = co_await gather(std::move(questions));
        Value results = Value::array(), silent = Value::array();
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (!answers[i]) silent.push_back(providers[i].name);
            for (const Value& result : answers[i] ? *answers[i]->as_array() : Value::Items())
                results.push_back(result);
        }
        co_return Value::object(
            {{"results", std::move(results)}, {"without_answer", std::move(silent)}});
    }

private:
    Task<std::vector<SearchProvider>> find_providers() {
        auto read = [dirs = data_dirs_, locale = locale_] {
            return read_search_providers(dirs, locale);
        };
        co_return co_await blocking_.run(std::move(read));
    }

    Task<Result<Value>> ask_gnome(SearchProvider provider, std::string text, std::size_t limit,
                                  Deadline deadline) {
        Value terms = Value::array();
        std::istringstream words(text);
        for (std::string word; words >> word;) terms.push_back(word);
        BusCall search{provider.bus_name, provider.object_path, kGnome, "GetInitialResultSet", "as",
                       {std::move(terms)}};
        const auto found = co_await session_.call(std::move(search), deadline);
        if (!found) co_return fail(found.error());
        Value ids = Value::array(items_at(*found, 0));
        if (ids.as_array()->size() > limit) ids.as_array()->resize(limit);
        if (ids.as_array()->empty()) co_return ids;
        BusCall describe{provider.bus_name, provider.object_path, kGnome, "GetResultMetas", "as",
                         {std::move(ids)}};
        const auto metas = co_await session_.call(std::move(describe), deadline);
        if (!metas) co_return fail(metas.error());
        Value results = Value::array();
        for (const Value& meta : items_at(*metas, 0)) {
            Value& result = results.push_back(Value::object({{"app", provider.name}}));
            pick(result, meta, {{"name", "name"}, {"description", "description"}});
        }
        co_return results;
    }

    Task<Result<Value>> ask_runner(SearchProvider provider, std::string text, std::size_t limit,
                                   Deadline deadline) {
        BusCall match{provider.bus_name,       provider.object_path, kRunner, "Match", "s",
                      {Value(std::move(text))}};
        const auto found = co_await session_.call(std::move(match), deadline);
        if (!found) co_return fail(found.error());
        Value results = Value::array();
        // id, text, icon, kind, relevance, properties
        for (const Value& item : items_at(*found, 0)) {
            if (results.as_array()->size() == limit || !item.is_array() ||
                item.as_array()->size() != 6)
                break;
            Value& result = results.push_back(
                Value::object({{"app", provider.name}, {"name", (*item.as_array())[1]}}));
            pick(result, (*item.as_array())[5], {{"subtext", "description"}});
        }
        co_return results;
    }

    const Clock& clock_;
    BlockingPool& blocking_;
    BusLink& session_;
    const std::vector<std::filesystem::path> data_dirs_;
    const std::string locale_;
};

constexpr std::string_view kFindFiles =
    R"({"type":"object","properties":{)"
    R"("text":{"type":"string","minLength":1,"maxLength":1000},)"
    R"("limit":{"type":"integer","minimum":1,"maximum":20,)"
    R"("description":"Results of each app; default 5"}},"required":["text"],)"
    R"("additionalProperties":false})";

}  // namespace

AdapterInfo search_adapter() {
    return {.label = "search",
            .name = "Desktop search",
            .reads = "search providers",
            .on = false,
            .tools = {{"search",
                       "Asks the apps of this desktop for what they have on some words, as the "
                       "desktop's own search does",
                       std::string(kFindFiles)}},
            .make = [](const Sources& sources) -> std::unique_ptr<Adapter> {
                return std::make_unique<Search>(sources);
            }};
}

}  // namespace crab::bridge
