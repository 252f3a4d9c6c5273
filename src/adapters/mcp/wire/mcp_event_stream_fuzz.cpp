// Any bytes as a stream of events and as lines: cutting them anywhere gives the same parts, none is
// too large, and every message that was read reads back after it was written.

#include "adapters/mcp/wire/event_stream.hpp"
#include "adapters/mcp/wire/line_reader.hpp"
#include "net/codec/fuzz_check.hpp"

#include <utility>
#include <vector>

namespace {

using namespace crab;
using namespace crab::mcp;
using Kind = StreamPart::Kind;

constexpr std::size_t kMost = 300;

struct Read {
    std::vector<std::pair<Kind, std::string>> parts;
    std::string last_id;
    bool operator==(const Read&) const = default;
};

template <class NextSize>
Read read(std::string_view bytes, NextSize next_size) {
    EventStream stream(kMost);
    Read result;
    while (!bytes.empty()) {
        std::string_view in = bytes.substr(0, next_size());
        bytes.remove_prefix(in.size());
        for (StreamPart part = stream.next(in); part.kind != Kind::kNeedMore;
             part = stream.next(in)) {
            require(part.data.size() <= kMost, "a part has a limit");
            result.parts.emplace_back(part.kind, part.data);
            if (part.kind == Kind::kOversize) return result;
        }
    }
    result.last_id = stream.last_id();
    return result;
}

template <class NextSize>
std::vector<std::string> read_lines(std::string_view bytes, NextSize next_size) {
    LineReader reader(20);
    std::vector<std::string> lines;
    while (!bytes.empty()) {
        std::string_view in = bytes.substr(0, next_size());
        bytes.remove_prefix(in.size());
        for (StdioLine line = reader.next(in); line.kind != StdioLine::Kind::kNeedMore;
             line = reader.next(in)) {
            require(line.text.size() <= 20, "a line has a limit");
            lines.emplace_back(line.text);
            if (line.kind == StdioLine::Kind::kOversize) return lines;
            require(!line.text.empty(), "and is not empty");
        }
    }
    return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Read whole = read(bytes, [&] { return bytes.size(); });
    net::Cuts cuts(data, size);
    require(read(bytes, [&] { return cuts.next(9); }) == whole, "cuts change nothing");
    require(read_lines(bytes, [&] { return bytes.size(); }) ==
                read_lines(bytes, [&] { return cuts.next(7); }),
            "nor do they change lines");
    for (const auto& [kind, text] : whole.parts) {
        if (kind != Kind::kMessage) continue;
        std::string out;
        require(append_message_event(out, "s-1", text), "it can be written");
        const Read again = read(out, [&] { return out.size(); });
        require(again.parts.size() <= 1 && (again.parts.empty() || again.last_id == "s-1"),
                "one event is one event");
    }
    return 0;
}
