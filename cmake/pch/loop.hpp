// For what sees net/loop/: the rest of Asio that event_loop.hpp includes.
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
