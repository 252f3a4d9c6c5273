// Requests of sw4rm's ToolService: whatever comes, what was read lies inside it, and what is
// written again reads the same.
#include "adapters/sw4rm/call_request.hpp"
#include "adapters/sw4rm/messages.hpp"
#include "adapters/sw4rm/struct_json.hpp"
#include "json/parser.hpp"
#include "net/codec/fuzz_check.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crab;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const auto inside = [&](std::string_view part) {
        return part.empty() || (part.data() >= input.data() &&
                                part.data() + part.size() <= input.data() + input.size());
    };
    if (const auto call = sw4rm::parse_tool_call(input)) {
        require(inside(call->call_id) && inside(call->tool_name) && inside(call->args),
                "what was read lies in the request");
        std::string again;
        to_wire(again, *call);
        require(sw4rm::parse_tool_call(again) == call, "a call that was written reads the same");
        sw4rm::CallTexts texts;
        core::Call plain;
        if (parse_call(*call, texts, plain)) {
            require(!plain.timeout || plain.timeout->count() > 0,
                    "a stated timeout is more than nothing");
            require(plain.id.empty() || sw4rm::is_call_id(plain.id), "an id is one");
        }
    }
    if (const auto frame = sw4rm::parse_tool_frame(input)) {
        std::string again;
        to_wire(again, *frame);
        require(sw4rm::parse_tool_frame(again) == frame, "a frame that was written reads the same");
    }
    static_cast<void>(sw4rm::parse_tool_error(input));
    static_cast<void>(sw4rm::parse_provider_registration(input));
    static_cast<void>(sw4rm::parse_descriptors(input));
    if (auto text = sw4rm::struct_to_json(input)) {
        json::Parser parser;
        const auto read = parser.parse(*text);
        // A text of a Struct may be no UTF-8, and its parts more than the parser's limits allow.
        if (read) require(read->element().is_object(), "a Struct is an object");
    }
    return 0;
}
