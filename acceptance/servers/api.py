"""An ordinary JSON API.

    GET /orders/7           200 with an order; 404 with a reason for numbers above 1000
    POST, PUT /orders       201 with the order; 422 with reasons if `amount` is missing or no number
    DELETE /orders/7        204
    /echo...                200 with method, path, query, headers and body of the request, for every method
    /status/N               status N with a body that says so
    GET /large?bytes=N      so many bytes of text in lines
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


def order_of(number):
    return {"id": number, "customer": "Ada", "amount": 19.5, "items": ["book", "pen"]}


def problems_of(order):
    if not isinstance(order, dict):
        return [{"loc": ["body"], "msg": "the body must be a JSON object"}]
    if "amount" not in order:
        return [{"loc": ["body", "amount"], "msg": "field required"}]
    if not isinstance(order["amount"], (int, float)):
        return [{"loc": ["body", "amount"], "msg": "value is not a number"}]
    return []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, content, kind="application/json"):
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def read_body(self):
        return self.rfile.read(int(self.headers.get("content-length", 0))).decode("utf-8", "replace")

    def handle_request(self):
        text = self.read_body()
        url = urlsplit(self.path)
        parts = url.path.strip("/").split("/")
        query = {name: values if len(values) > 1 else values[0] for name, values in parse_qs(url.query).items()}
        try:
            body = json.loads(text) if text else None
        except ValueError:
            body = text
        if parts[0] == "echo":
            headers = {name.lower(): value for name, value in self.headers.items()}
            echo = {"method": self.command, "path": url.path, "query": query, "headers": headers, "body": body}
            return self.send(200, echo)
        if parts[0] == "status":
            status = int(parts[1])
            return self.send(status, {"error": f"status {status} was asked for"})
        if parts[0] == "large":
            count = int(query.get("bytes", 1000))
            line = b"0123456789" * 6 + b"abc\n"
            return self.send(200, (line * (count // 64 + 1))[:count], "text/plain")
        if parts[0] == "orders":
            return self.orders(parts[1:], body)
        self.send(404, {"error": f"there is no {url.path}"})

    def orders(self, rest, body):
        if self.command in ("POST", "PUT", "PATCH"):
            problems = problems_of(body)
            if problems:
                return self.send(422, {"detail": problems})
            return self.send(201, {"id": 8, **body})
        if not rest or not rest[0].isdigit() or int(rest[0]) > 1000:
            return self.send(404, {"error": f"order {'/'.join(rest)} does not exist"})
        if self.command == "DELETE":
            return self.send(204, b"")
        self.send(200, order_of(int(rest[0])))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_request


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
