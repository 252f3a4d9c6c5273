#pragma once

#include "base/result.hpp"
#include "json/element.hpp"
#include "json/parser.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cetp {

constexpr std::size_t kMaxToolsOfProvider = 64;
constexpr std::size_t kMaxDropped = 64;  ///< elements of one list; further ones are not read
constexpr std::size_t kMaxDescription = std::size_t{8} << 10;  ///< bytes; the rest is cut
/// Bytes of JSON; beyond: the element is dropped
constexpr std::size_t kMaxParameters = std::size_t{64} << 10;

/// A tool as its provider declares it.
struct DeclaredTool {
    std::string name;         ///< the provider's own, bare name; any text but empty
    std::string description;  ///< may be empty
    std::string parameters;   ///< a JSON Schema that compiles, an object, as JSON text
    friend bool operator==(const DeclaredTool&, const DeclaredTool&) = default;
};

/// The `data` of `list_tools` (rule 9).
std::string to_wire(std::span<const DeclaredTool> tools);

struct ToolList {
    std::vector<DeclaredTool> tools;       ///< at least one
    std::vector<std::string> diagnostics;  ///< what was dropped and why
};

/// Parses the `data` of `list_tools` in slices, since schemas may take long to compile; on any
/// thread. Source: docs/protocols/cetp.md, rules 9 to 13.
class ToolListReader {
public:
    explicit ToolListReader(std::string data) : data_(std::move(data)) {}
    ToolListReader(const ToolListReader&) = delete;
    ToolListReader& operator=(const ToolListReader&) = delete;

    /// Works for about `slice`; true while there is more to do.
    bool step(std::chrono::steady_clock::duration slice = std::chrono::milliseconds(5));
    /// Errors: kInvalidArgs when it does not parse or has no usable tool: the provider is not
    /// listed.
    Result<ToolList> take();

private:
    static constexpr std::size_t kMaxCompiled = std::size_t{2} << 20;
    static constexpr std::size_t kSmall = std::size_t{64} << 10;

    void begin();
    void read(json::Element element);
    Result<std::string> parameters_of(json::Element element);
    Result<void> compile(std::string_view schema);

    const std::string data_;
    json::Parser parser_;
    std::optional<json::Array> elements_;
    json::Array::iterator at_;
    std::size_t index_ = 0;
    bool begun_ = false;
    std::size_t left_ = kMaxCompiled;  // bytes that the compiled schemas may still take
    // the same for dropped ones; beyond it, kSmall each
    std::size_t for_dropped_ = 2 * kMaxCompiled;
    Error problem_{ErrorCode::kInvalidArgs, "it declares no tools"};
    ToolList list_;
};

}  // namespace crab::cetp
