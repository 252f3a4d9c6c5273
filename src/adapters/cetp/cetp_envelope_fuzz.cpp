// Any bytes as an envelope, a list of tools, a call and a manifest: each is refused, or is in order
// and stays so.

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/manifest.hpp"
#include "adapters/cetp/method_call.hpp"
#include "adapters/cetp/test_support.hpp"
#include "adapters/cetp/tool_set.hpp"
#include "base/fuzz_check.hpp"
#include "json/value.hpp"

#include <algorithm>

namespace {

using namespace crab;

void check_tools(std::string_view text) {
    auto list = cetp::test::parse_tool_list(std::string(text));
    if (!list) return;
    require(!list->tools.empty() && list->tools.size() <= cetp::kMaxToolsOfProvider);
    cetp::LabelTable labels;
    const std::size_t declared = list->tools.size();
    const auto set = cetp::ToolSet::build({{"a.p", "P", "", std::move(list->tools)}}, labels);
    require(set->routes().size() == declared);
    for (const auto& [name, route] : set->routes()) {
        require(name.size() <= 64 && !route.description.empty() &&
                json::Value::parse(route.parameters)->is_object());
        require(std::ranges::all_of(name, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '_' || c == '-';
        }));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto envelope = cetp::parse_envelope(text)) {
        require(cetp::parse_envelope(cetp::to_wire(*envelope)) == envelope);
        require(envelope->success || std::ranges::none_of(envelope->agent_text(), [](char c) {
                    return static_cast<unsigned char>(c) < 0x20;
                }));
    }
    check_tools(text);
    if (const auto call = cetp::parse_method_call(text))
        require(*cetp::parse_method_call(cetp::to_wire(*call)) == *call);
    if (const auto reading = cetp::read_manifest("org.example.P", text,
                                                 {.locale = "de", .runtime_dir = "/run/user/1"});
        reading && *reading) {
        const cetp::ProviderRecord& record = **reading;
        require(!record.name.empty() &&
                (record.transport != cetp::Transport::kUnix || record.socket.starts_with('/')));
    }
    return 0;
}
