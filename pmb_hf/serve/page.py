"""The page about a service: rendered from its OpenAPI, complete in itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

# Nothing may be loaded from anywhere, not even by accident.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
       color-scheme: light dark; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { padding: .75rem; overflow-x: auto; border: 1px solid #8886; border-radius: 4px; }
h2 { margin: 2rem 0 0; font-size: 1.1rem; }
table { border-collapse: collapse; }
td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
"""


def render(schema: Mapping[str, Any]) -> str:
    """Return the page as HTML: every path, what it takes and what it answers."""
    info = schema["info"]
    parts = [
        f"<h1>{escape(info['title'])}</h1><p>{escape(info.get('description', ''))}</p>",
        '<p>The whole description: <a href="openapi.json">openapi.json</a></p>',
        *_operations(schema),
    ]
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style></head>"
    )
    return f"{head}<body>{''.join(parts)}</body></html>"


def _operations(schema: Mapping[str, Any]) -> Iterator[str]:
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('description', operation['summary']))}</p>"
            for parameter in operation.get("parameters", ()):
                yield f"<p>In the query: <code>{escape(parameter['name'])}</code></p>"
            body = _content(operation.get("requestBody"))
            if body is not None:
                yield f"<p>Takes</p>{_example(body, schema)}"
            yield "<p>Answers</p>"
            good = _content(operation["responses"].get("200"))
            if good is not None:
                yield _example(good, schema)
            yield "<table>"
            for status, response in sorted(operation["responses"].items()):
                row = f"<code>{escape(status)}</code></td><td>{escape(response['description'])}"
                yield f"<tr><td>{row}</td></tr>"
            yield "</table>"


def _content(part: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    media = (part or {}).get("content", {}).get("application/json")
    return None if media is None else media["schema"]


def _example(part: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(_shape(part, schema), indent=2, ensure_ascii=False))}</pre>"


def _shape(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """A schema as an outline: objects and lists as such, the rest by its type."""
    if "$ref" in part:
        return _shape(schema["components"]["schemas"][part["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in part:
        shapes = [_shape(choice, schema) for choice in part["anyOf"]]
        outlined = [shape for shape in shapes if isinstance(shape, dict)]
        if outlined:
            return outlined[0]
        return " | ".join(s if isinstance(s, str) else f"[{s[0]}]" for s in shapes)
    if "properties" in part:
        needed = part.get("required", ())
        return {
            name if name in needed else f"{name}?": _shape(inner, schema)
            for name, inner in part["properties"].items()
        }
    if "items" in part:
        return [_shape(part["items"], schema)]
    return part.get("type", "any")
