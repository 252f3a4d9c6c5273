// For what sees base/task/: as much of Asio as its headers include, and no socket.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
