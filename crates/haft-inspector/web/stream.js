// Live streams of the server. An `EventSource` cannot send the token of the page, and a cookie would go to every port.

/** How long to wait before a connection that was lost is opened again. */
const PAUSE = 3000;

/**
 * Reads server-sent events and passes each to the handler of its name. A connection that is lost is opened again and
 * continues after the last event; one that is refused is not. Further handlers: `open`, `lost` and `refused`.
 * Returns a function that closes the stream.
 */
export function openStream(url, headers, handlers) {
  const controller = new AbortController();
  const { signal } = controller;
  let lastId = "";
  const receive = (event) => {
    lastId = event.id ?? lastId;
    if (!signal.aborted) handlers[event.name]?.(JSON.parse(event.data));
  };
  const connect = async () => {
    const sent = { accept: "text/event-stream", ...headers, ...(lastId ? { "last-event-id": lastId } : {}) };
    const response = await fetch(url, { credentials: "same-origin", cache: "no-store", headers: sent, signal });
    if (response.status >= 400 && response.status < 500) {
      handlers.refused?.();
      return controller.abort();
    }
    if (!response.ok) return;
    handlers.open?.();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const read = eventReader(receive);
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) read(piece.value);
  };
  const follow = async () => {
    while (!signal.aborted) {
      await connect().catch(() => {});
      if (signal.aborted) return;
      handlers.lost?.();
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  };
  follow();
  return () => controller.abort();
}

/** Returns a function that takes pieces of a stream and passes on the events that they complete: name, data and id. */
export function eventReader(emit) {
  let rest = "";
  let event = { name: "message", data: [] };
  const readLine = (line) => {
    if (line === "") {
      if (event.data.length) emit({ ...event, data: event.data.join("\n") });
      event = { name: "message", data: [] };
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === "data") event.data.push(value);
    if (field === "event") event.name = value;
    if (field === "id") event.id = value;
  };
  return (piece) => {
    // A long line comes in many pieces, and is looked at once.
    if (!piece.includes("\n")) {
      rest += piece;
      return;
    }
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) readLine(line.replace(/\r$/, ""));
  };
}
