"""Examines a service that is to be benchmarked, in seconds, and says how to mend it.

The checks are data (`CHECKS`). Each uses users and words of its own, so that
what the service holds already does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from . import doctor_checks as does
from .doctor_kit import Fault, Kit, NotTried
from .providers.http_errors import HttpFailure
from .tables.text import count_of


class Check(NamedTuple):
    """What one check has found.

    Attributes:
        name: Its name in `CHECKS`.
        ok: Whether all is well; None if the check does not apply.
        detail: What was seen, in one line.
        advice: How to mend it; empty unless ``ok`` is False.
        required: Whether a run needs it.
    """

    name: str
    ok: bool | None
    detail: str
    advice: str = ""
    required: bool = True


class Plan(NamedTuple):
    """A check as it is planned.

    ``run`` returns what it saw, raises `Fault` or `NotTried`, or lets an
    `HttpFailure` through. It is left out if one of ``needs`` is not well.
    """

    name: str
    run: Callable[[Kit], str]
    advice: str
    needs: tuple[str, ...] = ()
    required: bool = True


def examine(
    url: str,
    *,
    allow_reset: bool = False,
    timeout_s: float = 10.0,
    ready_timeout_s: float = 30.0,
    on_check: Callable[[Check], None] | None = None,
) -> list[Check]:
    """Examine the service at ``url``; secret headers come from the environment as in a run.

    Args:
        url: Where the service is.
        allow_reset: Also try ``DELETE /reset``, before and after. **It empties the
            whole store.** Without it the doctor deletes what it wrote, if the
            service can do that.
        timeout_s: Seconds for one call.
        ready_timeout_s: Seconds that the first write may take to show.
        on_check: Called with each check once it is done; what stays in the store
            is known only after the last one.

    Raises:
        InputError: The URL can't be used.
    """
    kit = Kit(url, timeout_s, ready_timeout_s)
    done: dict[str, Check] = {}
    left = 0
    try:
        for plan in CHECKS:
            check = _skipped(plan, done) or _tried(plan, kit, allow_reset)
            done[plan.name] = check
            if on_check is not None:
                on_check(check)
    finally:
        if done.get("reachable") is not None and done["reachable"].ok:
            left = kit.clean_up(reset=allow_reset)
        kit.close()
    if left:
        reset = done["reset"]
        memories = count_of(left, "memory", "memories")
        told = f"{reset.detail}; left in the store: {memories} of users {kit.user('…')}"
        done["reset"] = reset._replace(detail=told)
    return list(done.values())


def exit_code(checks: Iterable[Check]) -> int:
    """0 if all that a run needs is well, else 1."""
    return int(any(check.required and check.ok is False for check in checks))


def _skipped(plan: Plan, done: dict[str, Check]) -> Check | None:
    missing = [name for name in plan.needs if done[name].ok is not True]
    if not missing:
        return None
    return Check(plan.name, None, f"not tried: see {', '.join(missing)}", "", plan.required)


def _tried(plan: Plan, kit: Kit, allow_reset: bool) -> Check:
    try:
        if plan.run is does.reset and not allow_reset:
            raise NotTried("not tried, because it empties the whole store: needs --allow-reset")
        return Check(plan.name, True, plan.run(kit), "", plan.required)
    except NotTried as reason:
        return Check(plan.name, None, str(reason), "", plan.required)
    except (Fault, HttpFailure) as fault:
        return Check(plan.name, False, str(fault), plan.advice, plan.required)


_FOUND = ("round_trip",)
_KNOWN = ("round_trip", "ids")

CHECKS: tuple[Plan, ...] = (
    Plan(
        "reachable",
        does.reachable,
        "Start the service, and check host, port and path of the URL. If it needs a password, "
        "set PMB_HTTP_AUTHORIZATION.",
    ),
    Plan(
        "health",
        does.health,
        'Let GET /health answer 200 and {"status": "ok"}, or leave it out (404).',
        ("reachable",),
        required=False,
    ),
    Plan(
        "reset",
        does.reset,
        "DELETE /reset must forget every memory of every user before it answers: caches, queues "
        "and indexes as well. Leftovers of an earlier run spoil every figure.",
        ("reachable",),
    ),
    Plan(
        "round_trip",
        does.round_trip,
        "POST /add must store text under user_id, and POST /search must answer "
        '{"results": [{"id": "…"}]} with it. If writes take longer, give --ready-timeout.',
        ("reachable",),
    ),
    Plan(
        "ids",
        does.ids,
        "Give metadata.beliefId of POST /add back as results[].id, or keep the metadata and give "
        "it back as results[].metadata, or answer POST /add with your own id.",
        _FOUND,
    ),
    Plan("visibility", does.visibility, "", _FOUND, required=False),
    Plan(
        "user_isolation",
        does.users,
        "Filter every search by user_id. If your system has no users, keep one store a user.",
        _FOUND,
    ),
    Plan(
        "limit",
        does.limit,
        "Pass limit on to your engine, or cut the list: results[:limit].",
        _FOUND,
    ),
    Plan(
        "limit_zero",
        does.limit_zero,
        "Many engines take 0 for no limit: answer an empty list yourself. A run never asks so.",
        _FOUND,
        required=False,
    ),
    Plan(
        "unicode",
        does.unicode,
        "Read and write bodies as UTF-8, also on the way to your store.",
        _FOUND,
    ),
    Plan(
        "long_text",
        does.long_text,
        "Take texts of 10 kB: raise the body limit, and cut or split a text for the embedding "
        "instead of refusing it.",
        _FOUND,
    ),
    Plan(
        "empty_query",
        does.empty_query,
        "Answer an empty query with an empty list or with 422, not with a crash.",
        _FOUND,
    ),
    Plan(
        "scope_forms",
        does.scopes,
        "scope is a string or a list of strings, in metadata as well as in a search. Make a list "
        "of both; a memory is in scope if the two lists share an entry.",
        _FOUND,
    ),
    Plan(
        "scope_null",
        does.scope_null,
        "Search without a scope filter if scope is null or not there.",
        ("round_trip", "scope_forms"),
        required=False,
    ),
    Plan(
        "wait",
        does.wait,
        "Let POST /wait answer only once everything written can be found, or leave it out (404): "
        "then searches are repeated until they find it.",
        _FOUND,
    ),
    Plan(
        "update",
        does.update,
        "PUT /update must replace text, aliases and metadata of the memory with this user_id and "
        "metadata.beliefId, and its index entries as well; or leave it out (404).",
        _KNOWN,
    ),
    Plan(
        "update_unknown",
        does.update_unknown,
        "Answer PUT /update of an unknown memory with 404, so that a mistake shows.",
        ("round_trip", "ids", "update"),
        required=False,
    ),
    Plan(
        "delete",
        does.delete,
        "DELETE /delete?user_id=…&id=… must take that one memory out of the index; or leave it "
        "out (404).",
        _KNOWN,
    ),
    Plan(
        "same_text_twice",
        does.same_text,
        "Do not merge memories with the same text and different ids; the lost id counts as a miss.",
        _KNOWN,
        required=False,
    ),
    Plan(
        "same_id_twice",
        does.same_id,
        "Let POST /add replace the memory with this user_id and metadata.beliefId, or the "
        "duplicate takes a place in the results.",
        _KNOWN,
        required=False,
    ),
    Plan(
        "bad_body",
        does.bad_body,
        "Refuse a body without the needed fields with 422. An error that is answered with 200 is "
        "read as an empty result.",
        ("reachable",),
        required=False,
    ),
    Plan(
        "concurrency",
        does.concurrency,
        "Guard what is shared between requests by a lock, or run a single worker.",
        _FOUND,
    ),
)
