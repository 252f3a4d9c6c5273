#include "core/chat/draft_keeper.hpp"

#include "base/log.hpp"

#include <utility>

namespace crab::core {

void DraftKeeper::on_expired() {
    if (storing_->exchange(true)) return on_words();  // a slow disk gets one at a time
    auto draft = read_();
    if (!draft) {
        *storing_ = false;
        return;
    }
    services_.store_pool.post([&chats = services_.chats, draft = std::move(*draft),
                               storing = storing_] {
        const auto kept = chats.keep_draft(draft.session, draft.said);
        if (!kept)
            log::warn("what a turn says was not kept",
                      {{"session_id", draft.session.id.text()}, {"reason", kept.error().message}});
        *storing = false;
    });
}

}  // namespace crab::core
