// A ClawSeed device with the platform's own WebSocket: runs unchanged in Node and in a page. Its
// one tool answers with the arguments it got, and says goodbye after a call with `last`.

/**
 * Serves until the connection is over.
 * @returns {Promise<object>} what it saw: `protocol`, `extensions`, frame `types` in order,
 * `calls`, and `code`, `reason`
 *     and `clean` of the end.
 */
export function serve(url, token, tool) {
  return new Promise((resolve) => {
    const seen = { protocol: null, extensions: null, types: [], calls: 0 };
    const socket = new WebSocket(url, ["clawseed.v1", `bearer.${token}`]);
    const send = (frame) => socket.send(JSON.stringify(frame));
    let last = null;
    socket.onopen = () => {
      seen.protocol = socket.protocol;
      seen.extensions = socket.extensions;
      send({ type: "connect", v: 1, device_name: "A browser" });
      send({
        type: "register_tools",
        tools: [
          { name: tool, description: "Answers with its arguments", parameters: { type: "object" } },
        ],
      });
    };
    socket.onmessage = (event) => {
      const frame = JSON.parse(event.data);
      seen.types.push(frame.type);
      if (frame.type === "tool_call_request") {
        seen.calls += 1;
        if (frame.args.last) last = frame.id;
        send({ type: "tool_result", id: frame.id, output: frame.args });
      }
      if (frame.type === "result_acknowledged" && frame.id === last) socket.close(1000, "done");
    };
    socket.onclose = (event) =>
      resolve({ ...seen, code: event.code, reason: event.reason, clean: event.wasClean });
  });
}
