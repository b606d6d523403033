"""What goes over the wire: the bodies of requests and answers.

A request may hold more fields than these; they are ignored, but metadata is
kept whole.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

MAX_TEXT = 2**20
"""The longest text or query, in bytes of UTF-8."""
MAX_LIMIT = 1000
DEFAULT_LIMIT = 20
MAX_WAIT_S = 600.0

# Upstream's harness writes metadata in one spelling, this package in the other.
_SPELLINGS = {
    "belief_id": "beliefId",
    "canonical_name": "canonicalName",
    "superseded_by": "supersededBy",
    "resolved_at": "resolvedAt",
    "epistemic_status": "epistemicStatus",
}


def _within_a_mebibyte(text: str) -> str:
    size = len(text.encode())
    if size > MAX_TEXT:
        raise ValueError(f"{size} bytes are too long; at most {MAX_TEXT}")
    return text


def _whole(value: Any) -> Any:
    """A number like 20.0, which JSON doesn't tell from 20, as an int; else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_within_a_mebibyte)]
Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=1024)]
Limit: TypeAlias = Annotated[int, Field(ge=0, le=MAX_LIMIT), BeforeValidator(_whole)]
Scope: TypeAlias = str | list[str] | None


class Body(BaseModel):
    """A JSON object whose values have the stated types; nothing is converted."""

    model_config = ConfigDict(strict=True)


class Metadata(Body):
    """What is stored beside a text.

    `superseded_by`, `resolved_at`, `epistemic_status`, `canonical_name` and
    `belief_id` are taken as well. Further keys reach the provider as they are.
    """

    model_config = ConfigDict(extra="allow")

    belief_id: Id = Field(alias="beliefId")
    scope: Scope = None
    type: str | None = None
    canonical_name: str | None = Field(default=None, alias="canonicalName")
    pinned: bool | None = None
    superseded_by: str | None = Field(default=None, alias="supersededBy")
    resolved_at: str | None = Field(default=None, alias="resolvedAt")
    epistemic_status: str | None = Field(default=None, alias="epistemicStatus")
    participants: list[str] | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        merged = {key: item for key, item in value.items() if key not in _SPELLINGS}
        for snake, camel in _SPELLINGS.items():
            if merged.get(camel) is None and snake in value:
                merged[camel] = value[snake]
        return merged

    @property
    def scopes(self) -> list[str]:
        """The scopes as a list; a single string is one scope."""
        return _scopes(self.scope) or []

    def normalised(self) -> dict[str, Any]:
        """The metadata with all the keys that a provider sees in process."""
        return {
            **self.model_dump(by_alias=True),
            "scope": self.scopes,
            "pinned": bool(self.pinned),
            "participants": list(self.participants or ()),
        }


class AddBody(Body):
    """A memory to store, or to put in place of the one with this user and id."""

    text: Text
    user_id: Id
    metadata: Metadata
    aliases: list[str] = []


class SearchBody(Body):
    """A question. No scope, or null, means all scopes."""

    query: Text
    user_id: Id
    limit: Limit = DEFAULT_LIMIT
    scope: Scope = None

    @property
    def scopes(self) -> list[str] | None:
        """The scopes as a list; ``None`` if all are asked."""
        return _scopes(self.scope)


class DeleteBody(Body):
    """Which memory to forget."""

    user_id: Id | None = None
    id: Id | None = None


class WaitBody(Body):
    """How long to wait, in seconds, and for which memory; for all if none is named."""

    timeout_s: float = Field(default=60.0, ge=0, le=MAX_WAIT_S)
    user_id: Id | None = None
    belief_id: Id | None = Field(default=None, alias="beliefId")


class AddAnswer(Body):
    """The id that a search will give back."""

    id: str


class ResultAnswer(Body):
    """One memory that was found; the place in the list is the rank."""

    id: str | None
    memory: str | None
    score: float | None
    metadata: dict[str, Any] | None


class SearchAnswer(Body):
    """What was found, the best first."""

    results: list[ResultAnswer]


class DoneAnswer(Body):
    """It is done."""

    status: str


class Capabilities(Body):
    """What the provider can do beyond add and search."""

    update: bool
    delete: bool
    wait: bool
    scopes: bool


class HealthAnswer(Body):
    """What answers here."""

    status: str
    provider: str
    version: str | None
    capabilities: Capabilities


class FieldFault(Body):
    """What is wrong with one field; the path is dotted, "" is the whole body."""

    path: str
    message: str


class ErrorAnswer(Body):
    """Why it was not done, in one line; fields only if the body is at fault."""

    error: str
    fields: list[FieldFault] | None = None


def _scopes(scope: Scope) -> list[str] | None:
    return [scope] if isinstance(scope, str) else scope
