"""The pages about the API itself: `/openapi.json`, and `/docs`, which shows it and sends requests."""

from collections.abc import Callable
from functools import cache
from typing import Final

from gralha.registry.http.wire import Response, encode

_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Schema Registry</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
details { border: 1px solid #8886; border-radius: 6px; margin: .4rem 0; padding: .3rem .7rem; }
summary { cursor: pointer } code, pre, textarea { font: 13px ui-monospace, monospace; }
b { display: inline-block; width: 4.5rem } label { display: block; margin: .3rem 0 }
input { width: 20rem } textarea { width: 100%; height: 7rem }
pre { overflow: auto; background: #8882; padding: .6rem }
:root { color-scheme: light dark }
</style></head><body><h1>Schema Registry</h1>
<p>The routes of this registry. Open one to send a request. <a href="/openapi.json">openapi.json</a></p>
<main id="routes"></main>
<script>
const make = (tag, text, parent) => {
  const node = document.createElement(tag); node.textContent = text; parent.append(node); return node;
};
const form = (method, path, operation, parent) => {
  const fields = operation.parameters.map(one => {
    const label = make("label", one.name + (one.required ? " * " : " "), parent);
    return [one, label.appendChild(document.createElement("input"))];
  });
  const body = operation.requestBody && make("textarea", '{"schema": "\\\\"string\\\\""}', parent);
  const button = make("button", "Send", parent), answer = make("pre", "", parent);
  button.onclick = async () => {
    let url = path; const query = new URLSearchParams();
    for (const [one, input] of fields) {
      if (one.in === "path") url = url.replace(`{${one.name}}`, encodeURIComponent(input.value));
      else if (input.value) query.append(one.name, input.value);
    }
    const options = { method: method.toUpperCase(), headers: { Accept: "application/json" } };
    if (body) { options.body = body.value; options.headers["Content-Type"] = "application/json"; }
    const response = await fetch(url + (query.size ? "?" + query : ""), options);
    const text = await response.text();
    answer.textContent = `${response.status}\\n` + text;
  };
};
fetch("/openapi.json").then(response => response.json()).then(api => {
  const routes = document.getElementById("routes");
  for (const [path, methods] of Object.entries(api.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const details = make("details", "", routes), summary = make("summary", "", details);
      make("b", method.toUpperCase(), summary); make("code", path, summary);
      summary.append(" " + operation.summary);
      form(method, path, operation, details);
    }
});
</script></body></html>
"""


@cache
def _openapi() -> Response:
    from gralha.registry.http.openapi import document

    return Response(200, encode(document()), b"application/json")


def _docs() -> Response:
    return Response(200, _PAGE.encode(), b"text/html; charset=utf-8")


DOCUMENTS: Final[dict[str, Callable[[], Response]]] = {"/openapi.json": _openapi, "/docs": _docs}
