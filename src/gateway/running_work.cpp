#include "gateway/running_work.hpp"

#include <future>
#include <memory>

namespace crab::gateway {

void RunningWork::stop(Deadline deadline) {
    calls_.wait_for_end(deadline - kChats, {});
    fleet_.end_waiting(deadline);
    const auto ended = std::make_shared<std::promise<void>>();
    devices_.hub().stop_chats([ended] { ended->set_value(); });
    ended->get_future().wait_until(deadline);
}

}  // namespace crab::gateway
