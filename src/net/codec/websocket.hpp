#pragma once

/// The whole WebSocket codec: frames out, frames in, the handshake, compression.
#include "net/codec/websocket_decoder.hpp"
#include "net/codec/websocket_deflate.hpp"
#include "net/codec/websocket_frame.hpp"
#include "net/codec/websocket_handshake.hpp"
