#pragma once

#include "json/element.hpp"
#include "sdk/device_tools.hpp"

#include "crab/device.hpp"
#include "crab/tool_answer.hpp"
#include "crab/tool_request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The frames of docs/protocols/clawseed.md, sections 2 and 9, as a device writes and reads them.
namespace crab::sdk {

/// Where and when large results are uploaded, as `connected` says.
struct UploadTerms {
    std::string path;               ///< below the gateway's prefix
    std::size_t inline_bytes = 0;   ///< text and JSON beyond this are uploaded
    std::uint64_t max_bytes = 0;    ///< of one upload
};

/// The gateway's capabilities from `connected`; until then, none.
struct GatewayTerms {
    bool replaces_lists = false;
    bool takes_accepted = false;
    bool takes_progress = false;
    bool resumes = false;         ///< sends unanswered requests again
    bool takes_presence = false;
    std::size_t max_message_bytes = std::size_t{8} << 20;
    std::optional<UploadTerms> uploads{};
    std::chrono::milliseconds grace{15'000};  ///< how long replies are worth keeping after a break
};
GatewayTerms read_terms(json::Element connected);

/// `instance` identifies this process, which remembers the requests it has seen.
std::string connect_frame(std::string_view device_name, std::string_view session_id,
                          std::string_view instance);
enum class ListMode { kMerge, kReplace };
std::string register_frame(std::span<const std::shared_ptr<const DeviceTool>> tools, ListMode mode);
/// `tool_result` or `tool_error`. JSON in `answer` has been checked.
std::string reply_frame(std::string_view call_id, const ToolAnswer& answer);
/// `tool_result` whose output was uploaded.
std::string artifact_frame(std::string_view call_id, std::string_view artifact_id);
std::string accepted_frame(std::string_view call_id);
std::string presence_frame(const DevicePresence& presence);
std::string progress_frame(std::string_view call_id, const ToolProgress& progress);

}  // namespace crab::sdk
