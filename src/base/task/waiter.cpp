#include "base/task/waiter.hpp"

#include <boost/asio/post.hpp>

namespace crab {

void RemoteWaiter::wake() {
    asio::post(home_, [self = shared_from_this()] { self->waiter_.wake(); });
}

}  // namespace crab
