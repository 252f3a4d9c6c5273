#include "core/call/timeline.hpp"

namespace crab::core {

std::string_view name_of(Stage stage) {
    switch (stage) {
        case Stage::kReceived: return "received";
        case Stage::kAuthorized: return "authorized";
        case Stage::kHooked: return "hooked";
        case Stage::kValidated: return "validated";
        case Stage::kAdmitted: return "admitted";
        case Stage::kAsked: return "asked";
        case Stage::kApproved: return "approved";
        case Stage::kLimited: return "limited";
        case Stage::kDispatched: return "dispatched";
        case Stage::kAnswered: return "answered";
        case Stage::kFinished: return "finished";
    }
    return "";
}

}  // namespace crab::core
