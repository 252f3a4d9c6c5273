#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace crab {

namespace asio = boost::asio;

/// A lazily started coroutine; cancelling whoever awaits it cancels it.
template <class T>
using Task = asio::awaitable<T>;

}  // namespace crab
